import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';

import { orAborted } from '#core/base/concurrency/or-aborted';

const never = new Promise<never>(() => undefined);
const reason = new Error('the caller left');

describe('orAborted', () => {
  it('settles with the work, and leaves no listener', async () => {
    const { signal } = new AbortController();
    const failure = new Error('the work failed');
    expect(await orAborted(Promise.resolve(1), signal)).toBe(1);
    await expect(orAborted(Promise.reject(failure), signal)).rejects.toBe(failure);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('throws the reason at the abort, although the work ignores the signal', async () => {
    const controller = new AbortController();
    const result = orAborted(never, controller.signal);
    controller.abort(reason);
    await expect(result).rejects.toBe(reason);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('throws the reason of a signal that was aborted before', async () => {
    await expect(orAborted(never, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  it('leaves no rejection of work that fails after the abort unhandled', async () => {
    const work = Promise.withResolvers<never>();
    await expect(orAborted(work.promise, AbortSignal.abort(reason))).rejects.toBe(reason);
    work.reject(new Error('too late'));
    await expect(work.promise).rejects.toThrow('too late');
  });

  it('prefers the error of work that observes the signal, if the abort is deferred', async () => {
    const controller = new AbortController();
    const precise = new Error('the provider was cut off');
    const work = Promise.withResolvers<never>();
    controller.signal.addEventListener('abort', () => work.reject(precise));
    const results = [
      orAborted(work.promise, controller.signal, setImmediate),
      orAborted(never, controller.signal, setImmediate),
    ];
    controller.abort(reason);
    expect(await Promise.allSettled(results)).toMatchObject([{ reason: precise }, { reason }]);
  });
});
