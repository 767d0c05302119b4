import { describe, expect, it, vi } from 'vitest';

import { coalesce, createKeyedRuns, createSharedRuns, shareResult, shareRun } from '#core/base/concurrency/coalesce';

it('runs once for all callers who ask while another run is under way, and never two at a time', async () => {
  let running = 0;
  let runs = 0;
  const waits: (() => void)[] = [];
  const ask = coalesce(async () => {
    runs += 1;
    expect(++running).toBe(1);
    await new Promise<void>((resolve) => waits.push(resolve));
    running -= 1;
  });
  const first = ask();
  await Promise.resolve();
  await Promise.resolve();
  const later = Array.from({ length: 50 }, () => ask());
  expect(new Set(later).size).toBe(1);
  waits.shift()!();
  await first;
  await new Promise(setImmediate);
  waits.shift()!();
  await Promise.all(later);
  expect(runs).toBe(2);
});

it('runs again after a failure, which only its own callers see', async () => {
  let fails = true;
  const ask = coalesce(() => (fails ? Promise.reject(new Error('away')) : Promise.resolve()));
  const failed = ask();
  await expect(failed).rejects.toThrow('away');
  fails = false;
  await expect(ask()).resolves.toBeUndefined();
});

/** A run that is ended by the test, and counts how often it began. */
function createRun<Result>() {
  const ends: PromiseWithResolvers<Result>[] = [];
  const run = vi.fn<() => Promise<Result>>(() => {
    const end = Promise.withResolvers<Result>();
    ends.push(end);
    return end.promise;
  });
  return { run, ends };
}

describe('shareRun', () => {
  it('gives the run that is under way to all callers, and begins another one after its end', async () => {
    const { run, ends } = createRun<string>();
    const share = shareRun(run);
    expect(share.underWay()).toBeUndefined();
    const results = [share(), share()];
    ends[0]!.resolve('one');
    expect(await Promise.all(results)).toEqual(['one', 'one']);
    const later = share();
    expect(share.underWay()).toBe(later);
    ends[1]!.resolve('two');
    expect(await later).toBe('two');
    expect(run).toHaveBeenCalledTimes(2);
  });

  it('passes a failure to its callers only', async () => {
    const { run, ends } = createRun<string>();
    const share = shareRun(run);
    const results = Promise.allSettled([share(), share()]);
    ends[0]!.reject(new Error('away'));
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const later = share();
    ends[1]!.resolve('there');
    expect(await later).toBe('there');
  });
});

it('createSharedRuns shares runs of one key, not those of others', async () => {
  const share = createSharedRuns<string>();
  const { run, ends } = createRun<string>();
  const results = [share('a', run), share('a', run), share('b', run)];
  ends[0]!.resolve('of a');
  ends[1]!.resolve('of b');
  expect(await Promise.all(results)).toEqual(['of a', 'of a', 'of b']);
  const later = share('a', run);
  ends[2]!.resolve('later');
  expect(await later).toBe('later');
});

it('shareResult keeps a result, but not a failure', async () => {
  const { run, ends } = createRun<string>();
  const share = shareResult(run);
  const failed = Promise.allSettled([share(), share()]);
  ends[0]!.reject(new Error('away'));
  expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(share.begun()).toBeUndefined();
  const result = share();
  ends[1]!.resolve('kept');
  expect([await result, await share()]).toEqual(['kept', 'kept']);
  expect(run).toHaveBeenCalledTimes(2);
});

describe('createKeyedRuns', () => {
  const { signal } = new AbortController();

  it('runs a key again if it was requested meanwhile, and other keys concurrently', async () => {
    const runs = createKeyedRuns();
    const { run, ends } = createRun<boolean>();
    const first = runs.run('a', signal, run);
    expect(await runs.run('a', signal, run)).toBeUndefined();
    expect(await runs.run('a', signal, run)).toBeUndefined();
    expect(run).toHaveBeenCalledTimes(1);
    const other = runs.run('b', signal, run);
    expect(run).toHaveBeenCalledTimes(2);
    ends[0]!.resolve(false);
    await new Promise(setImmediate);
    ends.forEach(({ resolve }) => resolve(false));
    expect([await first, await other]).toEqual([false, false]);
    expect(run).toHaveBeenCalledTimes(3);
  });

  it('leaves it to the caller to run again where work is left', async () => {
    const runs = createKeyedRuns();
    const { run, ends } = createRun<boolean>();
    const first = runs.run('a', signal, run);
    await runs.run('a', signal, run);
    ends[0]!.resolve(true);
    expect(await first).toBe(true);
    expect(run).toHaveBeenCalledTimes(1);
  });

  it('runs a key again while an aborted run has not ended', async () => {
    const runs = createKeyedRuns();
    const { run, ends } = createRun<boolean>();
    const leaving = new AbortController();
    const aborted = runs.run('a', leaving.signal, run);
    leaving.abort();
    const next = runs.run('a', signal, run);
    expect(run).toHaveBeenCalledTimes(2);
    ends[0]!.resolve(false);
    await aborted;
    expect(await runs.run('a', signal, run)).toBeUndefined();
    ends[1]!.resolve(true);
    expect(await next).toBe(true);
  });
});
