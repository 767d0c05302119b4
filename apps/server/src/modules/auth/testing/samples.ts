import { unique } from '#test/support/factories';
import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    login: ({ tenant }) => ({
      email: tenant.admin.email,
      password: tenant.admin.password,
      rememberMe: false,
      tenantId: tenant.tenantId,
    }),
    selectTenant: ({ tenant }) => ({ selectionToken: 'x'.repeat(43), tenantId: tenant.tenantId }),
    register: () => ({
      email: `${unique('person')}@sample.example`,
      password: 'correct horse',
      tenantName: 'Sample',
      tenantDomain: unique('sample'),
      displayName: 'Sam Ple',
      locale: 'en',
    }),
    refreshTokens: () => ({ refreshToken: `rt1_${'x'.repeat(43)}` }),
    forgotPassword: () => ({ email: `${unique('unknown')}@sample.example` }),
    resetPassword: () => ({ token: 'x'.repeat(43), password: 'correct horse' }),
    acceptInvitation: () => ({ token: 'x'.repeat(43), password: 'correct horse' }),
    verifyEmail: () => ({ token: 'x'.repeat(43) }),
    disownAccount: () => ({ token: 'x'.repeat(43) }),
    switchTenant: ({ tenant }) => ({ tenantId: tenant.tenantId }),
    changePassword: () => ({ currentPassword: 'not the password', newPassword: 'correct horse' }),
  },
  ids: {
    'revokeSession params.id': 'session',
    'login body.tenantId': 'tenant',
    'selectTenant body.tenantId': 'tenant',
    'switchTenant body.tenantId': 'tenant',
    'acceptOwnInvitation params.id': 'invitation',
    'declineOwnInvitation params.id': 'invitation',
  },
  records: async ({ test, tenant }) => {
    const sessions = await test.call('GET', '/api/v1/auth/sessions', { token: tenant.admin.token });
    return { session: sessions.body.data[0].id };
  },
};
