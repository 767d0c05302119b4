import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    explainAccess: ({ tenant }) => ({ principal: { type: 'user', id: tenant.admin.userId }, operation: 'listUsers' }),
  },
  ids: {
    'explainAccess body.principal.id': 'user',
  },
};
