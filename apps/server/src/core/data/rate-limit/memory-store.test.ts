import { beforeEach, describe, expect, it } from 'vitest';

import { createMemoryStore, type MemoryStore } from '#core/data/rate-limit/memory-store';
import { violationMemoryMs, type BlockingLimit } from '#core/data/rate-limit/rate-limiter';

let now = 0;
let store: MemoryStore;
const limit: BlockingLimit = { max: 3, windowMs: 60_000, blockMs: 120_000, maxViolations: 3 };
const from = '203.0.113.7';

beforeEach(() => {
  now = 1_000_000;
  store = createMemoryStore(() => now);
});

const take = (address = from) => store.take(address, limit);
const takes = (count: number) => Array.from({ length: count }, () => take());

describe('the memory store', () => {
  it('lets exactly as many pass as are allowed, for any key', () => {
    expect(takes(3)).toEqual([undefined, undefined, undefined]);
    expect(take()).toEqual({ retryAfterMs: 120_000, isLastViolation: false });
    expect(take('203.0.113.8')).toBe(undefined);
  });

  it('begins again when the window ends, not before', () => {
    takes(3);
    expect(store.count(from, 60_000)).toBe(3);
    now += 59_999;
    expect(store.count(from, 60_000)).toBe(3);
    now += 1;
    expect(store.count(from, 60_000)).toBe(0);
    expect(takes(3)).toEqual([undefined, undefined, undefined]);
    expect(take()).not.toBe(undefined);
  });

  it('refuses for the whole block and no longer, also with further requests', () => {
    takes(4);
    for (let second = 0; second < 119; second++) {
      now += 1000;
      expect(take()).toEqual({ retryAfterMs: 120_000 - 1000 * (second + 1), isLastViolation: false });
    }
    now += 1000;
    expect(takes(3)).toEqual([undefined, undefined, undefined]);
    expect(take()).toEqual({ retryAfterMs: 120_000, isLastViolation: false });
  });

  it('reports the last violation, and begins to count again', () => {
    const straws = Array.from({ length: 7 }, () => {
      takes(3);
      const isLast = take()!.isLastViolation;
      now += 120_000;
      return isLast;
    });
    expect(straws).toEqual([false, false, true, false, false, true, false]);
  });

  it('forgets violations a day after the last', () => {
    const violate = (afterMs: number) => {
      now += afterMs;
      takes(3);
      return take()!.isLastViolation;
    };
    expect([violate(0), violate(violationMemoryMs - 1), violate(violationMemoryMs)]).toEqual([false, false, false]);
    expect([violate(violationMemoryMs - 1), violate(violationMemoryMs - 1)]).toEqual([false, true]);
  });

  it('applies a changed configuration at once', () => {
    takes(4);
    expect(store.take(from, { ...limit, blockMs: 60_000 })).toMatchObject({ retryAfterMs: 60_000 });
    takes(1);
    now += 60_000;
    expect(store.take(from, { ...limit, blockMs: 60_000 })).toBe(undefined);
  });

  it('keeps so many keys, and lets the oldest window go', () => {
    store = createMemoryStore(() => now, 2);
    takes(4);
    take('203.0.113.8');
    expect(take()).not.toBe(undefined);
    take('203.0.113.9');
    expect(take()).toBe(undefined);
    now += 60_000;
    take('203.0.113.9');
    take('203.0.113.10');
    expect(store.count('203.0.113.9', 60_000)).toBe(1);
  });
});
