import { expect } from 'vitest';

import type { SampleContext, Success, Successes } from '#test/support/samples';

const admin = '/api/v1/secure/admin/flow-tasks';
const own = '/api/v1/secure/flow-tasks';
const resourceType = 'flow_task';

const fields = {
  name: 'canary',
  targetRoute: '/canary',
  version: 'canary',
  config: { canary: 'canary' },
  i18n: { en: { title: 'canary' } },
};

/** Successful calls of all recorded operations on flow tasks and completions. */
export function flowTaskSuccesses({ test, tenant }: SampleContext): Successes {
  async function newTask(): Promise<string> {
    const body = { type: 'custom', name: 'House rules', targetRoute: '/rules' };
    const answer = await test.call('POST', admin, { token: tenant.admin.token, body });
    expect(answer.status).toBe(201);
    return answer.body.id;
  }
  const settled = (outcome: 'complete' | 'skip') => async (): Promise<Success> => {
    const resourceId = await newTask();
    const url = `${own}/${resourceId}/${outcome}`;
    const body = outcome === 'skip' ? {} : { body: { answers: { canary: 'canary' } } };
    return { method: 'POST', url, status: 200, resourceType, resourceId, ...body };
  };

  return {
    createFlowTask: () => {
      // The answer is the task itself.
      const resourceId = expect.any(String) as string;
      const body = { type: 'custom', ...fields };
      return Promise.resolve({ method: 'POST', url: admin, status: 201, body, resourceType, resourceId });
    },
    updateFlowTask: async () => {
      const resourceId = await newTask();
      const change = { body: fields, fields: Object.keys(fields) };
      return { method: 'PATCH', url: `${admin}/${resourceId}`, status: 200, resourceType, resourceId, ...change };
    },
    deleteFlowTask: async () => {
      const resourceId = await newTask();
      return { method: 'DELETE', url: `${admin}/${resourceId}`, status: 204, resourceType, resourceId };
    },
    resetFlowTask: async () => {
      const resourceId = await newTask();
      return { method: 'POST', url: `${admin}/${resourceId}/reset`, status: 200, resourceType, resourceId };
    },
    reorderFlowTasks: async () => {
      const body = { taskIds: [await newTask()] };
      const url = `${admin}/reorder`;
      return { method: 'PATCH', url, status: 200, body, resourceType, resourceId: null, fields: ['priority'] };
    },
    completeFlowTask: settled('complete'),
    skipFlowTask: settled('skip'),
  };
}
