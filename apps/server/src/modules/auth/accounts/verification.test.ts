import { beforeAll, describe, expect, it } from 'vitest';

import {
  auditOf,
  comparable,
  countStatuses,
  createClock,
  expectNoSecrets,
  hour,
  inParallel,
  mailedToken,
  mailsTo,
  minute,
  newEmail,
  post,
  requestReset,
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

const clock = createClock();
const test = useService({ now: clock.now });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

const verify = (token: unknown) => post(test, 'verify-email', { token });
const resend = (token: string) => test.call('POST', '/api/v1/auth/resend-verification', { token });

async function isProven({ email }: { email: string }): Promise<boolean> {
  const [account] = await test.service.services.database.credential().all<any>({
    kind: 'read',
    text: 'select email_verified_at from accounts where email = $1',
    values: [email],
    prepare: false,
  });
  return account.email_verified_at !== null;
}

describe('register', () => {
  it('mails a link to the new address, and none if it is refused', async () => {
    const { admin, domain } = await createTenant(test);
    const [mail, ...others] = await mailsTo(test, admin.email);
    expect(others).toEqual([]);
    expect(mail!.subject).toBe('Confirm your address');
    expect(mail!.text).toMatch(/http:\/\/127\.0\.0\.1:8080\/verify-email#token=[\w-]{43}\n/);
    expect(await isProven(admin)).toBe(false);
    const email = newEmail();
    const body = { email, password: 'correct horse', tenantName: 'Acme', tenantDomain: domain };
    expectError(await post(test, 'register', body), 409, 'CONFLICT', 'DOMAIN_TAKEN');
    expect(await mailsTo(test, email)).toEqual([]);
    const again = { ...body, email: admin.email, tenantDomain: unique('domain') };
    expectError(await post(test, 'register', again), 409, 'CONFLICT', 'EMAIL_TAKEN');
    expect(await mailsTo(test, admin.email)).toHaveLength(1);
  });
});

describe('verifyEmail', () => {
  it('200: verifies the address, and is recorded', async () => {
    const { admin } = await createTenant(test);
    const token = await mailedToken(test, admin.email);
    const answer = await verify(token);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { message: expect.any(String) },
    });
    expect(await isProven(admin)).toBe(true);
    const [entry] = await auditOf(test, admin, 'auth.email_verified');
    expect(entry!.user_id).toBe(admin.userId);
    expectNoSecrets(test, [token, admin.email]);
  });

  it('200: exactly one of 50 concurrent requests, 20 times', async () => {
    for (let round = 0; round < 20; round++) {
      const { admin } = await createTenant(test);
      const token = await mailedToken(test, admin.email);
      expect(countStatuses(await inParallel(50, () => verify(token)))).toEqual({ 200: 1, 401: 49 });
      expect(await auditOf(test, admin, 'auth.email_verified')).toHaveLength(1);
    }
  });

  it('200: after the password was changed', async () => {
    const { admin } = await createTenant(test);
    const body = { currentPassword: admin.password, newPassword: 'another horse' };
    const changed = await test.call('POST', '/api/v1/auth/change-password', { token: admin.token, body });
    expect(changed.status).toBe(200);
    expect((await verify(await mailedToken(test, admin.email))).status).toBe(200);
  });

  it.each([
    ['no token', undefined],
    ['an empty token', ''],
    ['a token of 201 characters', 'x'.repeat(201)],
    ['a number', 5],
  ])('400: %s', async (_what, token) => {
    expectError(await verify(token), 400, 'VALIDATION_ERROR');
  });

  it('401: used, invented, malformed and other tokens, with the same bytes', async () => {
    const { admin } = await createTenant(test);
    const used = await mailedToken(test, admin.email);
    const reset = await requestReset(test, admin.email);
    await verify(used);
    const answers = [];
    for (const token of [used, reset, 'x'.repeat(43), 'x', used.slice(1), `${used}=`])
      answers.push(await verify(token));
    for (const answer of answers) expectError(answer, 401, 'AUTHENTICATION_ERROR');
    expect(new Set(answers.map(comparable)).size).toBe(1);
    const password = 'another horse';
    expectError(await post(test, 'reset-password', { token: used, password }), 401, 'AUTHENTICATION_ERROR');
    expectError(await post(test, 'accept-invitation', { token: used, password }), 401, 'AUTHENTICATION_ERROR');
    expect((await post(test, 'reset-password', { token: reset, password })).status).toBe(200);
  });

  it('401: after 48 hours', async () => {
    const [early, late] = [await createTenant(test), await createTenant(test)];
    const tokens = [await mailedToken(test, early.admin.email), await mailedToken(test, late.admin.email)];
    clock.advance(48 * hour - minute);
    expect((await verify(tokens[0])).status).toBe(200);
    clock.advance(minute);
    expectError(await verify(tokens[1]), 401, 'AUTHENTICATION_ERROR');
    expect(await isProven(late.admin)).toBe(false);
  });
});

describe('resendVerification', () => {
  let member: Person;

  beforeAll(async () => {
    tenant = await createTenant(test);
    member = await createMember(test, tenant);
  });

  it('200: another link; each is valid until one is used', async () => {
    const { admin } = await createTenant(test);
    const first = await mailedToken(test, admin.email);
    const answer = await resend(admin.token);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { message: expect.any(String) },
    });
    const second = await mailedToken(test, admin.email);
    expect(second).not.toBe(first);
    expect((await verify(first)).status).toBe(200);
    expect(await isProven(admin)).toBe(true);
    expect(await auditOf(test, admin, 'auth.email_verification_requested')).toHaveLength(1);
  });

  it('200: for an account that never got a link', async () => {
    expect(await mailsTo(test, member.email)).toEqual([]);
    expect((await resend(member.token)).status).toBe(200);
    expect((await verify(await mailedToken(test, member.email))).status).toBe(200);
  });

  it('401: without credentials', async () => {
    const answer = await test.call('POST', '/api/v1/auth/resend-verification');
    expectError(answer, 401, 'AUTHENTICATION_ERROR');
  });

  it('409: for a verified address; mails nothing', async () => {
    const proven = await createMember(test, tenant);
    await proveAddress(test, proven.email);
    expectError(await resend(proven.token), 409, 'CONFLICT', 'EMAIL_VERIFIED');
    expect(await mailsTo(test, proven.email)).toEqual([]);
  });

  it('429: three mails in ten minutes', async () => {
    const other = await createMember(test, tenant);
    expect(countStatuses(await inParallel(20, () => resend(other.token)))).toEqual({ 200: 3, 429: 17 });
    const refused = await resend(other.token);
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_VERIFICATIONS');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(await mailsTo(test, other.email)).toHaveLength(3);
    clock.advance(10 * minute);
    const { token } = await logIn(test, { email: other.email, password: other.password });
    expect((await resend(token)).status).toBe(200);
  });
});
