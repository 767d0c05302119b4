import { beforeEach, describe, expect, it } from 'vitest';

import { TooManyFailures } from '#modules/auth/auth.errors';
import { loginAttempt } from '#modules/auth/login/rate-limits';
import {
  auditOf,
  comparable,
  countStatuses,
  createClock,
  createPersonOfTwo,
  expectNoSecrets,
  hour,
  inParallel,
  mailsTo,
  minute,
  newEmail,
  post,
  requestReset,
  statusOf,
  tokenIn,
} from '#modules/auth/testing/steps';
import { createMember, createTenant, logIn, proveAddress, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
let tenant: Tenant;

// A new one each time, because a change of the clock expires the token of its administrator.
beforeEach(async () => {
  tenant = await createTenant(test);
});

const forgot = (email: unknown) => post(test, 'forgot-password', { email });
const reset = (token: unknown, password: unknown = 'another horse') =>
  post(test, 'reset-password', { token, password });

async function canLogIn(email: string, password: string): Promise<number> {
  return (await post(test, 'login', { email, password })).status;
}

describe('forgotPassword', () => {
  it('200: a mail with a link to the known address, and it is recorded', async () => {
    const { email, userId } = await createMember(test, tenant);
    expect((await forgot(email.toUpperCase())).status).toBe(200);
    const [mail, ...others] = await mailsTo(test, email);
    expect(others).toEqual([]);
    expect(mail).toMatchObject({ recipient: email, subject: 'Set a new password', attempts: 0, sent_at: null });
    expect(mail!.text).toContain('http://127.0.0.1:8080/reset-password#token=');
    const [entry] = await auditOf(test, tenant.admin, 'auth.password_reset_requested');
    expect(entry!.user_id).toBe(userId);
    expectNoSecrets(test, [tokenIn(mail!.text), email]);
  });

  it('200: the same bytes and no mail for an unknown address', async () => {
    const { email } = await createMember(test, tenant);
    const unknown = newEmail();
    const answers = [await forgot(email), await forgot(unknown)];
    expect(answers.map((answer) => answer.status)).toEqual([200, 200]);
    expect(new Set(answers.map(comparable)).size).toBe(1);
    expect(await mailsTo(test, unknown)).toEqual([]);
  });

  it.each([
    ['no address', undefined],
    ['an invalid address', 'ada'],
    ['two in one', 'a，b@person.example'],
  ])('400: %s', async (_what, email) => {
    expectError(await forgot(email), 400, 'VALIDATION_ERROR');
  });

  it('429: three mails in ten minutes, known or not, for all callers', async () => {
    const answers = [];
    for (const email of [(await createMember(test, tenant)).email, newEmail()]) {
      const asked = await inParallel(10, () => forgot(email));
      expect(countStatuses(asked)).toEqual({ 200: 3, 429: 7 });
      answers.push(await forgot(email));
      clock.advance(10 * minute);
      expect((await forgot(email)).status).toBe(200);
    }
    expect(new Set(answers.map(comparable)).size).toBe(1);
    expectError(answers[0]!, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_FAILURES');
  });
});

describe('resetPassword', () => {
  it('200: sets the password, revokes every session in all tenants, and is recorded', async () => {
    const { email, password, first, second } = await createPersonOfTwo(test);
    const sessions = [
      await logIn(test, { email, password, tenantId: first.tenantId }),
      await logIn(test, { email, password, tenantId: second.tenantId }),
    ];
    for (const { token } of sessions) expect(await statusOf(test, token)).toBe(200);
    const answer = await reset(await requestReset(test, email));
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { message: expect.any(String) },
    });
    for (const { token, refreshToken } of sessions) {
      expect(await statusOf(test, token)).toBe(401);
      expectError(await post(test, 'refresh', { refreshToken }), 401, 'INVALID_TOKEN');
    }
    expect(await canLogIn(email, password)).toBe(401);
    expect(await canLogIn(email, 'another horse')).toBe(200);
    for (const { admin } of [first, second]) expect(await auditOf(test, admin, 'auth.password_reset')).toHaveLength(1);
  });

  it('200: removes the login lock of the account, and of no other', async () => {
    // An unknown origin of both accounts, which trips the lock for strangers.
    const isLetIn = async (email: string, password: string) =>
      (await post(test, 'login', { email, password }, { headers: { 'user-agent': 'Stranger/1.0' } })).status;
    const [member, other] = [await createMember(test, tenant), await createMember(test, tenant)];
    for (const { email, password } of [member, other]) {
      for (let count = 0; count < 10; count++) {
        await loginAttempt(test.service.services, { email }, '127.0.0.1', TooManyFailures).admit();
      }
      expect(await isLetIn(email, password)).toBe(429);
    }
    const token = await requestReset(test, member.email);
    expect(await isLetIn(member.email, member.password)).toBe(429);
    expect((await reset(token)).status).toBe(200);
    expect(await isLetIn(member.email, 'another horse')).toBe(200);
    expect(await isLetIn(other.email, other.password)).toBe(429);
  });

  it('200: removes login methods from before the verification of the address, but never second factors', async () => {
    const sql = (text: string, ...values: unknown[]) =>
      test.service.services.database.credential().interactive.all<any>({ kind: 'write', text, values, prepare: false });
    const rowsOf = async (email: string) => {
      const [account] = await sql('select id from accounts where email = $1', email);
      const count = async (table: string) =>
        (await sql(`select from ${table} where account_id = $1`, account.id)).length;
      return { identities: await count('account_identities'), factors: await count('two_factor_methods') };
    };
    for (const isProven of [false, true]) {
      const { email } = await createMember(test, tenant);
      if (isProven) await proveAddress(test, email);
      const [{ id }] = await sql('select id from accounts where email = $1', email);
      await sql(
        `insert into account_identities (id, account_id, configured_by, provider, subject, created_at) values ($1, $1, $1, 'google', 'x', now())`,
        id,
      );
      await sql(
        `insert into two_factor_methods (account_id, method, secret, enabled_at, created_at) values ($1, 'totp', 'x', now(), now())`,
        id,
      );
      expect((await reset(await requestReset(test, email))).status).toBe(200);
      expect(await rowsOf(email)).toEqual({ identities: isProven ? 1 : 0, factors: 1 });
    }
  });

  it('200: exactly one of 50 concurrent requests', async () => {
    const { email } = await createMember(test, tenant);
    const token = await requestReset(test, email);
    const answers = await inParallel(50, (at) => reset(token, `another horse ${at}`));
    const { 200: done, 401: refused = 0, 503: busy = 0 } = countStatuses(answers);
    expect({ done, others: refused + busy }).toEqual({ done: 1, others: 49 });
    const winner = answers.findIndex((answer) => answer.status === 200);
    expect(await canLogIn(email, `another horse ${winner}`)).toBe(200);
  });

  it('200: the mailed link of a new user sets the first password', async () => {
    const email = newEmail();
    const { token } = tenant.admin;
    expect((await test.call('POST', '/api/v1/secure/users', { token, body: { email } })).status).toBe(201);
    const [mail] = await mailsTo(test, email);
    clock.advance(47 * hour);
    expect((await reset(tokenIn(mail!.text))).status).toBe(200);
    expect(await canLogIn(email, 'another horse')).toBe(200);
  });

  it.each([
    ['a password of 7 characters', 'x'.repeat(43), '1234567'],
    ['a password that composes to 7', 'x'.repeat(43), 'e\u0301'.repeat(7)],
    ['a password of 257 characters', 'x'.repeat(43), 'x'.repeat(257)],
    ['no password', 'x'.repeat(43), null],
    ['no token', undefined, 'another horse'],
    ['a token of 201 characters', 'x'.repeat(201), 'another horse'],
  ])('400: %s', async (_what, token, password) => {
    expectError(await reset(token, password), 400, 'VALIDATION_ERROR');
  });

  it('400: a refused password keeps the token valid', async () => {
    const { email } = await createMember(test, tenant);
    const token = await requestReset(test, email);
    expect((await reset(token, 'short')).status).toBe(400);
    expect((await reset(token)).status).toBe(200);
  });

  it('401: used, invented or malformed tokens, with the same bytes', async () => {
    const { email } = await createMember(test, tenant);
    const used = await requestReset(test, email);
    await reset(used);
    const answers = [];
    for (const token of [used, 'x'.repeat(43), 'x', used.slice(1), `${used}=`]) answers.push(await reset(token));
    for (const answer of answers) expectError(answer, 401, 'AUTHENTICATION_ERROR');
    expect(new Set(answers.map(comparable)).size).toBe(1);
  });

  it('401: after an hour', async () => {
    const { email } = await createMember(test, tenant);
    const [early, late] = [await requestReset(test, email), await requestReset(test, email)];
    clock.advance(hour);
    expectError(await reset(early), 401, 'AUTHENTICATION_ERROR');
    expectError(await reset(late), 401, 'AUTHENTICATION_ERROR');
  });

  it('401: the other mails after one was used', async () => {
    const { email } = await createMember(test, tenant);
    const [first, second] = [await requestReset(test, email), await requestReset(test, email)];
    expect((await reset(second)).status).toBe(200);
    expectError(await reset(first), 401, 'AUTHENTICATION_ERROR');
  });

  it('401: one of two different concurrent tokens', async () => {
    const { email } = await createMember(test, tenant);
    const tokens = [await requestReset(test, email), await requestReset(test, email)];
    expect(countStatuses(await inParallel(2, (at) => reset(tokens[at])))).toEqual({ 200: 1, 401: 1 });
  });
});
