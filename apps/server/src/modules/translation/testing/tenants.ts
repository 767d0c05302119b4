import { expect } from 'vitest';

import { createTenant, type Tenant } from '#test/support/factories';
import type { TestService } from '#test/support/harness';

/** Where texts are translated. */
export const path = '/api/v1/secure/ai/translate';

/** Translators of tests listen on this machine. */
export const environment = { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' };

/** A tenant that speaks English, German and French. */
export async function createTenantOf(
  test: TestService,
  languages: readonly string[] = ['en', 'de', 'fr'],
): Promise<Tenant> {
  const tenant = await createTenant(test);
  const changed = await test.call('PATCH', `/api/v1/secure/tenants/${tenant.tenantId}`, {
    token: tenant.admin.token,
    body: { default_language: languages[0], languages },
  });
  expect(changed).toMatchObject({ status: 200 });
  return tenant;
}
