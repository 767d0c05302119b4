import { expect, vi } from 'vitest';

import { createAppAccount, createMember, createTenant, logIn, unique, type Tenant } from '#test/support/factories';
import type { TestService } from '#test/support/harness';
import { createRecords, sampleContext } from '#test/support/samples';

/** A tenant with rows in every table with rows of tenants: those of the modules, and those that `core` writes. */
export async function populate(test: TestService): Promise<Tenant> {
  const tenant = await createTenant(test);
  const { token } = tenant.admin;
  await createMember(test, tenant, { permissions: ['users.read'] });
  await createRecords(sampleContext(test, tenant), 'sample');
  const kept = { token, body: { name: unique('tag') }, headers: { 'idempotency-key': unique('key') } };
  expect(await test.call('POST', '/api/v1/secure/tags', kept)).toMatchObject({ status: 201 });
  const app = await createAppAccount(test, tenant);
  await test.call('GET', '/api/v1/auth/me', { token: (await logIn(test, app)).token });
  const usage = () => test.call('GET', `/api/v1/secure/app-accounts/${app.id}/usage-stats`, { token });
  // The usage of a credential is written in batches, not by its requests.
  await vi.waitUntil(async () => (await usage()).body.data.total_requests === 1, { timeout: 30_000 });
  return tenant;
}
