import { appAccountSuccesses } from '#modules/app-accounts/testing/successes';
import { createAppAccount, unique } from '#test/support/factories';
import type { Body, Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    createAppAccount: () => ({
      name: 'Door display',
      email: `${unique('app')}@sample.example`,
      password: 'correct horse battery',
      description: 'Shows what is booked',
      permissions: appAccountPermissions,
      expires_at: '2100-01-01T00:00:00Z',
    }),
    updateAppAccount: () => ({
      name: 'Door display',
      description: 'Shows what is booked',
      permissions: appAccountPermissions,
      status: 'active',
      expires_at: '2100-01-01T00:00:00Z',
    }),
    setAppAccountPassword: () => ({ password: 'correct horse battery' }),
  },
  ids: {
    'getAppAccount params.id': 'appAccount',
    'getAppAccountUsage params.id': 'appAccount',
    'updateAppAccount params.id': 'appAccount',
    'deleteAppAccount params.id': 'appAccount',
    'regenerateAppAccountPassword params.id': 'appAccount',
    'setAppAccountPassword params.id': 'appAccount',
  },
  records: async ({ test, tenant }) => ({ appAccount: (await createAppAccount(test, tenant)).id }),
  successes: appAccountSuccesses,
};

const appAccountPermissions: Body = {
  resources: { read: true, write: true, delete: true, properties: ['serial'] },
  spaces: { read: true, write: true, delete: true },
  geo: { geocode: true, reverse_geocode: true },
  calendar: { free_busy: true, events: true },
  users: { read: true },
};
