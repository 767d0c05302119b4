import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { createBatchWriter } from '#core/data/background/batch-writer';

const refused = Object.assign(new Error('value too long'), { code: '22001' });
const alreadyWritten = Object.assign(new Error('duplicate key'), { code: '23505', constraint: 'rows_pkey' });

/** A writer of numbers in batches of three; time stands still unless moved. */
function setUp(overrides: Partial<Parameters<typeof createBatchWriter<number[]>>[0]> = {}) {
  const state = {
    waiting: [] as number[],
    written: [] as number[][],
    failures: [] as unknown[],
    refused: [] as number[][],
    error: undefined as Error | ((batch: number[]) => Error | undefined) | undefined,
  };
  let hold: Promise<void> | undefined;
  const writer = createBatchWriter<number[]>({
    delayMs: 100,
    take: () => (state.waiting.length === 0 ? undefined : state.waiting.splice(0, 3)),
    write: async (batch) => {
      await hold;
      const error = typeof state.error === 'function' ? state.error(batch) : state.error;
      if (error !== undefined) throw error;
      state.written.push(batch);
    },
    split: (batch) => (batch.length === 1 ? [] : [batch.slice(0, 1), batch.slice(1)]),
    onRefused: (_error, batch) => void state.refused.push(batch),
    onFailing: (error) => void state.failures.push(error),
    ...overrides,
  });
  const add = (...numbers: number[]) => {
    state.waiting.push(...numbers);
    writer.wake();
  };
  const pause = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    hold = promise;
    return () => {
      hold = undefined;
      resolve();
    };
  };
  return { state, writer, add, pause };
}

describe('createBatchWriter', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('writes what gathers within the delay, counted from the first', async () => {
    const { state, add } = setUp();
    add(1);
    await vi.advanceTimersByTimeAsync(99);
    add(2);
    expect(state.written).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(state.written).toEqual([[1, 2]]);
  });

  it('writes sooner where that is asked for', async () => {
    const { state, writer } = setUp();
    state.waiting.push(1);
    writer.wake();
    writer.wake(10);
    writer.wake(50);
    await vi.advanceTimersByTimeAsync(10);
    expect(state.written).toEqual([[1]]);
  });

  it('runs one write at a time, and one flush serves all callers who wait', async () => {
    const { state, writer, add, pause } = setUp();
    const resume = pause();
    add(1);
    const first = writer.flush();
    await vi.advanceTimersByTimeAsync(0);
    add(2);
    expect(writer.flush()).toBe(writer.flush());
    await vi.advanceTimersByTimeAsync(500);
    expect(state.written).toEqual([]);
    resume();
    await first;
    await vi.advanceTimersByTimeAsync(0);
    expect(state.written).toEqual([[1], [2]]);
  });

  it('takes all batches in one flush, or as many as it may', async () => {
    const { state, writer } = setUp();
    state.waiting.push(1, 2, 3, 4);
    await writer.flush();
    expect(state.written).toEqual([[1, 2, 3], [4]]);
    const limited = setUp({ maxPerFlush: 1 });
    limited.state.waiting.push(1, 2, 3, 4);
    await limited.writer.flush();
    expect(limited.state.written).toEqual([[1, 2, 3]]);
  });

  it('tries the same batch again after a pause, before later ones, and reports a series of failures once', async () => {
    const { state, writer, add } = setUp();
    state.error = new Error('Connection terminated');
    add(1, 2, 3, 4);
    await vi.advanceTimersByTimeAsync(100 + 2 * 5000);
    expect(state.failures).toHaveLength(1);
    expect([writer.isFailing(), writer.begun(), state.waiting]).toEqual([true, [[1, 2, 3]], [4]]);
    state.error = undefined;
    add(5);
    await vi.advanceTimersByTimeAsync(4999);
    expect(state.written).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(state.written).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    expect(writer.isFailing()).toBe(false);
  });

  it('writes independent batches although another one fails', async () => {
    const { state, writer } = setUp({ isIndependent: true });
    state.error = (batch) => (batch.includes(1) ? new Error('lock timeout') : undefined);
    state.waiting.push(1, 2, 3, 4);
    await writer.flush();
    expect(state.written).toEqual([[4]]);
    state.error = undefined;
    await vi.advanceTimersByTimeAsync(5000);
    expect(state.written).toEqual([[4], [1, 2, 3]]);
  });

  it('gives up only the row that PostgreSQL refuses', async () => {
    const { state, writer } = setUp();
    state.error = (batch) => (batch.includes(2) ? refused : undefined);
    state.waiting.push(1, 2, 3);
    await writer.flush();
    expect([state.written, state.refused]).toEqual([[[1], [3]], [[2]]]);
    expect(state.failures).toEqual([]);
  });

  it('takes a batch as written that is there already', async () => {
    const { state, writer } = setUp();
    state.error = alreadyWritten;
    state.waiting.push(1);
    await writer.flush();
    expect([state.refused, writer.begun(), writer.isFailing()]).toEqual([[], [], false]);
  });

  it('says when nothing was left behind', async () => {
    const onFlushed = vi.fn<() => void>();
    const { state, writer } = setUp({ onFlushed });
    state.error = new Error('Connection terminated');
    state.waiting.push(1);
    await writer.flush();
    expect(onFlushed).not.toHaveBeenCalled();
    state.error = undefined;
    await writer.flush();
    expect(onFlushed).toHaveBeenCalledOnce();
  });

  it('close writes what waits, also while another write runs, and nothing afterwards', async () => {
    const { state, writer, add, pause } = setUp();
    const resume = pause();
    add(1);
    await vi.advanceTimersByTimeAsync(100);
    add(2);
    const closed = writer.close();
    resume();
    await closed;
    await writer.close();
    add(3);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(state.written).toEqual([[1], [2]]);
  });

  it('close reports a failure and does not try for ever', async () => {
    const { state, writer, add } = setUp();
    state.error = new Error('Connection terminated');
    add(1);
    await writer.close();
    state.error = undefined;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([state.failures.length, state.written]).toEqual([1, []]);
  });
});
