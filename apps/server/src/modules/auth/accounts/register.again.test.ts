import { describe, expect, it } from 'vitest';

import {
  countStatuses,
  inParallel,
  invite,
  mailedToken,
  newEmail,
  post,
  requestReset,
  statusOf,
} from '#modules/auth/testing/steps';
import {
  createMember,
  createTenant,
  logIn,
  proveAddress,
  unique,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const password = 'a horse of their own';

const register = (email: string, secret = password) =>
  post(test, 'register', { email, password: secret, tenantName: 'Again', tenantDomain: unique('again') });

const sql = (text: string, ...values: unknown[]) =>
  test.service.services.database.credential().interactive.all<any>({ kind: 'write', text, values, prepare: false });

const accountOf = async (email: string) => (await sql('select * from accounts where email = $1', email))[0];

async function remove(tenant: Tenant, { userId }: { userId: string }): Promise<void> {
  const answer = await test.call('DELETE', `/api/v1/secure/users/${userId}`, { token: tenant.admin.token });
  expect(answer.status).toBe(204);
}

/** A person whose only membership has ended. */
async function createFormerMember(): Promise<{ tenant: Tenant; person: Person }> {
  const tenant = await createTenant(test);
  const person = await createMember(test, tenant);
  await remove(tenant, person);
  return { tenant, person };
}

describe('register with the address of an account without a tenant', () => {
  it('201: starts again with the new password and without old data', async () => {
    const tenant = await createTenant(test);
    const person = await createMember(test, tenant);
    await proveAddress(test, person.email);
    const { id } = await accountOf(person.email);
    const reset = await requestReset(test, person.email);
    await sql(
      `insert into two_factor_methods (account_id, method, secret, enabled_at, created_at) values ($1, 'totp', 'x', now(), now())`,
      id,
    );
    await sql(
      `insert into two_factor_codes (id, account_id, method, session_id, code_hash, created_at, expires_at) values ($1, $1, 'email', $1, 'x', now(), now())`,
      id,
    );
    await sql(`insert into two_factor_backup_codes (account_id, code_hash, created_at) values ($1, 'x', now())`, id);
    await sql(
      `insert into account_identities (id, account_id, configured_by, provider, subject, created_at) values ($1, $1, $2, 'google', 'x', now())`,
      id,
      tenant.tenantId,
    );
    await remove(tenant, person);

    const registered = await register(person.email.toUpperCase());
    expect(registered.status).toBe(201);
    expect(registered.body).toEqual({
      user: { id: expect.any(String), email: person.email, tenantId: registered.body.tenant.id },
      tenant: { id: expect.any(String), name: 'Again', domain: expect.any(String) },
      message: expect.any(String),
    });
    expect(await accountOf(person.email)).toMatchObject({ id, email_verified_at: null });
    for (const table of ['two_factor_methods', 'two_factor_codes', 'two_factor_backup_codes', 'account_identities']) {
      expect({ table, rows: await sql(`select from ${table} where account_id = $1`, id) }).toEqual({ table, rows: [] });
    }
    expect(await statusOf(test, person.token)).toBe(401);
    expect((await post(test, 'refresh', { refreshToken: person.refreshToken })).status).toBe(401);
    expectError(await post(test, 'reset-password', { token: reset, password }), 401, 'AUTHENTICATION_ERROR');
    const { email } = person;
    expectError(await post(test, 'login', { email, password: person.password }), 401, 'AUTHENTICATION_ERROR');
    const login = await post(test, 'login', { email, password });
    expect(login.body.user).toMatchObject({ tenantId: registered.body.tenant.id, isTenantAdmin: true });
    expect((await post(test, 'verify-email', { token: await mailedToken(test, email) })).status).toBe(200);
  });

  it('201: for a person who was only invited; the invitation remains, and requires a password of the owner', async () => {
    const [email, host] = [newEmail(), await createTenant(test)];
    const { userId, token } = await invite(test, host, { email });
    expect((await register(email)).status).toBe(201);
    expect((await post(test, 'login', { email, password })).status).toBe(200);
    expectError(await post(test, 'accept-invitation', { token }), 422, 'UNPROCESSABLE_ENTITY', 'PASSWORD_REQUIRED');
    expect((await post(test, 'accept-invitation', { token, password: 'of the owner' })).status).toBe(200);
    expectError(await post(test, 'login', { email, password }), 401, 'AUTHENTICATION_ERROR');
    const joined = await logIn(test, { email, password: 'of the owner', tenantId: host.tenantId });
    expect(joined.userId).toBe(userId);
  });

  it('201: keeps an account unchanged if the domain is taken', async () => {
    const { tenant, person } = await createFormerMember();
    const before = await accountOf(person.email);
    const body = { email: person.email, password, tenantName: 'Again', tenantDomain: tenant.domain };
    expectError(await post(test, 'register', body), 409, 'CONFLICT', 'DOMAIN_TAKEN');
    expect(await accountOf(person.email)).toEqual(before);
    expect((await register(person.email)).status).toBe(201);
  });

  it('409: for a user of a tenant, also a suspended one or one of a suspended tenant', async () => {
    const tenant = await createTenant(test);
    const [active, suspended] = [await createMember(test, tenant), await createMember(test, tenant)];
    const url = `/api/v1/secure/users/${suspended.userId}`;
    await test.call('PATCH', url, { token: tenant.admin.token, body: { status: 'suspended' } });
    const other = await createTenant(test);
    await test.service.services.database.tenant(other.tenantId).interactive.all({
      kind: 'write',
      text: `update tenants set status = 'suspended' where id = $1`,
      values: [other.tenantId],
      prepare: false,
    });
    for (const { email, password: own } of [active, suspended, other.admin]) {
      const before = await accountOf(email);
      expectError(await register(email), 409, 'CONFLICT', 'EMAIL_TAKEN');
      expect(await accountOf(email)).toEqual(before);
      expect(own).not.toBe(password);
    }
  });

  it('201: exactly one of 20 concurrent requests, 5 times, and its password is valid', async () => {
    for (let round = 0; round < 5; round++) {
      const { person } = await createFormerMember();
      const answers = await inParallel(20, (at) => register(person.email, `horse number ${at}`));
      // On a busy machine the password queue may refuse some requests before they compete.
      const { 201: created, 409: refused = 0, 503: busy = 0 } = countStatuses(answers);
      expect({ created, others: refused + busy }).toEqual({ created: 1, others: 19 });
      const winner = answers.findIndex(({ status }) => status === 201);
      const login = await post(test, 'login', { email: person.email, password: `horse number ${winner}` });
      expect(login.body.user.tenantId).toBe(answers[winner]!.body.tenant.id);
    }
  });

  it('201 or 409: concurrently with an accepted invitation, never both passwords', async () => {
    for (let round = 0; round < 10; round++) {
      const [email, host] = [newEmail(), await createTenant(test)];
      const { token } = await invite(test, host, { email });
      const [registered, joined] = await Promise.all([
        register(email),
        post(test, 'accept-invitation', { token, password: 'of the owner' }),
      ]);
      expect([201, 409]).toContain(registered.status);
      expect(joined.status).toBe(200);
      // In every order, the holder of the link gets the account.
      expect((await post(test, 'login', { email, password: 'of the owner' })).status).toBe(200);
      expect((await post(test, 'login', { email, password })).status).toBe(401);
    }
  });
});
