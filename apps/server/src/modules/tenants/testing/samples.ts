import { tenantSuccesses } from '#modules/tenants/testing/successes';
import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    updateTenant: () => ({
      name: 'Sample',
      default_language: 'de',
      languages: ['en', 'de'],
      settings: { requires2fa: false, twoFactorGraceDays: 7 },
    }),
  },
  ids: {
    'getTenant params.id': 'tenant',
    'updateTenant params.id': 'tenant',
    'deleteTenant params.id': 'tenant',
    'restoreTenant params.id': 'tenant',
    'suspendTenant params.id': 'tenant',
    'activateTenant params.id': 'tenant',
  },
  records: ({ tenant }) => Promise.resolve({ tenant: tenant.tenantId }),
  successes: tenantSuccesses,
};
