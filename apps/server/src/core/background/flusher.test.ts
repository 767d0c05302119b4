import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { createFlusher } from '#core/background/flusher';

/** Something that writes what waits as long as it is told to succeed; the time stands still unless moved. */
function setUp(options: { retryMs?: number } = {}) {
  const state = { waiting: 0, written: [] as number[], errors: [] as unknown[], fails: false };
  let hold: Promise<void> | undefined;
  const flusher = createFlusher({
    delayMs: 100,
    ...options,
    write: async () => {
      const count = state.waiting;
      if (hold !== undefined) await hold;
      if (state.fails) throw new Error('the disk is full');
      state.waiting -= count;
      state.written.push(count);
    },
    onError: (error) => void state.errors.push(error),
  });
  const add = () => {
    state.waiting += 1;
    flusher.wake();
  };
  const pause = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    hold = promise;
    return () => {
      hold = undefined;
      resolve();
    };
  };
  return { state, flusher, add, pause };
}

describe('createFlusher', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  it('writes once for all that gathers within the delay, counted from the first', async () => {
    const { state, add } = setUp();
    add();
    await vi.advanceTimersByTimeAsync(99);
    add();
    expect(state.written).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(state.written).toEqual([2]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(state.written).toEqual([2]);
  });

  it('writes again for what came later', async () => {
    const { state, add } = setUp();
    add();
    await vi.advanceTimersByTimeAsync(100);
    add();
    await vi.advanceTimersByTimeAsync(100);
    expect(state.written).toEqual([1, 1]);
  });

  it('runs one write at a time; what comes meanwhile is written after it', async () => {
    const { state, add, pause } = setUp();
    const resume = pause();
    add();
    await vi.advanceTimersByTimeAsync(100);
    add();
    await vi.advanceTimersByTimeAsync(500);
    expect(state.written).toEqual([]);
    resume();
    await vi.advanceTimersByTimeAsync(0);
    expect(state.written).toEqual([1, 1]);
  });

  it('tries again 5 seconds after a failure, and no sooner because something else waits', async () => {
    const { state, add } = setUp();
    state.fails = true;
    add();
    await vi.advanceTimersByTimeAsync(100);
    expect(state.errors).toEqual([new Error('the disk is full')]);
    state.fails = false;
    add();
    await vi.advanceTimersByTimeAsync(4999);
    expect(state.written).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(state.written).toEqual([2]);
  });

  it('goes on trying as long as it fails', async () => {
    const { state, add } = setUp({ retryMs: 50 });
    state.fails = true;
    add();
    await vi.advanceTimersByTimeAsync(100 + 10 * 50);
    expect(state.errors).toHaveLength(11);
    state.fails = false;
    await vi.advanceTimersByTimeAsync(50);
    expect(state.written).toEqual([1]);
  });

  it('closing writes at once what waits, and leaves no timer behind', async () => {
    const { state, flusher, add } = setUp();
    add();
    await flusher.close();
    expect(state.written).toEqual([1]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('closing waits for a write that is under way, and writes what came meanwhile', async () => {
    const { state, flusher, add, pause } = setUp();
    const resume = pause();
    add();
    await vi.advanceTimersByTimeAsync(100);
    add();
    const closed = flusher.close();
    resume();
    await closed;
    expect(state.written).toEqual([1, 1]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('closing reports a failure, does not try for ever and leaves no timer behind', async () => {
    const { state, flusher, add } = setUp();
    state.fails = true;
    add();
    await flusher.close();
    expect(state.errors).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('closing with nothing to write is harmless, twice too', async () => {
    const { state, flusher } = setUp();
    await flusher.close();
    await flusher.close();
    expect(state.errors).toEqual([]);
  });
});
