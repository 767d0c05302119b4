import { expect } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { systemAdmin, type TestService } from '#test/support/harness';

export type Person = { userId: string; email: string; password: string; token: string; refreshToken: string };
export type Tenant = { tenantId: string; domain: string; name: string; admin: Person };

let counter = 0;

/** Something no other test uses. */
export function unique(prefix: string): string {
  counter += 1;
  // Without runs of digits, which a mail would omit as a telephone number.
  const letters = newId()
    .slice(-12)
    .replaceAll(/\d/g, (digit) => 'ghijklmnop'[Number(digit)]!);
  return `${prefix}-${letters}-${counter}`;
}

/** An unused e-mail address. */
export function uniqueAddress(): string {
  return newId().replaceAll('-', '').match(/.{4}/g)!.join(':');
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
  const { email, password, tenantId } = who;
  const answer = await test.call('POST', '/api/v1/public/auth/login', { body: { email, password, tenantId } });
  expect(answer).toMatchObject({ status: 200 });
  const { user, accessToken, refreshToken } = answer.body;
  return { userId: user.id, email, password, token: accessToken, refreshToken };
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
  await test.service.services.database.tenant(tenantId).interactive.batch([
    {
      kind: 'write',
      text: 'insert into groups (tenant_id, id, name, permissions) values ($1, $2, $3, $4)',
      values: [tenantId, groupId, unique('group'), permissions],
      prepare: false,
    },
    {
      kind: 'write',
      text: 'insert into group_members (tenant_id, group_id, user_id) values ($1, $2, $3)',
      values: [tenantId, groupId, userId],
      prepare: false,
    },
  ]);
}

export type AppAccount = { id: string; email: string; password: string; tenantId: string };

/** An app account of the tenant, which has not logged in yet. */
export async function createAppAccount(
  test: TestService,
  tenant: Tenant,
  options: { email?: string; password?: string; permissions?: object; expires_at?: string } = {},
): Promise<AppAccount> {
  const body = {
    name: unique('app'),
    email: `${unique('app')}@${tenant.domain}.example`,
    password: 'correct horse battery',
    ...options,
  };
  const created = await test.call('POST', '/api/v1/secure/app-accounts', { token: tenant.admin.token, body });
  expect(created).toMatchObject({ status: 201 });
  const { id, email, tenant_id: tenantId } = created.body.data;
  return { id, email, password: body.password, tenantId };
}

/** The body of its login. */
export function loginOf({ email, password, tenantId }: AppAccount) {
  return { email, password, tenantId };
}

export function logInSystemAdmin(test: TestService): Promise<Person> {
  return logIn(test, systemAdmin);
}

/** Makes an existing account a user of another tenant by an invitation that it accepts. */
export async function joinTenant(test: TestService, tenant: Tenant, person: Person): Promise<string> {
  await proveAddress(test, person.email);
  const body = { email: person.email };
  const invited = await test.call('POST', '/api/v1/secure/users/invite', { token: tenant.admin.token, body });
  expect(invited).toMatchObject({ status: 201, body: { data: { status: 'invited' } } });
  const { id } = invited.body.data;
  const accepted = await test.call('POST', `/api/v1/auth/invitations/${id}/accept`, { token: person.token });
  expect(accepted).toMatchObject({ status: 200 });
  return id;
}

/** As if the person had come back with a mailed link some time ago: the address is known to be theirs. */
export async function proveAddress(test: TestService, email: string): Promise<void> {
  await test.service.services.database.credential().interactive.all({
    kind: 'write',
    text: 'update accounts set email_verified_at = now() where email = $1',
    values: [email],
    prepare: false,
  });
}
