import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { createQueueingDelays } from '#core/base/concurrency/queueing-delay';

const options = { targetMs: 200, intervalMs: 300, spared: 10 };

/** The faked clock starts at 0. */
let now = 0;

function advance(ms: number): void {
  now += ms;
  vi.advanceTimersByTime(ms);
}

beforeEach(() => {
  now = 0;
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Whether the next request of the tenant is refused, after the given wait and with so many others waiting. */
function isLate(delays: ReturnType<typeof createQueueingDelays>, waitedMs: number, left = 10, tenant = 'a'): boolean {
  return delays.isLate(tenant, now - waitedMs, left);
}

describe('createQueueingDelays', () => {
  it('refuses requests only after they waited too long for the whole interval', () => {
    const delays = createQueueingDelays(options);
    expect(isLate(delays, 200)).toBe(false);
    advance(299);
    expect([isLate(delays, 1000), delays.isShedding('a', 10)]).toEqual([false, false]);
    advance(1);
    expect([isLate(delays, 1000), delays.isShedding('a', 10)]).toEqual([true, true]);
  });

  it('starts a new interval after one request that waited briefly', () => {
    const delays = createQueueingDelays(options);
    isLate(delays, 200);
    advance(300);
    expect(isLate(delays, 199)).toBe(false);
    expect([isLate(delays, 1000), delays.isShedding('a', 10)]).toEqual([false, false]);
  });

  it('starts a new interval when no request of the tenant waits', () => {
    const delays = createQueueingDelays(options);
    isLate(delays, 200);
    advance(300);
    delays.end('a');
    expect([delays.isShedding('a', 10), isLate(delays, 1000)]).toEqual([false, false]);
  });

  it('refuses no request while few wait, and none of another tenant', () => {
    const delays = createQueueingDelays(options);
    isLate(delays, 200);
    advance(300);
    expect([isLate(delays, 1000, 9), delays.isShedding('a', 9)]).toEqual([false, false]);
    expect([isLate(delays, 1000, 10, 'b'), delays.isShedding('b', 10)]).toEqual([false, false]);
  });

  it('refuses no request without options', () => {
    const delays = createQueueingDelays(undefined);
    expect([isLate(delays, 1e9, 1e6), delays.isShedding('a', 1e6)]).toEqual([false, false]);
  });
});
