import { beforeEach, describe, expect, it } from 'vitest';

import { createBreaker, fewRequests, measureLoad, type Breaker } from '#core/platform/limits/breaker';

let now = 0;
let breaker: Breaker;
const limits = { enabled: true, cpuPercent: 80, durationMs: 30_000 };

beforeEach(() => {
  now = 1_000_000;
  breaker = createBreaker(() => now, limits);
});

const check = (cpuPercent: number, delayMs = 0, busiest = 0) => {
  breaker.check({ cpuPercent, delayMs, busiest });
  return breaker.level();
};

describe('the circuit breaker', () => {
  it('opens above the threshold, not at it', () => {
    expect([check(0), check(80), check(80.1)]).toEqual([0, 0, 1]);
  });

  it('sheds more while it stays too much, and closes after its time', () => {
    expect(check(90)).toBe(1);
    now += 10_000;
    expect(check(90)).toBe(2);
    now += 29_999;
    expect(breaker.level()).toBe(2);
    now += 1;
    expect(breaker.level()).toBe(0);
    expect(check(90)).toBe(1);
  });

  it('opens when the event loop lags under many requests, and not when it is the machine that is slow', () => {
    expect(check(0, 251, fewRequests)).toBe(0);
    expect(check(0, 250, fewRequests + 1)).toBe(0);
    expect(check(0, 251, fewRequests + 1)).toBe(1);
  });

  it('is closed as soon as it is switched off', () => {
    check(90);
    breaker.configure({ ...limits, enabled: false });
    expect(breaker.level()).toBe(0);
    expect(check(90)).toBe(0);
    breaker.configure(limits);
    now += 30_000;
    expect(breaker.level()).toBe(0);
  });
});

it('measures a share of the cores, and only what came since it was asked last', () => {
  const source = measureLoad();
  try {
    const begun = process.cpuUsage();
    const spent = () => process.cpuUsage(begun).user;
    while (spent() < 100_000);
    const busy = source.cpuPercent();
    expect(busy).toBeGreaterThan(0);
    expect(source.delayMs()).toBeGreaterThanOrEqual(0);
  } finally {
    source.close();
  }
});
