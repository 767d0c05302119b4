import { beforeEach, describe, expect, it } from 'vitest';

import { normaliseEmail } from '#modules/auth/accounts/email-address';
import { TooManyFailures } from '#modules/auth/auth.errors';
import { loginAttempt } from '#modules/auth/login/rate-limits';
import {
  comparable,
  countStatuses,
  createClock,
  inParallel,
  minute,
  newEmail,
  post,
  requestReset,
} from '#modules/auth/testing/steps';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
const wrong = 'wrong horse';
let tenant: Tenant;

// A new one each time, because a change of the clock expires the token of its administrator.
beforeEach(async () => {
  tenant = await createTenant(test);
});

/** An origin from which no user has logged in. */
const stranger: Call = { headers: { 'user-agent': 'Stranger/1.0' } };

async function failUntilLocked(email: string, from = stranger): Promise<number> {
  for (let failures = 0; ; failures++) {
    const answer = await post(test, 'login', { email, password: wrong }, from);
    if (answer.status === 429) return failures;
    expectError(answer, 401, 'AUTHENTICATION_ERROR');
  }
}

describe('guesses at one account', () => {
  it('429: after 10 failures, also for the correct password, until the window ends', async () => {
    const { email, password } = await createMember(test, tenant);
    expect(await failUntilLocked(email)).toBe(10);
    const refused = await post(test, 'login', { email, password }, stranger);
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_FAILURES');
    const waitSeconds = Number(refused.headers['retry-after']);
    expect(waitSeconds).toBeGreaterThan(0);
    expect(waitSeconds).toBeLessThanOrEqual(15 * 60);
    clock.advance((waitSeconds - 30) * 1000);
    expect((await post(test, 'login', { email, password }, stranger)).status).toBe(429);
    clock.advance(30_000);
    expect((await post(test, 'login', { email, password }, stranger)).status).toBe(200);
    expect(await failUntilLocked(email)).toBe(10);
  });

  it('429: the address in other case is the same account', async () => {
    const { email, password } = await createMember(test, tenant);
    await failUntilLocked(email.toUpperCase());
    expect((await post(test, 'login', { email, password }, { ip: '198.51.100.20' })).status).toBe(429);
  });

  it('429: a change of the password does not avoid it', async () => {
    const member = await createMember(test, tenant);
    const body = { currentPassword: member.password, newPassword: 'another horse' };
    for (const from of [stranger, {}]) {
      expect(await failUntilLocked(member.email, from)).toBe(10);
      const answer = await test.call('POST', '/api/v1/auth/change-password', { ...from, token: member.token, body });
      expectError(answer, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_FAILURES');
    }
  });

  it.each([
    ['a known account', () => createMember(test, tenant).then((member) => member.email)],
    ['an unknown account', () => Promise.resolve(newEmail())],
  ])('of 100 at once not one more than 10 is evaluated: %s', async (_what, findEmail) => {
    const email = await findEmail();
    const answers = await inParallel(100, (at) => post(test, 'login', { email, password: `${wrong} ${at}` }, stranger));
    const counts = countStatuses(answers);
    expect(Object.keys(counts).every((status) => ['401', '429', '503'].includes(status))).toBe(true);
    for (const answer of answers) {
      if (answer.status !== 401) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    // Requests that the queue refused were not evaluated and do not count.
    expect((counts[401] ?? 0) + (await failUntilLocked(email))).toBe(10);
  });

  it('locks unknown accounts with the same bytes', async () => {
    const [known, unknown] = [(await createMember(test, tenant)).email, newEmail()];
    const answers = [];
    for (const email of [known, unknown]) {
      expect(await failUntilLocked(email)).toBe(10);
      answers.push(await post(test, 'login', { email, password: wrong }, stranger));
    }
    expect(new Set(answers.map(comparable)).size).toBe(1);
  });

  it('does not affect other accounts', async () => {
    const [locked, free] = [await createMember(test, tenant), await createMember(test, tenant)];
    await failUntilLocked(locked.email);
    expect((await post(test, 'login', { email: free.email, password: free.password })).status).toBe(200);
  });

  it('does not count successes', async () => {
    const { email, password } = await createMember(test, tenant);
    for (let count = 0; count < 30; count++) {
      expect((await post(test, 'login', { email, password }, { ip: '198.51.100.21' })).status).toBe(200);
    }
    expect(await failUntilLocked(email)).toBe(10);
  });

  it('counts the correct password with the wrong tenant', async () => {
    const { email, password } = await createMember(test, tenant);
    const tenantId = '01890000-0000-7000-8000-000000000000';
    for (let count = 0; count < 10; count++) {
      expect((await post(test, 'login', { email, password, tenantId })).status).toBe(401);
    }
    expect((await post(test, 'login', { email, password, tenantId })).status).toBe(429);
  });
});

describe('the lock of an account', () => {
  const right = async (member: { email: string; password: string }, from?: Call) =>
    (await post(test, 'login', { email: member.email, password: member.password }, from)).status;
  const known = (ip: string): Call => ({ ip, headers: { 'user-agent': 'Known/1.0' } });

  it('caused by strangers does not lock the owner out at known origins, nor from a password change', async () => {
    const member = await createMember(test, tenant);
    const home = known('198.18.5.1');
    expect(await right(member, home)).toBe(200);
    expect(await failUntilLocked(member.email)).toBe(10);
    expect(await right(member, home)).toBe(200);
    // Another address of the same network, after an update of the browser.
    expect(await right(member, { ip: '198.18.9.9', headers: { 'user-agent': 'Known/2.0' } })).toBe(200);
    const elsewhere = [stranger, { ip: '198.51.100.20' }, { ...home, headers: { 'user-agent': 'Other/1.0' } }];
    for (const from of elsewhere) expect(await right(member, from)).toBe(429);
    const body = { currentPassword: member.password, newPassword: 'another horse' };
    const changed = await test.call('POST', '/api/v1/auth/change-password', { token: member.token, body });
    expect(changed.status).toBe(200);
  });

  it('has a limit for each known origin, exact for 100 concurrent guesses, and separate from the one for strangers', async () => {
    const member = await createMember(test, tenant);
    const [home, work] = [known('127.0.0.2'), { ip: '127.0.0.2', headers: { 'user-agent': 'Work/1.0' } }];
    for (const from of [home, work]) expect(await right(member, from)).toBe(200);
    const answers = await inParallel(100, (at) =>
      post(test, 'login', { email: member.email, password: `${wrong} ${at}` }, home),
    );
    expect((countStatuses(answers)[401] ?? 0) + (await failUntilLocked(member.email, home))).toBe(10);
    expect(await right(member, home)).toBe(429);
    expect([await right(member, work), await right(member, stranger)]).toEqual([200, 200]);
  });

  it('has no limit for an origin of a tenant switch', async () => {
    const member = await createMember(test, tenant);
    const body = { tenantId: tenant.tenantId };
    const from = known('198.18.5.1');
    const switched = await test.call('POST', '/api/v1/auth/switch-tenant', { ...from, token: member.token, body });
    expect(switched.status).toBe(200);
    expect(await failUntilLocked(member.email)).toBe(10);
    expect(await right(member, from)).toBe(429);
  });

  it('is removed by a reset link, for unknown and known origins', async () => {
    const member = await createMember(test, tenant);
    for (const from of [stranger, {}]) expect(await failUntilLocked(member.email, from)).toBe(10);
    const password = 'a fresh horse';
    const body = { token: await requestReset(test, member.email), password };
    expect((await post(test, 'reset-password', body)).status).toBe(200);
    for (const from of [stranger, {}]) expect(await right({ email: member.email, password }, from)).toBe(200);
  });
});

describe('guesses from one address', () => {
  /** Failures counted as login counts them, without a hundred password checks. */
  async function failLogins(times: number, ip: string): Promise<void> {
    for (let count = 0; count < times; count++) {
      await loginAttempt(test.service.services, { email: normaliseEmail(newEmail()) }, ip, TooManyFailures).admit();
    }
  }

  it.each([
    ['IPv4', '203.0.113.50', '203.0.113.50', '203.0.113.51'],
    ['IPv6 /64', '2001:db8:5:1::1', '2001:db8:5:1:ffff::2', '2001:db8:5:2::1'],
  ])('429: after 100 failures at any accounts, until the window ends: %s', async (_what, ip, same, another) => {
    const { email, password } = await createMember(test, tenant);
    await failLogins(99, ip);
    expect((await post(test, 'login', { email: newEmail(), password: wrong }, { ip })).status).toBe(401);
    const refused = await post(test, 'login', { email, password }, { ip: same });
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_FAILURES');
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(10 * 60);
    expect((await post(test, 'login', { email, password }, { ip: another })).status).toBe(200);
    expect((await post(test, 'login', { email, password })).status).toBe(200);
    clock.advance(10 * minute);
    expect((await post(test, 'login', { email, password }, { ip: same })).status).toBe(200);
  });

  it('is not counted on loopback, where a proxy may run', async () => {
    await failLogins(110, '127.0.0.1');
    expect((await post(test, 'login', { email: newEmail(), password: wrong })).status).toBe(401);
  });
});
