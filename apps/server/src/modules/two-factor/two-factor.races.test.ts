import type pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';

import { countStatuses, createClock, inParallel } from '#modules/auth/testing/steps';
import {
  appCode,
  enrolTotp,
  environment,
  freshCode,
  logInAgain,
  ordinary,
  requireFactor,
  statusOfFactors,
  twoFactor,
} from '#modules/two-factor/testing/steps';
import { withClient } from '#test/support/database';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now, environment });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

/** Exactly one succeeds; the others are compared only within the limit of the challenge. */
function expectOneWinner(answers: readonly Answer[]): void {
  const { 200: won, 401: late = 0, 429: refused = 0 } = countStatuses(answers);
  expect({ won, all: won! + late + refused }).toEqual({ won: 1, all: answers.length });
  expect(late).toBeLessThanOrEqual(5);
  expect(late).toBeGreaterThan(0);
}

describe('fifty concurrent requests, in twenty rounds', () => {
  it('one code of an app performs the step-up of exactly one session', async () => {
    for (let round = 0; round < 20; round++) {
      const person = await createMember(test, tenant);
      const { secret } = await enrolTotp(test, clock, person);
      const sessions = await Promise.all([1, 2].map(() => logInAgain(test, person)));
      const code = freshCode(secret, clock);
      expectOneWinner(
        await inParallel(50, (at) => twoFactor(test, 'verify', sessions[at % 2]!, { method: 'totp', code })),
      );
      const lifted = await Promise.all(sessions.map(async (session) => (await ordinary(test, session)).status));
      expect(lifted.toSorted((one, other) => one - other)).toEqual([200, 403]);
    }
  }, 180_000);

  it('one backup code performs the step-up of exactly one session, and one code is consumed', async () => {
    for (let round = 0; round < 20; round++) {
      const person = await createMember(test, tenant);
      const { backupCodes } = await enrolTotp(test, clock, person);
      const sessions = await Promise.all([1, 2].map(() => logInAgain(test, person)));
      const body = { code: backupCodes[round % 10] };
      expectOneWinner(await inParallel(50, (at) => twoFactor(test, 'use-backup', sessions[at % 2]!, body)));
      const lifted = await Promise.all(sessions.map(async (session) => (await ordinary(test, session)).status));
      expect(lifted.toSorted((one, other) => one - other)).toEqual([200, 403]);
      expect((await statusOfFactors(test, person)).backup_codes_remaining).toBe(9);
    }
  }, 180_000);

  it('the first code completes an enrolment exactly once', async () => {
    for (let round = 0; round < 20; round++) {
      const person = await createMember(test, tenant);
      const { secret } = (await twoFactor(test, 'enable/totp', person)).body.data;
      const code = appCode(secret, clock.now());
      const answers = await inParallel(5, () => twoFactor(test, 'verify', person, { method: 'totp', code }));
      expect(countStatuses(answers)).toEqual({ 200: 1, 401: 4 });
      expect((await statusOfFactors(test, person)).backup_codes_remaining).toBe(10);
    }
  });

  it('one backup code disables a method exactly once', async () => {
    for (let round = 0; round < 20; round++) {
      const person = await createMember(test, tenant);
      const { backupCodes } = await enrolTotp(test, clock, person);
      const body = { method: 'totp', code: backupCodes[0] };
      const { 204: done, 422: late = 0 } = countStatuses(
        await inParallel(5, () => twoFactor(test, 'disable', person, body)),
      );
      expect([done, late]).toEqual([1, 4]);
    }
  });
});

/** Number of connections that wait, directly or indirectly, for the given one. */
const countWaiting = async (client: pg.Client): Promise<number> => {
  const { rows } = await client.query<{ waiting: string }>(
    `with waiting as (select distinct pid from pg_locks where not granted),
          first as (select pid from waiting where pg_backend_pid() = any (pg_blocking_pids(pid)))
     select count(*) as waiting from waiting
     where pid in (select pid from first) or exists (select from first where first.pid = any (pg_blocking_pids(waiting.pid)))`,
  );
  return Number(rows[0]!.waiting);
};

describe('an enrolment that another session completes concurrently', () => {
  it('refuses sessions without a factor, although they were admitted before', async () => {
    for (const operation of ['backup-codes', 'enable/totp', 'verify']) {
      const person = await createMember(test, tenant);
      const thief = await logInAgain(test, person);
      const { secret } = (await twoFactor(test, 'enable/totp', person)).body.data;
      const body = { method: 'totp', code: appCode(secret, clock.now()) };
      const [completed, stolen] = await withClient(test.connection, async (client) => {
        await client.query('begin');
        await client.query('select id from accounts where email = $1 for update', [person.email]);
        const waiting = (count: number) =>
          expect.poll(() => countWaiting(client), { interval: 5, timeout: 1500 }).toBe(count);
        const completing = twoFactor(test, 'verify', person, body);
        await waiting(1);
        const stealing = twoFactor(test, operation, thief, operation === 'verify' ? body : undefined);
        await waiting(2);
        await client.query('commit');
        return [await completing, await stealing];
      });
      expect({ operation, status: completed.status }).toEqual({ operation, status: 200 });
      expect({ operation, status: stolen.status }).toEqual({ operation, status: 401 });
      const { enabled_methods: methods } = await statusOfFactors(test, person);
      expect(methods.map(({ method }) => method)).toEqual(['totp']);
      expect((await ordinary(test, thief)).status).toBe(401);
    }
  });
});

it('a tenant that starts to require a second factor keeps the last one, although the request was admitted before', async () => {
  const strict = await createTenant(test);
  const person = await createMember(test, strict);
  const { secret } = await enrolTotp(test, clock, person);
  const code = freshCode(secret, clock);
  const refused = await withClient(test.connection, async (client) => {
    await client.query('begin');
    await client.query('select id from accounts where email = $1 for update', [person.email]);
    const disabling = twoFactor(test, 'disable', person, { method: 'totp', code });
    await expect.poll(() => countWaiting(client), { interval: 5, timeout: 1500 }).toBe(1);
    await requireFactor(test, strict.tenantId, clock.now());
    await client.query('commit');
    return disabling;
  });
  expectError(refused, 409, 'CONFLICT', 'LAST_TWO_FACTOR');
  expect((await statusOfFactors(test, person)).enabled_methods).toHaveLength(1);
});
