import { beforeEach, describe, expect, it } from 'vitest';

import { createLoadShedder, fewRequests, measureLoad, type LoadShedder } from '#core/platform/limits/load-shedder';

let now = 0;
let shedder: LoadShedder;
const limits = { enabled: true, cpuPercent: 80, durationMs: 30_000 };

beforeEach(() => {
  now = 1_000_000;
  shedder = createLoadShedder(() => now, limits);
});

const check = (cpuPercent: number, delayMs = 0, busiest = 0) => {
  shedder.check({ cpuPercent, delayMs, busiest });
  return shedder.level();
};

describe('the load shedder', () => {
  it('sheds above the threshold, not at it', () => {
    expect([check(0), check(80), check(80.1)]).toEqual(['none', 'none', 'anonymous']);
  });

  it('sheds more while the load stays too high, and stops after its duration', () => {
    expect(check(90)).toBe('anonymous');
    now += 10_000;
    expect(check(90)).toBe('excess');
    now += 29_999;
    expect(shedder.level()).toBe('excess');
    now += 1;
    expect(shedder.level()).toBe('none');
    expect(check(90)).toBe('anonymous');
  });

  it('sheds when the event loop lags under many requests, not when the machine is slow', () => {
    expect(check(0, 251, fewRequests)).toBe('none');
    expect(check(0, 250, fewRequests + 1)).toBe('none');
    expect(check(0, 251, fewRequests + 1)).toBe('anonymous');
  });

  it('sheds nothing as soon as it is switched off', () => {
    check(90);
    shedder.configure({ ...limits, enabled: false });
    expect(shedder.level()).toBe('none');
    expect(check(90)).toBe('none');
    shedder.configure(limits);
    now += 30_000;
    expect(shedder.level()).toBe('none');
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
