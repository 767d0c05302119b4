import { beforeEach, describe, expect, it } from 'vitest';

import { TooManyFailures } from '#modules/auth/auth.errors';
import { normaliseEmail } from '#modules/auth/accounts/email-address';
import {
  comparable,
  countStatuses,
  createClock,
  inParallel,
  minute,
  newEmail,
  post,
} from '#modules/auth/testing/steps';
import { loginAttempt } from '#modules/auth/login/throttle';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
const wrong = 'wrong horse';
let tenant: Tenant;

// A fresh one each time: where the clock moves, its administrator's token ends.
beforeEach(async () => {
  tenant = await createTenant(test);
});

async function failUntilLocked(email: string, ip = '127.0.0.1'): Promise<number> {
  for (let failures = 0; ; failures++) {
    const answer = await post(test, 'login', { email, password: wrong }, { ip });
    if (answer.status === 429) return failures;
    expectError(answer, 401, 'AUTHENTICATION_ERROR');
  }
}

describe('guesses at one account', () => {
  it('429: after 10 failures for the right password too, until the window ends', async () => {
    const { email, password } = await createMember(test, tenant);
    expect(await failUntilLocked(email)).toBe(10);
    const refused = await post(test, 'login', { email, password });
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_FAILURES');
    const waitSeconds = Number(refused.headers['retry-after']);
    expect(waitSeconds).toBeGreaterThan(0);
    expect(waitSeconds).toBeLessThanOrEqual(15 * 60);
    clock.advance((waitSeconds - 30) * 1000);
    expect((await post(test, 'login', { email, password })).status).toBe(429);
    clock.advance(30_000);
    expect((await post(test, 'login', { email, password })).status).toBe(200);
    expect(await failUntilLocked(email)).toBe(10);
  });

  it('429: the address in other letters is the same account', async () => {
    const { email, password } = await createMember(test, tenant);
    await failUntilLocked(email.toUpperCase());
    expect((await post(test, 'login', { email, password }, { ip: '198.51.100.20' })).status).toBe(429);
  });

  it('429: changing the own password is no way around', async () => {
    const member = await createMember(test, tenant);
    await failUntilLocked(member.email);
    const answer = await test.call('POST', '/api/v1/auth/change-password', {
      token: member.token,
      body: { currentPassword: member.password, newPassword: 'another horse' },
    });
    expectError(answer, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_FAILURES');
  });

  it.each([
    ['a known account', () => createMember(test, tenant).then((member) => member.email)],
    ['an unknown account', () => Promise.resolve(newEmail())],
  ])('of 100 at once not one more than 10 is evaluated: %s', async (_what, findEmail) => {
    const email = await findEmail();
    const answers = await inParallel(100, (at) => post(test, 'login', { email, password: `${wrong} ${at}` }));
    const counts = countStatuses(answers);
    expect(Object.keys(counts).every((status) => ['401', '429', '503'].includes(status))).toBe(true);
    for (const answer of answers) {
      if (answer.status !== 401) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    // Those the queue turned away were not evaluated and count for nothing.
    expect((counts[401] ?? 0) + (await failUntilLocked(email))).toBe(10);
  });

  it('locks unknown accounts with the same bytes', async () => {
    const [known, unknown] = [(await createMember(test, tenant)).email, newEmail()];
    const answers = [];
    for (const email of [known, unknown]) {
      expect(await failUntilLocked(email)).toBe(10);
      answers.push(await post(test, 'login', { email, password: wrong }));
    }
    expect(new Set(answers.map(comparable)).size).toBe(1);
  });

  it('leaves every other account alone', async () => {
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

  it('counts the right password with the wrong tenant', async () => {
    const { email, password } = await createMember(test, tenant);
    const tenantId = '01890000-0000-7000-8000-000000000000';
    for (let count = 0; count < 10; count++) {
      expect((await post(test, 'login', { email, password, tenantId })).status).toBe(401);
    }
    expect((await post(test, 'login', { email, password, tenantId })).status).toBe(429);
  });
});

describe('guesses from one address', () => {
  /** Failures drawn as login draws them, without a hundred password checks. */
  async function drawFailures(times: number, ip: string): Promise<void> {
    for (let count = 0; count < times; count++) {
      await loginAttempt(test.service.services, normaliseEmail(newEmail()), ip, TooManyFailures).admit();
    }
  }

  it.each([
    ['IPv4', '203.0.113.50', '203.0.113.50', '203.0.113.51'],
    ['IPv6 /64', '2001:db8:5:1::1', '2001:db8:5:1:ffff::2', '2001:db8:5:2::1'],
  ])('429: after 100 failures at any accounts, until the window ends: %s', async (_what, ip, same, another) => {
    const { email, password } = await createMember(test, tenant);
    await drawFailures(99, ip);
    expect((await post(test, 'login', { email: newEmail(), password: wrong }, { ip })).status).toBe(401);
    const refused = await post(test, 'login', { email, password }, { ip: same });
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_FAILURES');
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(10 * 60);
    expect((await post(test, 'login', { email, password }, { ip: another })).status).toBe(200);
    expect((await post(test, 'login', { email, password })).status).toBe(200);
    clock.advance(10 * minute);
    expect((await post(test, 'login', { email, password }, { ip: same })).status).toBe(200);
  });

  it('is not counted on loopback, where a proxy may stand', async () => {
    await drawFailures(110, '127.0.0.1');
    expect((await post(test, 'login', { email: newEmail(), password: wrong })).status).toBe(401);
  });
});
