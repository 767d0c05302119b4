import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  ids: {
    'listAuditLogs query.user_id': 'user',
    'listAuditLogs query.resource_id': 'contact',
    'exportAuditLogs query.user_id': 'user',
    'exportAuditLogs query.resource_id': 'contact',
  },
  tools: () => ({
    listAuditLogs: () => Promise.resolve({ limit: 5 }),
    listAuditActions: () => Promise.resolve({}),
  }),
};
