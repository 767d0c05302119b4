import { userSuccesses } from '#modules/users/testing/successes';
import { createMember, unique } from '#test/support/factories';
import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    updateProfile: () => ({
      displayName: 'Sam Ple',
      fullName: 'Sam Ple',
      locale: 'de',
      phone: '+43 (660) 123-456',
      timezone: 'Europe/Vienna',
    }),
    createUser: () => ({
      email: `${unique('person')}@sample.example`,
      password: 'correct horse',
      displayName: 'Sam Ple',
      fullName: 'Sam Ple',
      locale: 'de',
      isTenantAdmin: false,
    }),
    inviteUser: () => ({
      email: `${unique('person')}@sample.example`,
      displayName: 'Sam Ple',
      fullName: 'Sam Ple',
      locale: 'de',
      isTenantAdmin: false,
      groupIds: [],
    }),
    updateUser: () => ({
      displayName: 'Sam Ple',
      fullName: 'Sam Ple',
      locale: 'de',
      phone: '+43 660 123 456',
      status: 'active',
      isTenantAdmin: false,
    }),
  },
  ids: {
    'getUser params.id': 'user',
    'updateUser params.id': 'user',
    'deleteUser params.id': 'user',
    'inviteUser body.groupIds[]': 'group',
    'resendInvitation params.id': 'invitation',
  },
  records: async ({ tenant, create }) => ({
    user: tenant.admin.userId,
    invitation: await create('/api/v1/secure/users', { email: `${unique('colleague')}@${tenant.domain}.example` }),
  }),
  tools: ({ test, tenant }) => ({
    getProfile: () => Promise.resolve({}),
    listUsers: () => Promise.resolve({}),
    getUser: async () => ({ id: (await createMember(test, tenant)).userId }),
  }),
  successes: userSuccesses,
};
