import { beforeEach, describe, expect, it } from 'vitest';

import {
  auditOf,
  comparable,
  countStatuses,
  createClock,
  day,
  expectNoSecrets,
  inParallel,
  invite,
  mailsTo,
  post,
  requestReset,
  statusOf,
  tokenIn,
} from '#modules/auth/testing/steps';
import { enrolTotp, ordinary, statusOfFactors, twoFactor } from '#modules/two-factor/testing/steps';
import {
  createAppAccount,
  createMember,
  createTenant,
  logIn,
  logInSystemAdmin,
  proveAddress,
  unique,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
const password = 'of the owner';
let squatted: Tenant;

// Accounts that a stranger created with the address of another person.
beforeEach(async () => {
  squatted = await createTenant(test);
});

const disown = (token: unknown) => post(test, 'disown-account', { token });

/** The newest mail to the address, and its token that disowns the account. */
async function offered(email: string): Promise<string | undefined> {
  const [mail] = await mailsTo(test, email);
  return /disown-account#token=([\w-]{43})\n/.exec(mail!.text)?.[1];
}

async function requestDisowning(email: string): Promise<string> {
  await requestReset(test, email);
  return (await offered(email))!;
}

const sql = (text: string, ...values: unknown[]) =>
  test.service.services.database.credential().interactive.all<any>({ kind: 'write', text, values, prepare: false });

describe('the reset mail', () => {
  it('offers to disown an account with an unverified address', async () => {
    const { email } = squatted.admin;
    const token = await requestDisowning(email);
    expect(token).toHaveLength(43);
    expect(tokenIn((await mailsTo(test, email))[0]!.text)).not.toBe(token);
  });

  it('does not offer it for a verified address or an account without a tenant', async () => {
    await proveAddress(test, squatted.admin.email);
    await requestReset(test, squatted.admin.email);
    expect(await offered(squatted.admin.email)).toBeUndefined();
    const member = await createMember(test, squatted);
    const path = `/api/v1/secure/users/${member.userId}`;
    expect((await test.call('DELETE', path, { token: squatted.admin.token })).status).toBe(204);
    await requestReset(test, member.email);
    expect(await offered(member.email)).toBeUndefined();
  });
});

describe('disownAccount', () => {
  it('200: frees the address, and removes all access of the stranger', async () => {
    const { admin, tenantId } = squatted;
    const { token: session, email } = admin;
    const key = await test.call('POST', '/api/v1/secure/api-keys?template=FULL_ACCESS', {
      token: session,
      body: { name: 'kept' },
    });
    const app = await createAppAccount(test, squatted);
    const appSession = await logIn(test, app);
    await enrolTotp(test, clock, admin);
    const [{ id }] = await sql('select id from accounts where email = $1', email);
    await sql(
      `insert into account_identities (id, account_id, configured_by, provider, subject, created_at)
       values ($1, $1, $2, 'google', $3, now())`,
      id,
      tenantId,
      email,
    );
    const reset = await requestReset(test, email);
    const token = (await offered(email))!;
    const answer = await disown(token);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { message: expect.any(String) },
    });
    expectNoSecrets(test, [token, email]);
    // No earlier credential gives access.
    expect(await statusOf(test, session)).toBe(401);
    expectError(await post(test, 'refresh', { refreshToken: admin.refreshToken }), 401, 'INVALID_TOKEN');
    expectError(await post(test, 'login', { email, password: admin.password }), 401, 'AUTHENTICATION_ERROR');
    expectError(await post(test, 'reset-password', { token: reset, password }), 401, 'AUTHENTICATION_ERROR');
    const byKey = { headers: { 'x-api-key': key.body.fullKey } };
    expect((await test.call('GET', '/api/v1/secure/spaces', byKey)).status).toBe(401);
    expect(await statusOf(test, appSession.token)).toBe(401);
    expectError(await post(test, 'login', { email: app.email, password: app.password }), 401, 'AUTHENTICATION_ERROR');
    for (const table of [
      'memberships',
      'account_identities',
      'two_factor_methods',
      'two_factor_backup_codes',
      'known_logins',
    ])
      expect({ [table]: await sql(`select from ${table} where account_id = $1`, id) }).toEqual({ [table]: [] });
    expect(await sql('select from one_time_tokens where account_id = $1 and used_at is null', id)).toEqual([]);
    // The address is free, and its owner starts without old data.
    const domain = unique('owner');
    const registered = await post(test, 'register', { email, password, tenantName: 'Owner', tenantDomain: domain });
    expect(registered.status).toBe(201);
    const owner = await logIn(test, { email, password });
    expect((await statusOfFactors(test, owner)).enabled_methods).toEqual([]);
    const tenants = await test.call('GET', '/api/v1/auth/tenants', { token: owner.token });
    expect(tenants.body.data.map((tenant: { id: string }) => tenant.id)).toEqual([registered.body.tenant.id]);
  });

  it('200: the tenants remain without this user, each records it, and the operator can appoint another administrator', async () => {
    const { tenantId } = squatted;
    const colleague = await createMember(test, squatted, { permissions: ['audit.read'] });
    expect((await disown(await requestDisowning(squatted.admin.email))).status).toBe(200);
    expect((await ordinary(test, colleague)).status).toBe(200);
    const root = await logInSystemAdmin(test);
    const call = { token: root.token, headers: { 'x-tenant-id': tenantId } };
    const listed = await test.call('GET', '/api/v1/secure/users', call);
    expect(listed.body.data.map((user: { id: string }) => user.id)).toEqual([colleague.userId]);
    const trail = await test.call('GET', '/api/v1/secure/audit-logs?action=auth.account_disowned', call);
    expect(trail.body.data).toMatchObject([
      { user_id: null, resource_id: squatted.admin.userId, details: { apiKeys: [], appAccounts: [] } },
    ]);
    const appointed = await test.call('PATCH', `/api/v1/secure/users/${colleague.userId}`, {
      ...call,
      body: { isTenantAdmin: true },
    });
    expect(appointed.status).toBe(200);
  });

  it('200: an invitation of another tenant remains, and its mail offers the same', async () => {
    const inviting = await createTenant(test);
    await enrolTotp(test, clock, squatted.admin);
    const { email } = squatted.admin;
    const { token, userId } = await invite(test, inviting, { email });
    expect((await disown((await offered(email))!)).status).toBe(200);
    expect((await post(test, 'accept-invitation', { token, password })).status).toBe(200);
    const owner = await logIn(test, { email, password });
    expect(owner.userId).toBe(userId);
    expect((await ordinary(test, owner)).status).toBe(200);
  });

  it('200: also after a reset that the factors of the stranger made useless', async () => {
    const { admin } = squatted;
    await enrolTotp(test, clock, admin);
    const reset = await requestReset(test, admin.email);
    const token = (await offered(admin.email))!;
    expect((await post(test, 'reset-password', { token: reset, password })).status).toBe(200);
    const session = await logIn(test, { email: admin.email, password });
    expectError(await ordinary(test, session), 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_REQUIRED');
    expect(await requestDisowning(admin.email)).toHaveLength(43);
    expect((await disown(token)).status).toBe(200);
    expect(await statusOf(test, session.token)).toBe(401);
  });

  it('200: exactly one of 50 concurrent requests', async () => {
    const token = await requestDisowning(squatted.admin.email);
    const answers = await inParallel(50, () => disown(token));
    const { 200: done, 401: refused = 0, 503: busy = 0 } = countStatuses(answers);
    expect({ done, others: refused + busy }).toEqual({ done: 1, others: 49 });
    const root = await logInSystemAdmin(test);
    const trail = await test.call('GET', '/api/v1/secure/audit-logs?action=auth.account_disowned', {
      token: root.token,
      headers: { 'x-tenant-id': squatted.tenantId },
    });
    expect(trail.body.data).toHaveLength(1);
  });

  it('200: none of 50 concurrent logins survives it', async () => {
    const { email, password: known } = squatted.admin;
    const token = await requestDisowning(email);
    const [disowned, ...logins] = await inParallel(51, (at) =>
      at === 0 ? disown(token) : post(test, 'login', { email, password: known }),
    );
    expect(disowned!.status).toBe(200);
    for (const { status, body } of logins) if (status === 200) expect(await statusOf(test, body.accessToken)).toBe(401);
  });

  it.each([
    ['no token', undefined],
    ['an empty token', ''],
    ['a token of 201 characters', 'x'.repeat(201)],
    ['a number', 1],
  ])('400: %s', async (_what, token) => {
    expectError(await disown(token), 400, 'VALIDATION_ERROR');
  });

  it('401: used, invented, malformed and other tokens, with the same bytes', async () => {
    const { email } = squatted.admin;
    const reset = await requestReset(test, email);
    const used = (await offered(email))!;
    const answers = [await disown(reset)];
    await disown(used);
    for (const token of [used, 'x'.repeat(43), 'x', used.slice(1), `${used}=`]) answers.push(await disown(token));
    for (const answer of answers) expectError(answer, 401, 'AUTHENTICATION_ERROR');
    expect(new Set(answers.map(comparable)).size).toBe(1);
  });

  it('401: after the verification of the address; changes nothing', async () => {
    const { admin } = squatted;
    const token = await requestDisowning(admin.email);
    await proveAddress(test, admin.email);
    expectError(await disown(token), 401, 'AUTHENTICATION_ERROR');
    expect((await ordinary(test, admin)).status).toBe(200);
    expect(await auditOf(test, admin, 'auth.account_disowned')).toEqual([]);
  });

  it('401: after two days', async () => {
    const token = await requestDisowning(squatted.admin.email);
    clock.advance(2 * day);
    expectError(await disown(token), 401, 'AUTHENTICATION_ERROR');
  });

  it('401: for another purpose', async () => {
    const token = await requestDisowning(squatted.admin.email);
    for (const [operation, body] of [
      ['reset-password', { token, password }],
      ['accept-invitation', { token, password }],
      ['verify-email', { token }],
      ['select-tenant', { selectionToken: token, tenantId: squatted.tenantId }],
    ] as const)
      expectError(await post(test, operation, body), 401, 'AUTHENTICATION_ERROR');
    expect((await disown(token)).status).toBe(200);
  });
});

describe('a reset of an account with a second factor', () => {
  it('requires the factor afterwards, for verified and unverified addresses', async () => {
    for (const isProven of [false, true]) {
      const member = await createMember(test, squatted);
      await enrolTotp(test, clock, member);
      if (isProven) await proveAddress(test, member.email);
      const token = await requestReset(test, member.email);
      expect((await post(test, 'reset-password', { token, password })).status).toBe(200);
      const session = await logIn(test, { email: member.email, password });
      expectError(await ordinary(test, session), 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_REQUIRED');
      expect((await twoFactor(test, 'enable/totp', session)).status).toBe(403);
    }
  });
});
