import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { createHealth, type Probe, type Verdict } from '#core/platform/health/health';

type Outcome = Verdict | 'error' | 'throw' | 'never';

const good: Verdict = { status: 'healthy', message: 'reachable' };

/** A probe that does as told, in a time that stands still unless moved. */
function setUp(part: Partial<Probe> = {}) {
  const state = { outcome: good as Outcome, asked: 0, aborted: 0, let: undefined as (() => void) | undefined };
  const check = (signal: AbortSignal): Promise<Verdict> => {
    state.asked += 1;
    signal.addEventListener('abort', () => (state.aborted += 1));
    if (state.outcome === 'throw') throw new Error('secret host is down');
    if (state.outcome === 'error') return Promise.reject(new Error('secret host is down'));
    if (state.outcome === 'never') return new Promise((resolve) => (state.let = () => resolve(good)));
    return Promise.resolve(state.outcome);
  };
  const health = createHealth([{ name: 'part', check, ...part }], () => new Date('2026-01-02T03:04:05.678Z'));
  return { state, health };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

describe('createHealth', () => {
  it('asks once, however many want to know at once', async () => {
    const { state, health } = setUp();
    const answers = await Promise.all(Array.from({ length: 200 }, () => health.states()));
    expect(state.asked).toBe(1);
    expect(new Set(answers.map(([one]) => one)).size).toBe(1);
    expect(answers[0]).toEqual([{ name: 'part', ...good, responseTime: 0, timestamp: '2026-01-02T03:04:05.678Z' }]);
  });

  it.each([
    ['a good answer', good, undefined, 5000],
    ['a good answer of a probe that says for how long', good, 30_000, 30_000],
    ['a bad answer', { status: 'degraded', message: 'slow' } as const, undefined, 500],
    ['a bad answer of a probe that says for how long', 'error' as const, 30_000, 30_000],
    ['a failure', 'error' as const, undefined, 500],
  ])('keeps %s for its time', async (_what, outcome, freshMs, keptMs) => {
    const { state, health } = setUp(freshMs === undefined ? {} : { freshMs });
    state.outcome = outcome;
    await health.states();
    await vi.advanceTimersByTimeAsync(keptMs - 1);
    await health.states();
    expect(state.asked).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    await health.states();
    expect(state.asked).toBe(2);
  });

  it.each(['error', 'throw'] as const)('says in its own words that there was a failure: %s', async (outcome) => {
    const { state, health } = setUp();
    state.outcome = outcome;
    expect(await health.state('part')).toMatchObject({ status: 'unhealthy', message: 'not reachable' });
    const named = setUp({ failure: 'not writable' });
    named.state.outcome = outcome;
    expect(await named.health.state('part')).toMatchObject({ status: 'unhealthy', message: 'not writable' });
  });

  it('gives up after one second, once for all who wait', async () => {
    const { state, health } = setUp();
    state.outcome = 'never';
    const waiting = Promise.all([health.states(), health.state('part')]);
    await vi.advanceTimersByTimeAsync(1000);
    const [[one], other] = await waiting;
    expect(one).toMatchObject({ status: 'unhealthy', message: 'not reachable', responseTime: 1000 });
    expect(other).toBe(one);
    expect([state.asked, state.aborted]).toEqual([1, 1]);
  });

  it('does not ask again what still hangs, and sees it come back', async () => {
    const { state, health } = setUp();
    state.outcome = 'never';
    for (let round = 0; round < 20; round++) {
      const waiting = health.states();
      await vi.advanceTimersByTimeAsync(2000);
      expect((await waiting)[0]!.status).toBe('unhealthy');
    }
    expect(state.asked).toBe(1);
    const waiting = health.states();
    state.let!();
    expect((await waiting)[0]!.status).toBe('healthy');
    expect(state.asked).toBe(1);
  });

  it('looks at all parts at the same time', async () => {
    const never = () => new Promise<Verdict>(() => undefined);
    const health = createHealth(
      ['one', 'two', 'three'].map((name) => ({ name, check: never })),
      () => new Date(),
    );
    const waiting = health.states();
    await vi.advanceTimersByTimeAsync(1000);
    expect((await waiting).map(({ name }) => name)).toEqual(['one', 'two', 'three']);
  });

  it('leaves no timer behind', async () => {
    const { health } = setUp();
    await health.states();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('what is known', () => {
  it('runs no probe, and forgets after a minute', async () => {
    const { state, health } = setUp();
    expect(health.known()).toEqual([]);
    await health.states();
    await vi.advanceTimersByTimeAsync(59_999);
    expect(health.known()).toMatchObject([{ name: 'part', status: 'healthy' }]);
    await vi.advanceTimersByTimeAsync(1);
    expect(health.known()).toEqual([]);
    expect(state.asked).toBe(1);
  });

  it('is always there of what the process knows by itself', async () => {
    let verdict: Verdict = good;
    const health = createHealth([{ name: 'part', isInstant: true, check: () => verdict }], () => new Date());
    expect(health.known()).toMatchObject([good]);
    verdict = { status: 'degraded', message: 'lines wait' };
    expect(health.known()).toMatchObject([verdict]);
    expect(await health.states()).toMatchObject([verdict]);
  });
});
