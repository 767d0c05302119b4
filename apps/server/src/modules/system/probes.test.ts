import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Services } from '#core/services';
import { createDatabaseProbe } from '#modules/system/probes';

type Outcome = 'answer' | 'error' | 'never';

/** A probe on a database that does as told, at a time that stands still unless moved. */
function setUp() {
  const state = { outcome: 'answer' as Outcome, asked: 0, now: Date.parse('2026-01-02T03:04:05.678Z') };
  const all = () => {
    state.asked += 1;
    if (state.outcome === 'never') return new Promise(() => undefined);
    return state.outcome === 'answer' ? Promise.resolve([]) : Promise.reject(new Error('secret host is down'));
  };
  const database = { platform: () => ({ all }) } as unknown as Services['database'];
  return { state, probe: createDatabaseProbe({ database, now: () => new Date(state.now) }) };
}

describe('createDatabaseProbe', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('asks once, however many want to know at once', async () => {
    const { state, probe } = setUp();
    const answers = await Promise.all(Array.from({ length: 100 }, probe));
    expect(state.asked).toBe(1);
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toEqual({
      status: 'healthy',
      message: 'reachable',
      responseTime: 0,
      timestamp: '2026-01-02T03:04:05.678Z',
    });
  });

  it('keeps a good answer for 5 seconds', async () => {
    const { state, probe } = setUp();
    await probe();
    state.now += 4999;
    await probe();
    expect(state.asked).toBe(1);
    state.now += 1;
    await probe();
    expect(state.asked).toBe(2);
  });

  it('keeps no bad answer, so that a recovery shows at once', async () => {
    const { state, probe } = setUp();
    state.outcome = 'error';
    expect(await probe()).toMatchObject({ status: 'unhealthy', message: 'not reachable' });
    state.outcome = 'answer';
    expect(await probe()).toMatchObject({ status: 'healthy' });
    expect(state.asked).toBe(2);
  });

  it('gives up after one second, once for all who wait', async () => {
    const { state, probe } = setUp();
    state.outcome = 'never';
    const waiting = Promise.all([probe(), probe()]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await waiting).toMatchObject([
      { status: 'unhealthy', responseTime: 1000 },
      { status: 'unhealthy', responseTime: 1000 },
    ]);
    expect(state.asked).toBe(1);
  });

  it('leaves no timer behind', async () => {
    const { probe } = setUp();
    await probe();
    expect(vi.getTimerCount()).toBe(0);
  });
});
