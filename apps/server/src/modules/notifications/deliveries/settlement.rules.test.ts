import { describe, expect, it } from 'vitest';

import { afterAttempt } from '#modules/notifications/deliveries/settlement.rules';
import type { DeliveryRow } from '#modules/notifications/notifications.tables';

const now = new Date('2026-11-22T08:00:00.000Z');
const minute = 60_000;
const taken = (attempts: number, createdAt = now) =>
  ({ attempts, interruptions: 0, created_at: createdAt.toISOString() }) as DeliveryRow;
const inMs = (ms: number) => new Date(now.getTime() + ms).toISOString();

describe('afterAttempt', () => {
  it.each([
    [1, 0, minute],
    [2, 0, 5 * minute],
    [1, 10 * minute, 10 * minute],
  ])('attempt %i that failed, %i ms asked for: again in %i ms', (attempts, retryAfterMs, ms) => {
    const end = { kind: 'failed', retryAfterMs, error: undefined } as const;
    expect(afterAttempt(taken(attempts), end, now)).toMatchObject({ status: 'queued', attempts, dueAt: inMs(ms) });
  });

  it('does not count an attempt if no provider was called', () => {
    for (const [retryAfterMs, ms] of [
      [5000, minute / 2],
      [2 * minute, 2 * minute],
    ] as const) {
      const settled = afterAttempt(taken(1), { kind: 'not_asked', retryAfterMs }, now);
      expect(settled).toMatchObject({ status: 'queued', reason: 'retry', attempts: 0, dueAt: inMs(ms) });
    }
  });

  it('does not wait forever for a provider', () => {
    const old = taken(1, new Date(now.getTime() - 73 * 60 * minute));
    const settled = afterAttempt(old, { kind: 'not_asked', retryAfterMs: 5000 }, now);
    expect(settled).toMatchObject({ status: 'failed', reason: 'attempts_used_up' });
  });
});
