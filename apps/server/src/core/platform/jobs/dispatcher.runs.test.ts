import { describe, expect, it, vi } from 'vitest';

import type { BoundJob } from '#core/platform/jobs/terms';
import {
  alertsOf,
  clockAt,
  dispatcherOf,
  endLease,
  hour,
  intercepted,
  jobOf,
  jobRow,
  minute,
  runsOf,
} from '#core/platform/jobs/testing/jobs';
import { useService } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const test = useService({ ownDatabase: true });
const database = () => test.service.services.database;
const start = '2026-03-10T10:00:00Z';

/** Dispatchers that know the same jobs, as if of one process each, a minute after the jobs became known. */
async function processes(count: number, jobs: readonly BoundJob[], options: { leaseMs?: number } = {}) {
  const clock = clockAt(start);
  const all = Array.from({ length: count }, () =>
    dispatcherOf(test.service.services, { jobs, now: clock.now, ...options }),
  );
  await all[0]!.register();
  clock.move(minute);
  return { clock, all };
}

/** Something to wait for, and the way to let it happen. */
function gate(): { opened: Promise<undefined>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return { opened: promise, open: () => resolve(undefined) };
}

const isUnderWay = (name: string) =>
  vi.waitFor(async () => expect(await runsOf(database(), name)).toMatchObject([{ status: 'running' }]), 30_000);

describe('a job under way', () => {
  it('is skipped by concurrent dispatches, in this process and in others', async () => {
    const { opened, open } = gate();
    const job = jobOf({ run: () => opened });
    const { clock, all } = await processes(2, [job]);
    const first = all[0]!.dispatch('internal');
    await isUnderWay(job.name);
    clock.move(minute);
    for (const process of all) {
      expect(await process.dispatch('internal')).toMatchObject({ jobs_executed: 0, jobs_skipped: 1 });
    }
    open();
    expect(await first).toMatchObject({ jobs_executed: 1, jobs_skipped: 0 });
    expect(await all[1]!.dispatch('internal')).toMatchObject({ jobs_executed: 1, jobs_skipped: 0 });
  });

  it('does not hold up the answer for longer than the caller waits, and ends all the same', async () => {
    const { opened, open } = gate();
    const job = jobOf({ run: () => opened });
    const { all } = await processes(1, [job]);
    const answer = await all[0]!.dispatch('external', { waitMs: 50 });
    expect(answer).toMatchObject({ jobs_executed: 1, jobs_failed: 0 });
    expect(await runsOf(database(), job.name)).toMatchObject([{ status: 'running' }]);
    open();
    await all[0]!.close(minute);
    expect(await runsOf(database(), job.name)).toMatchObject([{ status: 'succeeded' }]);
  });
});

describe('a job that goes wrong', () => {
  it.each([
    ['throws', () => Promise.reject(new Error('no room\0left')), 'no roomleft'],
    [
      'throws at once',
      () => {
        throw new Error('at once');
      },
      'at once',
    ],
    ['throws no error', () => Promise.reject('a text'), 'a text'],
    [
      'tells a secret',
      () => Promise.reject(new Error('not reached: postgres://atrium:canary@db/atrium')),
      'not reached: postgres://atrium:[redacted]@db/atrium',
    ],
    [
      'tells a secret where the text is cut',
      () => Promise.reject(new Error(`${'x'.repeat(990)} ada.lovelace@example.com`)),
      `${'x'.repeat(990)} a***@exam`,
    ],
    ['hangs', () => new Promise<never>(() => undefined), 'The run exceeded its timeout of 50 ms.'],
  ] as [string, BoundJob['run'], string][])(
    '%s: the others run, and why it failed is kept',
    async (_what, run, error) => {
      const bad = jobOf({ run, timeoutMs: 50 });
      const good = [jobOf(), jobOf()];
      const { all } = await processes(1, [good[0]!, bad, good[1]!]);
      expect(await all[0]!.dispatch('internal')).toMatchObject({ jobs_executed: 3, jobs_failed: 1, alerts_sent: 1 });
      expect(await runsOf(database(), bad.name)).toMatchObject([{ status: 'failed', error, abandoned: false }]);
      expect(await jobRow(database(), bad.name)).toMatchObject({ consecutive_failures: 1, last_error: error });
      for (const { name } of good) expect(await runsOf(database(), name)).toMatchObject([{ status: 'succeeded' }]);
    },
  );

  it('is told by its signal that the time is over', async () => {
    let signal: AbortSignal | undefined;
    const job = jobOf({ timeoutMs: 50, run: (given) => new Promise(() => (signal = given)) });
    const { all } = await processes(1, [job]);
    await all[0]!.dispatch('internal');
    expect(signal?.aborted).toBe(true);
  });

  it('does not begin again in the process in which it hangs', async () => {
    const { opened, open } = gate();
    const job = jobOf({ timeoutMs: 50, run: () => opened });
    const { clock, all } = await processes(1, [job]);
    await all[0]!.dispatch('internal');
    clock.move(minute);
    expect(await all[0]!.dispatch('internal')).toMatchObject({ jobs_executed: 0, jobs_skipped: 1 });
    open();
    await opened;
    expect(await all[0]!.dispatch('internal')).toMatchObject({ jobs_executed: 1, jobs_failed: 0 });
  });

  it('waits for its next slot', async () => {
    const job = jobOf({ run: () => Promise.reject(new Error('never')) });
    const { all } = await processes(1, [job]);
    await all[0]!.dispatch('internal');
    expect(await all[0]!.dispatch('internal')).toMatchObject({ jobs_executed: 0 });
  });
});

describe('a process that is killed', () => {
  /** A job whose first runs never end, as if their process were gone: it beats no more, and another one looks on. */
  async function killed(options: { schedule?: string } = {}) {
    const job = jobOf({ schedule: '1 * * * *', ...options, run: () => new Promise(() => undefined) });
    const works: BoundJob = { ...job, run: () => Promise.resolve(undefined) };
    // So long a lease that the dead one does not extend it while the test runs.
    const { clock, all } = await processes(1, [job], { leaseMs: hour });
    void all[0]!.dispatch('internal');
    await isUnderWay(job.name);
    const next = (what = works) => dispatcherOf(test.service.services, { jobs: [what], now: clock.now, leaseMs: hour });
    return { clock, job, works, next };
  }

  it('keeps its slot while its lease lasts', async () => {
    const { clock, job, next } = await killed();
    // Independent of the reader's clock.
    clock.move(30 * hour);
    expect(await next().dispatch('internal')).toMatchObject({ jobs_executed: 0, jobs_skipped: 1 });
    expect(await runsOf(database(), job.name)).toMatchObject([{ status: 'running', attempt: 1 }]);
  });

  it('counts as failed after that, and its slot is retried', async () => {
    const { job, next } = await killed();
    await endLease(database(), job.name);
    expect(await next().dispatch('internal')).toMatchObject({ jobs_executed: 1, jobs_failed: 0, alerts_sent: 1 });
    expect(await runsOf(database(), job.name)).toMatchObject([
      { slot: '2026-03-10T10:01:00.000Z', status: 'succeeded', attempt: 2, abandoned: false, error: null },
    ]);
    expect(await alertsOf(database(), job.name)).toMatchObject([
      { type: 'job_failed', message: 'The process of the run stopped.', resolved_at: expect.any(String) },
    ]);
  });

  it('is followed by two more at most', async () => {
    const { job, next } = await killed();
    for (const attempt of [2, 3]) {
      await endLease(database(), job.name);
      void next(job).dispatch('internal');
      await vi.waitFor(
        async () => expect(await runsOf(database(), job.name)).toMatchObject([{ status: 'running', attempt }]),
        30_000,
      );
    }
    await endLease(database(), job.name);
    expect(await next().dispatch('internal')).toMatchObject({ jobs_executed: 0 });
    expect(await runsOf(database(), job.name)).toMatchObject([{ status: 'failed', attempt: 3, abandoned: false }]);
  });

  it('of a process that was only delayed is taken over, and its later result is ignored', async () => {
    const [one, two] = [gate(), gate()];
    const job = jobOf({ schedule: '1 * * * *', run: () => one.opened.then(() => ({ by: 'the first' })) });
    const works = { ...job, run: () => two.opened.then(() => ({ by: 'the second' })) };
    const { clock, all } = await processes(1, [job], { leaseMs: hour });
    const first = all[0]!.dispatch('internal');
    await isUnderWay(job.name);
    await endLease(database(), job.name);
    const second = dispatcherOf(test.service.services, { jobs: [works], now: clock.now }).dispatch('internal');
    const isTakenOver = async () => expect(await runsOf(database(), job.name)).toMatchObject([{ attempt: 2 }]);
    await vi.waitFor(isTakenOver, 30_000);
    one.open();
    await first;
    expect(await runsOf(database(), job.name)).toMatchObject([{ status: 'running', output: null }]);
    two.open();
    await second;
    expect(await runsOf(database(), job.name)).toMatchObject([{ attempt: 2, output: { by: 'the second' } }]);
  });

  it('is retried by one of many processes that notice it', async () => {
    const { job, works, next } = await killed();
    await endLease(database(), job.name);
    const run = vi.fn<BoundJob['run']>(works.run);
    await Promise.all(Array.from({ length: 20 }, () => next({ ...works, run }).dispatch('internal')));
    expect(run).toHaveBeenCalledTimes(1);
    expect(await runsOf(database(), job.name)).toMatchObject([{ status: 'succeeded', attempt: 2 }]);
  });
});

describe('a run', () => {
  it('lives longer than its lease while its process does', async () => {
    const { opened, open } = gate();
    const job = jobOf({ schedule: '1 * * * *', run: () => opened });
    const { all } = await processes(2, [job], { leaseMs: 12_000 });
    const first = all[0]!.dispatch('internal');
    await isUnderWay(job.name);
    const leaseOf = async () => (await runsOf(database(), job.name))[0]!.lease_until;
    const before = await leaseOf();
    await vi.waitFor(async () => expect((await leaseOf()) > before).toBe(true), 30_000);
    expect(await all[1]!.dispatch('internal')).toMatchObject({ jobs_executed: 0, jobs_skipped: 1 });
    open();
    expect(await first).toMatchObject({ jobs_executed: 1, jobs_failed: 0 });
  });

  it('that has ended stays alive until the database takes its end, however long that is', async () => {
    const job = jobOf({ schedule: '1 * * * *', run: () => Promise.resolve({ done: true }) });
    let refused = 0;
    let isDown = true;
    const flaky = intercepted(database(), ({ text }) => {
      if (!isDown || !text.startsWith('update "job_runs"') || !text.includes('"output" = ')) return;
      refused += 1;
      throw new Error('no connection');
    });
    const { clock } = await processes(1, [job]);
    const { log } = test.service.services;
    const dispatcher = dispatcherOf({ database: flaky, log }, { jobs: [job], now: clock.now, leaseMs: 1200 });
    const leaseOf = async () => (await runsOf(database(), job.name))[0]?.lease_until ?? '';
    const answered = dispatcher.dispatch('internal');
    await vi.waitFor(() => expect(refused).toBeGreaterThan(1), 30_000);
    const before = await leaseOf();
    await vi.waitFor(async () => expect((await leaseOf()) > before).toBe(true), 30_000);
    isDown = false;
    expect(await answered).toMatchObject({ jobs_executed: 1, jobs_failed: 0 });
    expect(await runsOf(database(), job.name)).toMatchObject([
      { status: 'succeeded', attempt: 1, output: { done: true } },
    ]);
    expect(await alertsOf(database(), job.name)).toEqual([]);
  });

  it('is not taken over by its own process when the clock jumps ahead', async () => {
    const { opened, open } = gate();
    const job = jobOf({ schedule: '1 * * * *', run: () => opened });
    const { clock, all } = await processes(1, [job]);
    const first = all[0]!.dispatch('internal');
    await isUnderWay(job.name);
    clock.move(30 * minute);
    expect(await all[0]!.dispatch('internal')).toMatchObject({ jobs_executed: 0, jobs_skipped: 1 });
    open();
    await first;
    expect(await runsOf(database(), job.name)).toMatchObject([{ status: 'succeeded', attempt: 1 }]);
  });
});

describe('a process that stops', () => {
  it('waits for what it runs', async () => {
    const { opened, open } = gate();
    const job = jobOf({ run: () => opened });
    const { all } = await processes(1, [job]);
    const first = all[0]!.dispatch('internal');
    await isUnderWay(job.name);
    const closed = all[0]!.close(10 * minute);
    open();
    await closed;
    await first;
    expect(await runsOf(database(), job.name)).toMatchObject([{ status: 'succeeded' }]);
  });

  it('releases runs that do not end in time, and another process retries them at once', async () => {
    const job = jobOf({ schedule: '1 * * * *', run: () => new Promise(() => undefined) });
    const { clock, all } = await processes(1, [job]);
    const first = all[0]!.dispatch('internal');
    await isUnderWay(job.name);
    await all[0]!.close(10);
    await first;
    expect(await runsOf(database(), job.name)).toMatchObject([{ status: 'failed', abandoned: true }]);
    expect(await jobRow(database(), job.name)).toMatchObject({ consecutive_failures: 0 });
    const works = { ...job, run: () => Promise.resolve(undefined) };
    const other = dispatcherOf(test.service.services, { jobs: [works], now: clock.now });
    expect(await other.dispatch('internal')).toMatchObject({ jobs_executed: 1, jobs_failed: 0 });
    expect(await runsOf(database(), job.name)).toMatchObject([{ status: 'succeeded', attempt: 2 }]);
  });

  it('gives back what was being claimed meanwhile, without beginning it', async () => {
    const [asked, answer] = [gate(), gate()];
    const run = vi.fn<BoundJob['run']>(() => Promise.resolve(undefined));
    const job = jobOf({ schedule: '1 * * * *', run });
    const slow = intercepted(database(), async ({ text }) => {
      if (!text.includes('insert into "job_runs"')) return;
      asked.open();
      await answer.opened;
    });
    const { clock } = await processes(1, [job]);
    const { log } = test.service.services;
    const dispatcher = dispatcherOf({ database: slow, log }, { jobs: [job], now: clock.now });
    const dispatched = dispatcher.dispatch('internal');
    await asked.opened;
    const closed = dispatcher.close(10 * minute);
    answer.open();
    await closed;
    expect(run).not.toHaveBeenCalled();
    expect(await runsOf(database(), job.name)).toMatchObject([{ status: 'failed', abandoned: true }]);
    expect(await dispatched).toMatchObject({ jobs_executed: 0, jobs_failed: 0 });
  });

  it('releases a run that another request asked for meanwhile', async () => {
    const [asked, answer] = [gate(), gate()];
    const run = vi.fn<BoundJob['run']>(() => Promise.resolve(undefined));
    const job = jobOf({ run });
    const { all } = await processes(1, [job]);
    const begun = all[0]!.runNow(job, () => {
      asked.open();
      return answer.opened;
    });
    await asked.opened;
    const closed = all[0]!.close(10 * minute);
    answer.open();
    await closed;
    await begun;
    expect(run).not.toHaveBeenCalled();
    expect(await runsOf(database(), job.name)).toMatchObject([
      { status: 'failed', error: 'The process stopped before the end of the run.' },
    ]);
  });

  it('begins nothing more', async () => {
    const job = jobOf();
    const { all } = await processes(1, [job]);
    await all[0]!.close();
    expect(await all[0]!.dispatch('internal')).toMatchObject({ jobs_executed: 0 });
  });
});
