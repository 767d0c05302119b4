import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  ids: {
    'listSecurityAudit query.tenantId': 'tenant',
    'listSecurityAudit query.userId': 'user',
  },
  tools: () => ({
    getHealth: () => Promise.resolve({ level: 'ready' }),
    getSystemInfo: () => Promise.resolve({}),
  }),
};
