import { beforeEach, describe, expect, it } from 'vitest';

import { createCounters, violationMemoryMs, type Allowance, type Counters } from '#core/platform/limits/counters';

let now = 0;
let counters: Counters;
const allowance: Allowance = { max: 3, windowMs: 60_000, blockMs: 120_000, maxViolations: 3 };
const from = '203.0.113.7';

beforeEach(() => {
  now = 1_000_000;
  counters = createCounters(() => now);
});

const take = (address = from) => counters.take(address, allowance);
const takes = (count: number) => Array.from({ length: count }, () => take());

describe('counters', () => {
  it('let exactly as many pass as are allowed, for any address', () => {
    expect(takes(3)).toEqual([undefined, undefined, undefined]);
    expect(take()).toEqual({ retryAfterMs: 120_000, isLastViolation: false });
    expect(take('203.0.113.8')).toBe(undefined);
  });

  it('begin again when the window ends, not before', () => {
    takes(3);
    expect(counters.used(from, 60_000)).toBe(3);
    now += 59_999;
    expect(counters.used(from, 60_000)).toBe(3);
    now += 1;
    expect(counters.used(from, 60_000)).toBe(0);
    expect(takes(3)).toEqual([undefined, undefined, undefined]);
    expect(take()).not.toBe(undefined);
  });

  it('refuse for the whole block and no longer, also with further requests', () => {
    takes(4);
    for (let second = 0; second < 119; second++) {
      now += 1000;
      expect(take()).toEqual({ retryAfterMs: 120_000 - 1000 * (second + 1), isLastViolation: false });
    }
    now += 1000;
    expect(takes(3)).toEqual([undefined, undefined, undefined]);
    expect(take()).toEqual({ retryAfterMs: 120_000, isLastViolation: false });
  });

  it('report the last violation, and begin to count again', () => {
    const straws = Array.from({ length: 7 }, () => {
      takes(3);
      const isLast = take()!.isLastViolation;
      now += 120_000;
      return isLast;
    });
    expect(straws).toEqual([false, false, true, false, false, true, false]);
  });

  it('forget violations a day after the last', () => {
    const violate = (afterMs: number) => {
      now += afterMs;
      takes(3);
      return take()!.isLastViolation;
    };
    expect([violate(0), violate(violationMemoryMs - 1), violate(violationMemoryMs)]).toEqual([false, false, false]);
    expect([violate(violationMemoryMs - 1), violate(violationMemoryMs - 1)]).toEqual([false, true]);
  });

  it('hold to a changed configuration at once', () => {
    takes(4);
    expect(counters.take(from, { ...allowance, blockMs: 60_000 })).toMatchObject({ retryAfterMs: 60_000 });
    takes(1);
    now += 60_000;
    expect(counters.take(from, { ...allowance, blockMs: 60_000 })).toBe(undefined);
  });

  it('keep so many addresses and let the oldest go', () => {
    counters = createCounters(() => now, 2);
    takes(4);
    take('203.0.113.8');
    expect(take()).not.toBe(undefined);
    take('203.0.113.9');
    expect(take()).toBe(undefined);
  });
});
