import type { SampleContext, Successes } from '#test/support/samples';

const url = '/api/v1/secure/identity-providers/google';
const resourceType = 'identity_provider';
const body = {
  client_id: 'canary',
  client_secret: 'canary',
  enabled: true,
  redirect_uris: ['https://canary.example/done'],
  issuer: 'https://canary.example',
};

/** Successful calls of all recorded identity provider operations. */
export function identityProviderSuccesses({ test, tenant }: SampleContext): Successes {
  return {
    saveIdentityProviderRegistration: () =>
      Promise.resolve({ method: 'PUT' as const, url, body, status: 200, resourceType, fields: Object.keys(body) }),
    deleteIdentityProviderRegistration: async () => {
      const saved = await test.call('PUT', url, { token: tenant.admin.token, body });
      return { method: 'DELETE' as const, url, status: 204, resourceType, resourceId: saved.body.data.id as string };
    },
  };
}
