import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parseRetryAfter } from '#modules/connectors/calls/answers.rules';
import { readinessOf } from '#modules/connectors/calls/routing.rules';
import {
  isHealthy,
  hasRecentSuccess,
  messageOf,
  moveOf,
  nextHealth,
  pauseOf,
  unproven,
  type Health,
  type Outcome,
} from '#modules/connectors/health/health.rules';

const start = new Date('2026-03-01T12:00:00Z');
const fresh: Health = {
  ...unproven,
  last_success: null,
  auto_disable_threshold: 5,
  last_latency_ms: null,
};

const failure = fc.record({
  kind: fc.constantFrom('unreachable', 'credentials', 'answer', 'content'),
  httpStatus: fc.constantFrom(undefined, 401, 404, 500),
});
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({ kind: fc.constant('success' as const), latencyMs: fc.nat(1000) }),
  fc.record({ kind: fc.constant('reached' as const), latencyMs: fc.nat(1000) }),
  fc.record({ kind: fc.constant('rate_limited' as const), retryAfterSeconds: fc.integer({ min: 1, max: 600 }) }),
  failure,
) as fc.Arbitrary<Outcome>;
const step = fc.record({ outcome, afterMs: fc.nat(700_000) });
const history = fc.record({ threshold: fc.integer({ min: 1, max: 8 }), steps: fc.array(step, { maxLength: 40 }) });

type Step = { before: Health; after: Health; outcome: Outcome; at: Date };

function live({ threshold, steps }: { threshold: number; steps: readonly { outcome: Outcome; afterMs: number }[] }) {
  let time = start.getTime();
  let health: Health = { ...fresh, auto_disable_threshold: threshold };
  return steps.map(({ outcome: what, afterMs }): Step => {
    time += afterMs;
    const at = new Date(time);
    const before = health;
    health = nextHealth(before, what, at);
    return { before, after: health, outcome: what, at };
  });
}

/** Every step of any history: `check` expects something of it. */
const expectAlways = (check: (one: Step) => void) =>
  fc.assert(
    fc.property(history, (given) => {
      for (const one of live(given)) check(one);
    }),
  );

const isFailure = ({ kind }: Outcome) => kind !== 'success' && kind !== 'reached' && kind !== 'rate_limited';
const ms = (at: string | null) => (at === null ? -Infinity : Date.parse(at));

describe('any sequence of events', () => {
  it('is active with a cleared failure count after a success', () => {
    expectAlways(({ before, after, outcome: { kind } }) => {
      const { last_error } = before;
      if (kind === 'success') expect(after).toMatchObject({ ...unproven, status: 'active', last_error });
    });
  });

  it('counts only consecutive failures', () => {
    expectAlways(({ before, after, outcome: what }) => {
      const { consecutive_failures: count } = before;
      if (isFailure(what)) expect(after.consecutive_failures).toBe(count + 1);
      else expect([0, count]).toContain(after.consecutive_failures);
      if (what.kind === 'rate_limited')
        expect(after).toMatchObject({ status: before.status, consecutive_failures: count });
    });
  });

  it('is paused exactly at the threshold and above', () => {
    expectAlways(({ after }) => {
      expect(after.auto_disabled).toBe(after.consecutive_failures >= after.auto_disable_threshold);
      if (after.auto_disabled) expect(after.status).toBe('error');
    });
  });

  it('has the status of its last failure below the threshold', () => {
    expectAlways(({ after, outcome: what }) => {
      if (!isFailure(what) || after.auto_disabled) return;
      const statuses = { unreachable: 'offline', credentials: 'error' } as Record<string, string>;
      expect(after.status).toBe(statuses[what.kind] ?? 'degraded');
    });
  });

  it('is paused for 20 s times the ejections, at most 10 minutes; failures within a pause do not extend it', () => {
    expectAlways(({ before, after, outcome: what, at }) => {
      if (!isFailure(what) || !after.auto_disabled) return;
      if (before.auto_disabled && ms(before.retry_at) > at.getTime()) {
        expect(after).toMatchObject({ retry_at: before.retry_at, ejections: before.ejections });
        return;
      }
      expect(after.ejections).toBe(before.ejections + 1);
      expect(ms(after.retry_at) - at.getTime()).toBe(Math.min(after.ejections * 20_000, 600_000));
    });
  });

  it('is not called before its Retry-After', () => {
    expectAlways(({ before, after, outcome: what, at }) => {
      if (what.kind !== 'rate_limited') return;
      expect(ms(after.retry_at)).toBe(Math.max(ms(before.retry_at), at.getTime() + what.retryAfterSeconds * 1000));
      expect(readinessOf(after, { now: at, isOwnCredentials: false })).toBe('out');
    });
  });

  it('keeps refused credentials and invalid answers if it is only reachable', () => {
    expectAlways(({ before, after, outcome: what }) => {
      if (what.kind !== 'reached' || before.consecutive_failures === 0) return;
      const isCleared = before.error_details?.['kind'] === 'unreachable';
      expect(after.status).toBe(isCleared ? 'active' : before.status);
      expect(after.auto_disabled).toBe(isCleared ? false : before.auto_disabled);
    });
  });

  it('reports a transition exactly if the status or the pause has changed', () => {
    expectAlways(({ before, after }) => {
      const hasMoved = before.status !== after.status || before.auto_disabled !== after.auto_disabled;
      const move = moveOf(before, after);
      expect(move !== undefined).toBe(hasMoved);
      if (move === undefined) return;
      const severities = { active: 'info', degraded: 'warning', offline: 'error', error: 'error' } as const;
      expect(move.severity).toBe(severities[after.status as keyof typeof severities]);
    });
  });

  it('describes errors only in our own sentences', () => {
    expectAlways(({ after, outcome: what }) => {
      if (!isFailure(what)) return;
      expect(after.error_message).toBe(messageOf(what));
      expect(Object.keys(after.error_details!)).toEqual(['kind', 'httpStatus']);
    });
  });
});

describe('a success of a healthy connector', () => {
  const well = (last: string | null): Health => ({ ...fresh, status: 'active', last_success: last });

  it.each<[string, Health, boolean, boolean]>([
    ['the first one', fresh, false, false],
    ['after failures', { ...well('2026-03-01T12:00:00Z'), consecutive_failures: 1 }, false, false],
    ['after Retry-After', { ...well('2026-03-01T12:00:00Z'), retry_at: start.toISOString() }, false, false],
    ['the first one since it was written by a check', well(null), true, false],
    ['after ten seconds', well('2026-03-01T11:59:50Z'), true, false],
    ['within ten seconds', well('2026-03-01T11:59:50.001Z'), true, true],
  ])('%s', (_what, health, doesWell, isHeard) => {
    expect([isHealthy(health), hasRecentSuccess(health, start)]).toEqual([doesWell, isHeard]);
  });
});

describe('pauseOf', () => {
  it.each([
    [1, 20_000],
    [2, 40_000],
    [30, 600_000],
    [31, 600_000],
  ])('%i', (ejections, pause) => expect(pauseOf(ejections)).toBe(pause));
});

describe('retryAfterSeconds', () => {
  it.each<[string | null, number]>([
    [null, 5],
    ['', 5],
    ['30', 30],
    [' 30 ', 30],
    ['0', 1],
    ['99999999999', 600],
    ['-5', 5],
    ['soon', 5],
    ['2026-03-01T12:00:30Z', 5],
    ['Sun, 01 Mar 2026 12:00:30 GMT', 30],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 1],
    ['Mon, 01 Mar 2027 12:00:00 GMT', 600],
  ])('%j', (header, seconds) => expect(parseRetryAfter(header, start)).toBe(seconds));
});
