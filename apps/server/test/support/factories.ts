import { expect } from 'vitest';

import { newId } from '#core/crypto/ids';
import { systemAdmin, type TestService } from '#test/support/harness';

export type Person = { userId: string; email: string; password: string; token: string; refreshToken: string };
export type Tenant = { tenantId: string; domain: string; name: string; admin: Person };

let counter = 0;

/** Something no other test uses. */
export function unique(prefix: string): string {
  counter += 1;
  return `${prefix}-${newId().slice(-12)}-${counter}`;
}

/** A registered tenant whose first user, its administrator, is logged in. */
export async function createTenant(test: TestService): Promise<Tenant> {
  const domain = unique('tenant');
  const email = `admin@${domain}.example`;
  const password = 'correct horse';
  const name = `Tenant ${domain}`;
  const registered = await test.call('POST', '/api/v1/public/auth/register', {
    body: { email, password, tenantName: name, tenantDomain: domain },
  });
  expect(registered).toMatchObject({ status: 201 });
  return { tenantId: registered.body.tenant.id, domain, name, admin: await logIn(test, { email, password }) };
}

export async function logIn(
  test: TestService,
  who: { email: string; password: string; tenantId?: string },
): Promise<Person> {
  const answer = await test.call('POST', '/api/v1/public/auth/login', { body: who });
  expect(answer).toMatchObject({ status: 200 });
  const { user, accessToken, refreshToken } = answer.body;
  return { userId: user.id, email: who.email, password: who.password, token: accessToken, refreshToken };
}

/** Another user of the tenant, logged in; with the permissions of a group of their own when asked for. */
export async function createMember(
  test: TestService,
  tenant: Tenant,
  options: { permissions?: string[]; isTenantAdmin?: boolean } = {},
): Promise<Person> {
  const email = `${unique('member')}@${tenant.domain}.example`;
  const password = 'correct horse';
  const created = await test.call('POST', '/api/v1/secure/users', {
    token: tenant.admin.token,
    body: { email, password, isTenantAdmin: options.isTenantAdmin ?? false },
  });
  expect(created).toMatchObject({ status: 201 });
  if (options.permissions !== undefined) await grant(test, tenant.tenantId, created.body.data.id, options.permissions);
  return logIn(test, { email, password, tenantId: tenant.tenantId });
}

/** Puts the user into a group with these permissions. */
export async function grant(test: TestService, tenantId: string, userId: string, permissions: string[]): Promise<void> {
  const groupId = newId();
  await test.service.services.database.tenant(tenantId).flight([
    {
      text: 'insert into groups (tenant_id, id, name, permissions) values ($1, $2, $3, $4)',
      values: [tenantId, groupId, unique('group'), permissions],
      prepare: false,
    },
    {
      text: 'insert into group_members (tenant_id, group_id, user_id) values ($1, $2, $3)',
      values: [tenantId, groupId, userId],
      prepare: false,
    },
  ]);
}

export function logInSystemAdmin(test: TestService): Promise<Person> {
  return logIn(test, systemAdmin);
}

/** As if the person had come back with a mailed link some time ago: the address is known to be theirs. */
export async function proveAddress(test: TestService, email: string): Promise<void> {
  await test.service.services.database.credential().all({
    text: 'update accounts set email_verified_at = now() where email = $1',
    values: [email],
    prepare: false,
  });
}
