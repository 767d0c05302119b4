import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { createPacedTurns } from '#core/base/concurrency/paced-turns';

const flow = (tenant: string) => ({ tenant, principal: 'p' });
const limits = { max: 4, maxOf: () => 3, timeoutMs: Infinity };

describe('work of the event loop', () => {
  let clock = 0;
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Runs calls of 10 ms, and lists those that have ended and those that were refused. */
  const start = () => {
    const run = createPacedTurns(limits, () => clock);
    const done: string[] = [];
    const push = (tenant: string) =>
      run(flow(tenant), (refusal) => {
        if (refusal === undefined) clock += 10;
        done.push(refusal === undefined ? tenant : `${tenant}: ${refusal}`);
      });
    return { push, done };
  };

  it('pauses for three times as long as each call took', () => {
    const { push, done } = start();
    for (const tenant of ['a', 'a', 'a']) push(tenant);
    expect(done).toEqual(['a']);
    vi.advanceTimersByTime(29);
    expect(done).toEqual(['a']);
    vi.advanceTimersByTime(1);
    expect(done).toEqual(['a', 'a']);
    vi.advanceTimersByTime(60);
    expect(done).toEqual(['a', 'a', 'a']);
    push('a');
    expect(done).toHaveLength(4);
  });

  it('is shared equally by tenants, and refused where too much of it waits', () => {
    const { push, done } = start();
    for (let count = 0; count < 5; count++) push('flood');
    expect(done).toEqual(['flood', 'flood: full']);
    push('quiet');
    vi.advanceTimersByTime(60);
    expect(done.slice(2)).toContain('quiet');
    vi.advanceTimersByTime(1000);
    expect(done.slice(2)).toEqual(expect.arrayContaining(['flood', 'flood', 'flood', 'quiet']));
  });
});
