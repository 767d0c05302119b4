import { expect } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { identityProviderSuccesses } from '#modules/identity-providers/testing/successes';
import { unique } from '#test/support/factories';
import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    saveIdentityProviderRegistration: () => ({
      client_id: 'our-client',
      client_secret: 'not a secret',
      enabled: true,
      redirect_uris: ['https://app.example.com/done', 'http://localhost:3000/done'],
      issuer: null,
      settings: { directory_id: newId() },
    }),
    exchangeProviderCode: () => ({ code: 'x'.repeat(43), code_verifier: 'x'.repeat(43) }),
    beginIdentityLink: () => ({
      redirect_uri: 'https://app.example.com/done',
      state: 'mine',
      code_challenge: 'x'.repeat(43),
    }),
    linkIdentity: () => ({ code: 'x'.repeat(43), code_verifier: 'x'.repeat(43) }),
  },
  ids: {
    'listIdentityProviders query.tenantId': 'tenant',
    'startProviderLogin query.tenantId': 'tenant',
    'finishTenantProviderLogin params.tenantId': 'tenant',
    'finishTenantProviderLoginByForm params.tenantId': 'tenant',
    'unlinkIdentity params.id': 'identity',
  },
  records: async ({ test, tenant, secret }) => {
    const registration = { client_id: 'client', client_secret: 'secret', redirect_uris: ['https://app.example.com/'] };
    const { status } = await test.call('PUT', '/api/v1/secure/identity-providers/google', {
      token: tenant.admin.token,
      // The login page shows only enabled providers, to strangers as well.
      body: { ...registration, enabled: false },
    });
    expect(status).toBe(200);
    // As if the administrator had once logged in with a provider.
    const [row] = await test.service.services.database.credential(tenant.tenantId).interactive.all<{ id: string }>({
      kind: 'write',
      text: `insert into account_identities (id, account_id, configured_by, provider, subject, email, created_at)
             select $1, account_id, tenant_id, 'google', $2, $2, now() from users where tenant_id = $3 and id = $4
             returning id`,
      values: [newId(), unique(secret), tenant.tenantId, tenant.admin.userId],
      prepare: false,
    });
    return {
      identity: row!.id,
      ...inPaths('google', ['startProviderLogin', 'finishProviderLogin', 'finishProviderLoginByForm']),
      ...inPaths('google', ['finishTenantProviderLogin', 'finishTenantProviderLoginByForm', 'beginIdentityLink']),
      ...inPaths('microsoft', ['getIdentityProviderRegistration', 'saveIdentityProviderRegistration']),
      ...inPaths('microsoft', ['deleteIdentityProviderRegistration']),
    };
  },
  successes: identityProviderSuccesses,
};

/** The provider in the paths of the operations. */
function inPaths(provider: string, operations: readonly string[]): Record<string, string> {
  return Object.fromEntries(operations.map((operation) => [`${operation} params.provider`, provider]));
}
