import { beforeAll, describe, expect, it } from 'vitest';

import {
  auditOf,
  createPersonOfTwo,
  expectNoSecrets,
  inParallel,
  post,
  requestReset,
  statusOf,
} from '#modules/auth/testing/steps';
import { createMember, createTenant, logIn, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

const change = (token: string, currentPassword: unknown, newPassword: unknown) =>
  test.call('POST', '/api/v1/auth/change-password', { token, body: { currentPassword, newPassword } });

async function canLogIn(email: string, password: string): Promise<number> {
  return (await post(test, 'login', { email, password })).status;
}

describe('changePassword', () => {
  it('200: the new one is valid, the other sessions are revoked, this one remains, and it is recorded', async () => {
    const { email, password, token, refreshToken, userId } = await createMember(test, tenant);
    const other = await logIn(test, { email, password });
    expect(await statusOf(test, other.token)).toBe(200);
    const answer = await change(token, password, 'another horse');
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { message: expect.any(String) },
    });
    expect(await statusOf(test, other.token)).toBe(401);
    expectError(await post(test, 'refresh', { refreshToken: other.refreshToken }), 401, 'INVALID_TOKEN');
    expect(await statusOf(test, token)).toBe(200);
    expect((await post(test, 'refresh', { refreshToken })).status).toBe(200);
    expect(await canLogIn(email, password)).toBe(401);
    expect(await canLogIn(email, 'another horse')).toBe(200);
    const [entry] = await auditOf(test, tenant.admin, 'auth.password_changed');
    expect(entry!.user_id).toBe(userId);
    expectNoSecrets(test, [password, 'another horse']);
  });

  it('200: revokes the sessions in all tenants of the account', async () => {
    const { email, password, first, second } = await createPersonOfTwo(test);
    const own = await logIn(test, { email, password, tenantId: first.tenantId });
    const elsewhere = await logIn(test, { email, password, tenantId: second.tenantId });
    expect(await statusOf(test, elsewhere.token)).toBe(200);
    expect((await change(own.token, password, 'another horse')).status).toBe(200);
    expect(await statusOf(test, elsewhere.token)).toBe(401);
    expect(await statusOf(test, own.token)).toBe(200);
  });

  it('200: invalidates mailed reset links of the old one', async () => {
    const { email, password, token } = await createMember(test, tenant);
    const resetToken = await requestReset(test, email);
    await change(token, password, 'another horse');
    const reset = await post(test, 'reset-password', { token: resetToken, password: 'stolen horse' });
    expectError(reset, 401, 'AUTHENTICATION_ERROR');
  });

  it('200, 409: one of 50 concurrent requests with the right password; the others do not count as guesses', async () => {
    const { email, password, token } = await createMember(test, tenant);
    const answers = await inParallel(50, (at) => change(token, password, `another horse ${at}`));
    const refused = answers.filter(({ status }) => status !== 200 && status !== 503);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of refused) expectError(answer, 409, 'CONFLICT', 'PASSWORD_CHANGED');
    const winner = answers.findIndex((answer) => answer.status === 200);
    for (let count = 0; count < 10; count++) {
      expect((await change(token, 'wrong horse', 'third horse')).status).toBe(422);
    }
    expectError(await change(token, `another horse ${winner}`, 'third horse'), 429, 'RATE_LIMIT_EXCEEDED');
    expect(await canLogIn(email, `another horse ${winner}`)).toBe(429);
  });

  it('409: a request that arrived before another change does not count as a guess', async () => {
    const { email, password, token } = await createMember(test, tenant);
    await test.service.services.database.credential().interactive.all({
      kind: 'write',
      text: `update accounts set password_changed_at = now() + interval '1 hour' where email = $1`,
      values: [email],
      prepare: false,
    });
    for (let count = 0; count < 11; count++) {
      expectError(await change(token, 'wrong horse', 'another horse'), 409, 'CONFLICT', 'PASSWORD_CHANGED');
    }
    expect(await canLogIn(email, password)).toBe(200);
  });

  it.each([
    ['a new password of 7 characters', 'correct horse', '1234567'],
    ['a new password that composes to 7', 'correct horse', 'e\u0301'.repeat(7)],
    ['a new password of 257 characters', 'correct horse', 'x'.repeat(257)],
    ['no new password', 'correct horse', undefined],
    ['no current password', undefined, 'another horse'],
    ['an empty current password', '', 'another horse'],
  ])('400: %s', async (_what, currentPassword, newPassword) => {
    expectError(await change(tenant.admin.token, currentPassword, newPassword), 400, 'VALIDATION_ERROR');
  });

  it('401: without a token', async () => {
    const body = { currentPassword: 'correct horse', newPassword: 'another horse' };
    expectError(await test.call('POST', '/api/v1/auth/change-password', { body }), 401, 'AUTHENTICATION_ERROR');
  });

  it('422: a wrong current password changes nothing, revokes nothing, and is recorded', async () => {
    const { email, password, token, userId } = await createMember(test, tenant);
    const other = await logIn(test, { email, password });
    expectError(await change(token, 'wrong horse', 'another horse'), 422, 'UNPROCESSABLE_ENTITY', 'WRONG_PASSWORD');
    expect(await canLogIn(email, password)).toBe(200);
    expect(await statusOf(test, other.token)).toBe(200);
    const failures = await auditOf(test, tenant.admin, 'auth.password_change_failed');
    expect(failures.map((entry) => entry.user_id)).toContain(userId);
  });

  it('429: after 10 wrong ones, as for login', async () => {
    const { email, password, token } = await createMember(test, tenant);
    for (let count = 0; count < 10; count++) {
      expect((await change(token, 'wrong horse', 'another horse')).status).toBe(422);
    }
    const refused = await change(token, password, 'another horse');
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_FAILURES');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(await canLogIn(email, password)).toBe(429);
  });
});

describe('passwords', () => {
  it.each([
    ['composed or not', 'pa\u00dfw\u00f6rter', 'pa\u00dfwo\u0308rter'],
    ['in full width', 'full width', 'ｆｕｌｌ\u3000ｗｉｄｔｈ'],
  ])('are the same however they are typed: %s', async (_what, set, typed) => {
    const { email, password, token } = await createMember(test, tenant);
    await change(token, password, set);
    expect(await canLogIn(email, typed)).toBe(200);
    expect(await canLogIn(email, set.toUpperCase())).toBe(401);
  });

  it('are significant to their last character', async () => {
    const { email, password, token } = await createMember(test, tenant);
    const long = 'x'.repeat(256);
    await change(token, password, long);
    expect(await canLogIn(email, long)).toBe(200);
    for (const at of [0, 72, 128, 199, 255]) {
      expect(await canLogIn(email, `${long.slice(0, at)}y${long.slice(at + 1)}`)).toBe(401);
    }
    expect(await canLogIn(email, long.slice(0, 255))).toBe(401);
  });
});
