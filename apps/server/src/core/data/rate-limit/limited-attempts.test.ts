import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { defineError } from '#core/base/errors/app-error';
import { createLimitedAttempt, limitKeyOf } from '#core/data/rate-limit/limited-attempts';
import { takeAttempt } from '#core/data/rate-limit/postgres-store.queries';
import { untilBlocked, withClient } from '#test/support/database';
import { useService } from '#test/support/harness';

const test = useService();
const Spent = defineError('RATE_LIMIT_EXCEEDED', 'Too many of a test.');

const admit = (...keys: string[]) =>
  createLimitedAttempt(
    test.service.services,
    keys.map((key) => ({ key, max: 20, windowMs: 60_000 })),
    Spent,
  ).admit();

const race = (count: number, work: () => Promise<void>) =>
  Promise.allSettled(Array.from({ length: count }, work)).then((ends) =>
    ends.filter(({ status }) => status === 'fulfilled'),
  );

/** Attempts under way in the database, and those that wait for a connection. */
function underWay(): number {
  const pools = test.service.services.database.pools();
  const { flights, waiting } = pools.find(({ role, pool }) => role === 'credential' && pool === 'interactive')!;
  return flights + waiting;
}

/** All work that has begun has sent what it can. */
const sent = () => new Promise((resolve) => setImmediate(resolve));

const cancelBlocked = `
  select pg_cancel_backend(pid) from pg_locks join pg_stat_activity using (pid)
   where datname = current_database() and locktype = 'transactionid' and not granted`;

it('a key for an address does not contain it, and is equal for all spellings', () => {
  const keyOf = (text: string) => limitKeyOf(test.service.services, text);
  expect(keyOf('Ann@Example.com')).toBe(keyOf('ann@example.com'));
  expect(keyOf('\uFF21nn@example.com')).toBe(keyOf('ann@example.com'));
  expect(keyOf('bob@example.com')).not.toBe(keyOf('ann@example.com'));
  expect(keyOf('ann@example.com')).not.toContain('ann');
});

describe('attempts under the same limit', () => {
  it('take one connection, and others do not wait for them', async () => {
    const [own, shared, other] = [newId(), newId(), newId()];
    const racing = race(50, () => admit(own, shared));
    await sent();
    expect(underWay()).toBe(1);
    const elsewhere = admit(other);
    await sent();
    expect(underWay()).toBe(2);
    await elsewhere;
    expect(await racing).toHaveLength(20);
    expect(underWay()).toBe(0);
  });

  it('are admitted exactly as often as the limit allows, though they share but one of theirs', async () => {
    const shared = newId();
    expect(await race(50, () => admit(newId(), shared))).toHaveLength(20);
  });

  it('fail with the one before them that could not be counted, and not for ever', async () => {
    const key = newId();
    const at = new Date(0).toISOString();
    await test.service.services.database.credential().transaction(async (tx) => {
      await tx.all(takeAttempt({ key, now: at, windowEndsAt: at }));
      const racing = race(50, () => admit(key));
      await untilBlocked(tx);
      await withClient(test.connection, (client) => client.query(cancelBlocked));
      expect(await racing).toHaveLength(0);
    });
    await admit(key);
  });
});
