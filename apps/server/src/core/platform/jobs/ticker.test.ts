import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Dispatcher } from '#core/platform/jobs/dispatcher';
import { startTicker } from '#core/platform/jobs/ticker';
import { useService } from '#test/support/harness';

const test = useService();

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

function begin(random: () => number = () => 0.5) {
  const isDrivenOutside = vi.fn<Dispatcher['isDrivenOutside']>(() => Promise.resolve(false));
  const dispatch = vi.fn<Dispatcher['dispatch']>(() => Promise.resolve({} as never));
  const { log } = test.service.services;
  const ticker = startTicker({ dispatcher: { dispatch, isDrivenOutside }, log, intervalMs: 1000, random });
  return { ticker, dispatch, isDrivenOutside };
}

describe('startTicker', () => {
  it('dispatches again and again, a quarter earlier or later each time', async () => {
    const numbers = [0.2, 0, 1];
    const { ticker, dispatch } = begin(() => numbers.shift() ?? 0.5);
    const counts: number[] = [];
    for (const ms of [199, 1, 749, 1, 1249, 1]) {
      await vi.advanceTimersByTimeAsync(ms);
      counts.push(dispatch.mock.calls.length);
    }
    expect(counts).toEqual([0, 1, 1, 2, 2, 3]);
    expect(dispatch).toHaveBeenCalledWith('internal');
    await ticker.close();
  });

  it('does not dispatch while an external scheduler does', async () => {
    const { ticker, dispatch, isDrivenOutside } = begin();
    isDrivenOutside.mockResolvedValue(true);
    await vi.advanceTimersByTimeAsync(5000);
    expect(dispatch).not.toHaveBeenCalled();
    isDrivenOutside.mockResolvedValue(false);
    await vi.advanceTimersByTimeAsync(1000);
    expect(dispatch).toHaveBeenCalledTimes(1);
    await ticker.close();
  });

  it('goes on after a failure', async () => {
    const { ticker, dispatch } = begin();
    dispatch.mockRejectedValueOnce(new Error('no database'));
    await vi.advanceTimersByTimeAsync(1500);
    expect(dispatch).toHaveBeenCalledTimes(2);
    expect(test.logLines.join('\n')).toContain('could not be looked at');
    await ticker.close();
  });

  it('does nothing more once it is closed', async () => {
    const { ticker, dispatch } = begin();
    await ticker.close();
    await vi.advanceTimersByTimeAsync(5000);
    expect(dispatch).not.toHaveBeenCalled();
  });

  it('waits at close for every running dispatch', async () => {
    const { ticker, dispatch } = begin();
    const ends = [Promise.withResolvers<never>(), Promise.withResolvers<never>()] as const;
    for (const { promise } of ends) dispatch.mockReturnValueOnce(promise);
    await vi.advanceTimersByTimeAsync(1500);
    expect(dispatch).toHaveBeenCalledTimes(2);
    let isClosed = false;
    const closed = ticker.close().then(() => (isClosed = true));
    ends[1].resolve(undefined as never);
    await vi.advanceTimersByTimeAsync(0);
    expect(isClosed).toBe(false);
    ends[0].resolve(undefined as never);
    await closed;
  });
});
