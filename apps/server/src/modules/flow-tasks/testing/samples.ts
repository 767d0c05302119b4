import { flowTaskSuccesses } from '#modules/flow-tasks/testing/successes';
import { createCompletedTask } from '#test/support/directory';
import type { Body, Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    createFlowTask: () => ({ type: 'custom', ...flowTaskFields() }),
    updateFlowTask: flowTaskFields,
    reorderFlowTasks: ({ flowTaskId }) => ({ taskIds: [flowTaskId] }),
    completeFlowTask: () => ({ version: '1', answers: { newsletter: false } }),
  },
  ids: {
    'updateFlowTask params.id': 'flowTask',
    'deleteFlowTask params.id': 'flowTask',
    'resetFlowTask params.id': 'flowTask',
    'reportFlowTask params.id': 'flowTask',
    'listFlowTaskCompletions params.id': 'flowTask',
    'reorderFlowTasks body.taskIds[]': 'flowTask',
    'completeFlowTask params.id': 'flowTask',
    'skipFlowTask params.id': 'flowTask',
  },
  records: async ({ test, tenant, secret }) => ({
    flowTask: await createCompletedTask(test, { token: tenant.admin.token }, secret),
  }),
  tools: () => ({
    listPendingFlowTasks: () => Promise.resolve({ language: 'en' }),
    listOwnFlowTaskCompletions: () => Promise.resolve({}),
  }),
  successes: flowTaskSuccesses,
};

function flowTaskFields(): Body {
  return {
    name: 'House rules',
    targetRoute: '/rules',
    priority: 1,
    isMandatory: false,
    isActive: true,
    version: '1',
    config: { from: '2026-01-01T00:00:00Z', repeatEveryDays: 365, section: 'rules' },
    i18n: { en: { title: 'House rules', description: 'Please read them', buttonText: 'Accept' }, de: {} },
  };
}
