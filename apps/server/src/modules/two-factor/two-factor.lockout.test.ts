import { beforeAll, describe, expect, it } from 'vitest';

import { auditOf, countStatuses, createClock, day, inParallel, minute } from '#modules/auth/testing/steps';
import {
  appCode,
  enrolTotp,
  environment,
  freshCode,
  logInAgain,
  twoFactor,
  wrongCode,
  type Enrolled,
} from '#modules/two-factor/testing/steps';
import { createMember, createTenant, logIn, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now, environment });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

async function createEnrolled(): Promise<Person & Enrolled> {
  const person = await createMember(test, tenant);
  return { ...person, ...(await enrolTotp(test, clock, person)) };
}

const verify = (session: { token: string }, code: string) =>
  twoFactor(test, 'verify', session, { method: 'totp', code });
const give = (session: { token: string }, code: string) => twoFactor(test, 'use-backup', session, { code });
const disable = (session: { token: string }, code: string) =>
  twoFactor(test, 'DELETE disable', session, { method: 'totp', code });

function expectTooMany(answer: Answer, min: number, max: number): void {
  expectError(answer, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_GUESSES');
  const seconds = Number(answer.headers['retry-after']);
  expect(seconds).toBeGreaterThanOrEqual(min);
  expect(seconds).toBeLessThanOrEqual(max);
}

/** Number of guesses that were compared and found wrong. */
async function failuresOf({ userId }: Person): Promise<number> {
  const rows = await test.service.services.database.tenant(tenant.tenantId).all({
    kind: 'read',
    text: `select id from audit_logs where tenant_id = $1 and user_id = $2 and action = 'two_factor.failed'`,
    values: [tenant.tenantId, userId],
    prepare: false,
  });
  return rows.length;
}

describe('guesses at the codes of an app', () => {
  it('429: the sixth within five minutes, right or wrong, from any session', async () => {
    const person = await createEnrolled();
    const sessions = [await logInAgain(test, person), await logInAgain(test, person)];
    clock.advance(5 * minute);
    for (let count = 0; count < 5; count++)
      expectError(await verify(sessions[count % 2]!, wrongCode(person.secret, clock)), 401, 'AUTHENTICATION_ERROR');
    const right = appCode(person.secret, clock.now());
    for (const session of sessions) expectTooMany(await verify(session, right), 290, 300);
    expectTooMany(await disable(person, right), 290, 300);
    clock.advance(5 * minute);
    expect((await verify(sessions[0]!, appCode(person.secret, clock.now()))).status).toBe(200);
    expect(await failuresOf(person)).toBe(5);
  });

  it('have a limit separate from backup codes', async () => {
    const person = await createEnrolled();
    const session = await logInAgain(test, person);
    for (let count = 0; count < 5; count++) await verify(session, wrongCode(person.secret, clock));
    expect((await verify(session, freshCode(person.secret, clock))).status).toBe(429);
    for (let count = 0; count < 5; count++) expect((await give(session, '00000000')).status).toBe(401);
    expectTooMany(await give(session, person.backupCodes[0]!), 290, 300);
    clock.advance(5 * minute);
    expect((await verify(session, freshCode(person.secret, clock))).status).toBe(200);
    expect((await give(session, person.backupCodes[0]!)).status).toBe(200);
  });

  it('do not count if they are correct', async () => {
    const person = await createEnrolled();
    for (let count = 0; count < 40; count++) {
      clock.advance(30_000);
      const answer = await verify(await logInAgain(test, person), appCode(person.secret, clock.now()));
      expect({ count, status: answer.status }).toEqual({ count, status: 200 });
    }
  });

  it('do not count for another account', async () => {
    const [person, other] = [await createEnrolled(), await createEnrolled()];
    for (let count = 0; count < 6; count++) await verify(person, wrongCode(person.secret, clock));
    expect((await verify(other, freshCode(other.secret, clock))).status).toBe(200);
  });
});

describe('all guesses at an account', () => {
  it('429: the thirty-first within a day, over verify, disable and use-backup together', async () => {
    const strict = await createTenant(test);
    const first = await createMember(test, strict);
    const { secret, backupCodes } = await enrolTotp(test, clock, first);
    const begins = clock.now().getTime();
    for (let round = 0; round < 3; round++) {
      clock.advance(5 * minute);
      const session = await logInAgain(test, first);
      for (let count = 0; count < 5; count++) expect((await give(session, '00000000')).status).toBe(401);
      const lifted = await logInAgain(test, first);
      expect((await verify(lifted, freshCode(secret, clock))).status).toBe(200);
      for (let count = 0; count < 2; count++)
        expect((await disable(lifted, wrongCode(secret, clock))).status).toBe(401);
      for (let count = 0; count < 3; count++) expect((await verify(lifted, wrongCode(secret, clock))).status).toBe(401);
    }
    clock.advance(5 * minute);
    const session = await logInAgain(test, first);
    const passed = Math.floor((clock.now().getTime() - begins) / 1000);
    expectTooMany(await verify(session, freshCode(secret, clock)), 86_000 - passed, 86_400);
    expectTooMany(await give(session, backupCodes[0]!), 86_000 - passed, 86_400);
    clock.advance(day);
    const later = await logIn(test, { email: first.email, password: first.password });
    expect((await verify(later, freshCode(secret, clock))).status).toBe(200);
  });
});

describe('concurrent guesses', () => {
  it('are compared only within the limit: 100 wrong ones', async () => {
    const fresh = await createTenant(test);
    tenant = fresh;
    for (let round = 0; round < 5; round++) {
      const person = await createEnrolled();
      const session = await logInAgain(test, person);
      const code = wrongCode(person.secret, clock);
      const answers = await inParallel(100, () => verify(session, code));
      const { 401: wrong = 0, 429: refused = 0, ...others } = countStatuses(answers);
      expect(others).toEqual({});
      expect(wrong + refused).toBe(100);
      expect(wrong).toBeLessThanOrEqual(5);
      expect(wrong).toBeGreaterThan(0);
      expect(await failuresOf(person)).toBe(wrong);
      expect((await give(session, person.backupCodes[0]!)).status).toBe(200);
    }
  });

  it('are compared only within both limits, spread over all operations', async () => {
    const person = await createEnrolled();
    const wrong = wrongCode(person.secret, clock);
    const answers = await inParallel(90, (at) =>
      at % 3 === 0 ? verify(person, wrong) : at % 3 === 1 ? give(person, '00000000') : disable(person, wrong),
    );
    expect(countStatuses(answers)[401]).toBeLessThanOrEqual(10);
    expect(await auditOf(test, tenant.admin, 'two_factor.disabled')).toEqual([]);
  });
});
