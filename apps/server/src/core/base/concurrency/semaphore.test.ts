import { describe, expect, it, vi } from 'vitest';

import { createSemaphore, type Bound } from '#core/base/concurrency/semaphore';

const all = (max: number): Bound => ({ key: 'all', max });
const of = (key: string, max = 1): Bound => ({ key, max });
const { signal } = new AbortController();

describe('tryAcquire', () => {
  it('takes permits up to the bound, and again after a release', () => {
    const permits = createSemaphore();
    const release = permits.tryAcquire([all(2)])!;
    permits.tryAcquire([all(2)]);
    expect(permits.tryAcquire([all(2)])).toBeUndefined();
    release();
    expect(permits.tryAcquire([all(2)])).toBeTypeOf('function');
  });

  it('counts within all bounds or within none', () => {
    const permits = createSemaphore();
    permits.tryAcquire([of('a')]);
    expect(permits.tryAcquire([all(1), of('a')])).toBeUndefined();
    expect(permits.tryAcquire([all(1)])).toBeTypeOf('function');
  });

  it('gives a permit back once', () => {
    const permits = createSemaphore();
    const release = permits.tryAcquire([all(1)])!;
    release();
    permits.tryAcquire([all(1)]);
    release();
    expect(permits.tryAcquire([all(1)])).toBeUndefined();
  });
});

it('acquireNow throws the refusal of the first bound that is reached', () => {
  const permits = createSemaphore();
  const acquire = () =>
    permits.acquireNow(
      { ...all(2), refusal: () => new Error('too many') },
      { ...of('a'), refusal: () => new Error('too many of a') },
    );
  const release = acquire();
  expect(acquire).toThrow('too many of a');
  release();
  expect(acquire()).toBeTypeOf('function');
});

describe('acquire', () => {
  it('waits in order of arrival', async () => {
    const permits = createSemaphore();
    const order: number[] = [];
    const first = await permits.acquire([all(1)], signal);
    const waiting = [1, 2].map(async (at) => {
      const release = await permits.acquire([all(1)], signal);
      order.push(at);
      release();
    });
    first();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2]);
  });

  it('passes a caller whose own bound is reached', async () => {
    const permits = createSemaphore();
    const release = await permits.acquire([all(3), of('a')], signal);
    const other = await permits.acquire([all(3), of('b')], signal);
    await permits.acquire([all(3)], signal);
    const got = vi.fn<(key: string) => void>();
    const waiting = ['a', 'c'].map((key) => permits.acquire([all(3), of(key)], signal).then(() => got(key)));
    other();
    await waiting[1];
    expect(got.mock.calls).toEqual([['c']]);
    release();
    await waiting[0];
  });

  it('serves a waiting caller before one that comes right after the release', async () => {
    const permits = createSemaphore();
    const release = await permits.acquire([all(1)], signal);
    const waiting = permits.acquire([all(1)], signal);
    release();
    expect(permits.tryAcquire([all(1)])).toBeUndefined();
    expect(await waiting).toBeTypeOf('function');
  });

  it('rejects with the reason of the signal, and then takes no permit', async () => {
    const permits = createSemaphore();
    const release = await permits.acquire([all(1)], signal);
    const leaving = new AbortController();
    const waiting = permits.acquire([all(1)], leaving.signal);
    const reason = new Error('left');
    leaving.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(permits.acquire([all(2)], leaving.signal)).rejects.toBe(reason);
    release();
    expect(permits.tryAcquire([all(1)])).toBeTypeOf('function');
  });
});
