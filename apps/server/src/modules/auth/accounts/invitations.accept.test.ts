import { beforeAll, describe, expect, it } from 'vitest';

import {
  auditOf,
  comparable,
  createClock,
  expectNoSecrets,
  hour,
  invite,
  minute,
  newEmail,
  post,
  statusOf,
} from '#modules/auth/testing/steps';
import { createMember, createTenant, logIn, proveAddress, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
const password = 'correct horse';
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
  // Tenants without a verified administrator may send ten invitations a day.
  await proveAddress(test, tenant.admin.email);
});

const accept = (token: unknown, secret?: unknown): Promise<Answer> =>
  post(test, 'accept-invitation', secret === undefined ? { token } : { token, password: secret });
const reset = (token: string, secret: string) => post(test, 'reset-password', { token, password: secret });
const login = (email: string, secret: string, tenantId?: string) =>
  post(test, 'login', { email, password: secret, ...(tenantId === undefined ? {} : { tenantId }) });

/** The columns of an account for the credential role. */
async function accountOf(email: string): Promise<{ id: string; password_hash: string; email_verified_at: string }> {
  const [account] = await test.service.services.database.credential().all<any>({
    kind: 'read',
    text: 'select id, password_hash, email_verified_at from accounts where email = $1',
    values: [email],
    prepare: false,
  });
  return account;
}

describe('acceptInvitation by a person without an account', () => {
  it('200: sets the password, verifies the address, joins, and is recorded', async () => {
    const email = newEmail();
    const { userId, token } = await invite(test, tenant, { email });
    expectError(await login(email, password), 401, 'AUTHENTICATION_ERROR');
    const answer = await accept(token, password);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { message: expect.any(String), data: { tenantId: tenant.tenantId, tenantName: tenant.name } },
    });
    expect((await login(email, password)).body.user).toMatchObject({ id: userId, tenantId: tenant.tenantId });
    expect((await accountOf(email)).email_verified_at).not.toBeNull();
    const [entry] = await auditOf(test, tenant.admin, 'user.joined');
    expect(entry).toMatchObject({ user_id: userId, resource_id: userId });
    expectNoSecrets(test, [token, password]);
  });

  it('422: without a password; the link remains valid', async () => {
    const { token } = await invite(test, tenant, { email: newEmail() });
    expectError(await accept(token), 422, 'UNPROCESSABLE_ENTITY', 'PASSWORD_REQUIRED');
    expect((await accept(token, password)).status).toBe(200);
  });

  it('200: also by a password reset', async () => {
    const email = newEmail();
    const { userId, token } = await invite(test, tenant, { email });
    expect((await reset(token, password)).status).toBe(200);
    expect((await login(email, password)).body.user.id).toBe(userId);
    expectError(await accept(token, password), 401, 'AUTHENTICATION_ERROR');
  });
});

describe('acceptInvitation by a person with a verified address', () => {
  it('200: joins with only the token; password and sessions remain', async () => {
    const member = await createMember(test, await createTenant(test));
    await proveAddress(test, member.email);
    const { userId, token } = await invite(test, tenant, { email: member.email });
    expectError(await login(member.email, member.password, tenant.tenantId), 401, 'AUTHENTICATION_ERROR');
    expect((await accept(token)).status).toBe(200);
    expect(await statusOf(test, member.token)).toBe(200);
    const there = await logIn(test, { ...member, tenantId: tenant.tenantId });
    expect(there.userId).toBe(userId);
  });

  it('422 or 401: never sets a password', async () => {
    const member = await createMember(test, await createTenant(test));
    await proveAddress(test, member.email);
    const before = await accountOf(member.email);
    const { token } = await invite(test, tenant, { email: member.email });
    expectError(await accept(token, 'stolen horse'), 422, 'UNPROCESSABLE_ENTITY', 'PASSWORD_ALREADY_SET');
    expectError(await reset(token, 'stolen horse'), 401, 'AUTHENTICATION_ERROR');
    expect(await accountOf(member.email)).toEqual(before);
    expect((await accept(token)).status).toBe(200);
    expect(await accountOf(member.email)).toEqual(before);
  });

  it('200: without a password, after the address was verified meanwhile', async () => {
    const member = await createMember(test, await createTenant(test));
    const { token } = await invite(test, tenant, { email: member.email });
    expectError(await accept(token), 422, 'UNPROCESSABLE_ENTITY', 'PASSWORD_REQUIRED');
    await proveAddress(test, member.email);
    expect((await accept(token)).status).toBe(200);
    expect((await login(member.email, member.password, tenant.tenantId)).status).toBe(200);
  });
});

describe('acceptInvitation after a stranger registered the address', () => {
  const statement = (text: string, ...values: unknown[]) =>
    test.service.services.database.credential().interactive.all<any>({ kind: 'write', text, values, prepare: false });

  it.each([
    ['acceptInvitation', accept],
    ['resetPassword', reset],
  ])('200: replaces their password, leaves them no way in, and keeps the factors: %s', async (_operation, join) => {
    const squatter = await createMember(test, await createTenant(test));
    const { id } = await accountOf(squatter.email);
    await statement(
      `insert into two_factor_methods (account_id, method, secret, enabled_at, created_at) values ($1, 'totp', 'x', $2, $2)`,
      id,
      new Date(0).toISOString(),
    );
    await statement(
      `insert into two_factor_backup_codes (account_id, code_hash, created_at) values ($1, 'x', now())`,
      id,
    );
    await statement(
      `insert into account_identities (id, account_id, configured_by, provider, subject, created_at)
       values ($1, $1, $2, 'google', $3, now())`,
      id,
      tenant.tenantId,
      squatter.email,
    );
    const { userId, token } = await invite(test, tenant, { email: squatter.email });
    expectError(await accept(token), 422, 'UNPROCESSABLE_ENTITY', 'PASSWORD_REQUIRED');
    expect(await statusOf(test, squatter.token)).toBe(200);

    expect((await join(token, 'of the owner')).status).toBe(200);
    expect(await statusOf(test, squatter.token)).toBe(401);
    expect((await post(test, 'refresh', { refreshToken: squatter.refreshToken })).status).toBe(401);
    expectError(await login(squatter.email, squatter.password), 401, 'AUTHENTICATION_ERROR');
    for (const [table, left] of Object.entries({
      two_factor_methods: 1,
      two_factor_backup_codes: 1,
      account_identities: 0,
    }))
      expect(await statement(`select from ${table} where account_id = $1`, id)).toHaveLength(left);
    const owner = await logIn(test, { email: squatter.email, password: 'of the owner', tenantId: tenant.tenantId });
    expect(owner.userId).toBe(userId);
    const spaces = await test.call('GET', '/api/v1/secure/spaces', { token: owner.token });
    expectError(spaces, 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_REQUIRED');
  });
});

describe('acceptInvitation', () => {
  it.each([
    ['no token', undefined, password],
    ['an empty token', '', password],
    ['a token of 201 characters', 'x'.repeat(201), password],
    ['a password of 7 characters', 'x'.repeat(43), '1234567'],
    ['a password of 257 characters', 'x'.repeat(43), 'x'.repeat(257)],
    ['a password that composes to 7', 'x'.repeat(43), 'e\u0301'.repeat(7)],
    ['null for the password', 'x'.repeat(43), null],
  ])('400: %s', async (_what, token, secret) => {
    expectError(await accept(token, secret), 400, 'VALIDATION_ERROR');
  });

  it('401: used, invented, malformed and other tokens, with the same bytes', async () => {
    const email = newEmail();
    const { token: used } = await invite(test, tenant, { email });
    await accept(used, password);
    const other = (await post(test, 'login', { email, password })).body.refreshToken;
    const answers = [];
    for (const token of [used, 'x'.repeat(43), 'x', used.slice(1), `${used}=`, other]) {
      answers.push(await accept(token, password), await accept(token));
    }
    for (const answer of answers) expectError(answer, 401, 'AUTHENTICATION_ERROR');
    expect(new Set(answers.map(comparable)).size).toBe(1);
  });

  it('401: into a suspended tenant; works after its activation', async () => {
    const closed = await createTenant(test);
    const { token } = await invite(test, closed, { email: newEmail() });
    const setStatus = (status: string) =>
      test.service.services.database.tenant(closed.tenantId).interactive.all({
        kind: 'write',
        text: 'update tenants set status = $2 where id = $1',
        values: [closed.tenantId, status],
        prepare: false,
      });
    await setStatus('suspended');
    expectError(await accept(token, password), 401, 'AUTHENTICATION_ERROR');
    await setStatus('active');
    expect((await accept(token, password)).status).toBe(200);
  });

  it('401: as another kind of token', async () => {
    const { token } = await invite(test, tenant, { email: newEmail() });
    expectError(await post(test, 'verify-email', { token }), 401, 'AUTHENTICATION_ERROR');
    const select = { selectionToken: token, tenantId: tenant.tenantId };
    expectError(await post(test, 'select-tenant', select), 401, 'AUTHENTICATION_ERROR');
    expect((await accept(token, password)).status).toBe(200);
  });

  it('401: after 48 hours', async () => {
    const [early, late] = [
      await invite(test, tenant, { email: newEmail() }),
      await invite(test, tenant, { email: newEmail() }),
    ];
    clock.advance(48 * hour - minute);
    expect((await accept(early.token, password)).status).toBe(200);
    clock.advance(minute);
    expectError(await accept(late.token, password), 401, 'AUTHENTICATION_ERROR');
  });
});
