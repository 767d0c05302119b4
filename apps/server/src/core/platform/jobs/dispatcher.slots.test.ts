import { describe, expect, it } from 'vitest';

import type { CatchUp } from '#core/platform/jobs/slots';
import {
  alertsOf,
  clockAt,
  dispatcherOf,
  hour,
  jobOf,
  jobRow,
  minute,
  runsOf,
  slotsOf,
} from '#core/platform/jobs/testing/jobs';
import { useService } from '#test/support/harness';

const test = useService({ ownDatabase: true });
const database = () => test.service.services.database;

/** A dispatcher with one job, which knows of it since the clock's time. */
async function begin(at: string, terms: Parameters<typeof jobOf>[0] = {}) {
  const clock = clockAt(at);
  const job = jobOf(terms);
  const dispatcher = dispatcherOf(test.service.services, { jobs: [job], now: clock.now });
  await dispatcher.register();
  const dispatch = () => dispatcher.dispatch('internal');
  const slots = async () => (await slotsOf(database(), job.name)).map((slot) => slot?.slice(5, 16));
  return { clock, job, dispatcher, dispatch, slots };
}

describe('a slot', () => {
  it('is run once it has come, and once only', async () => {
    const { clock, dispatch, slots } = await begin('2026-03-10T10:00:00Z');
    expect((await dispatch()).jobs_executed).toBe(0);
    clock.move(minute);
    expect((await dispatch()).jobs_executed).toBe(1);
    expect((await dispatch()).jobs_executed).toBe(0);
    clock.move(minute - 1);
    await dispatch();
    expect(await slots()).toEqual(['03-10T10:01']);
  });

  it('keeps what the run came to', async () => {
    const { clock, job, dispatch } = await begin('2026-03-10T10:00:00Z', {
      run: () => Promise.resolve({ deleted: 3 }),
    });
    clock.move(minute + 20_000);
    const { id } = await dispatch();
    expect(await runsOf(database(), job.name)).toEqual([
      expect.objectContaining({
        slot: '2026-03-10T10:01:00.000Z',
        dispatch_id: id,
        trigger: 'schedule',
        status: 'succeeded',
        attempt: 1,
        started_at: '2026-03-10T10:01:20.000Z',
        completed_at: '2026-03-10T10:01:20.000Z',
        error: null,
        output: { deleted: 3 },
      }),
    ]);
  });

  it.each([
    ['skip', []],
    ['run_once', ['03-10T15:00']],
    ['all', ['03-10T11:00', '03-10T12:00', '03-10T13:00', '03-10T14:00', '03-10T15:00']],
  ] as [CatchUp, string[]][])('missed for five hours: %s', async (catchUp, expected) => {
    const { clock, dispatch, slots } = await begin('2026-03-10T10:00:00Z', { schedule: '0 * * * *', catchUp });
    clock.move(5 * hour + 30 * minute);
    await dispatch();
    await dispatch();
    expect(await slots()).toEqual(expected);
    clock.move(30 * minute);
    await dispatch();
    expect(await slots()).toEqual([...expected, '03-10T16:00']);
  });

  it('is never one from before the job was known', async () => {
    const { clock, dispatch, slots } = await begin('2026-03-10T10:00:01Z', { schedule: '0 * * * *', catchUp: 'all' });
    await dispatch();
    clock.move(hour);
    await dispatch();
    expect(await slots()).toEqual(['03-10T11:00']);
  });
});

describe('a schedule that changes in the code', () => {
  it('catches up on no slot from before', async () => {
    const { clock, job, slots } = await begin('2026-03-10T10:00:00Z', { schedule: '0 3 * * *', catchUp: 'all' });
    clock.move(5 * hour + 30_000);
    const denser = { ...job, schedule: '* * * * *' };
    const dispatcher = dispatcherOf(test.service.services, { jobs: [denser], now: clock.now });
    await dispatcher.dispatch('internal');
    // Of what came in the last two minutes a slot may be run, no more.
    const first = await slots();
    expect(first.length).toBeLessThanOrEqual(2);
    clock.move(minute);
    await dispatcher.dispatch('internal');
    expect(await slots()).toEqual([...first, '03-10T15:01']);
  });
});

describe('a clock that jumps', () => {
  it('back: no slot is run twice, and the next ones come', async () => {
    const { clock, dispatch, slots } = await begin('2026-03-10T10:00:00Z', { catchUp: 'all' });
    for (let step = 0; step < 20; step++) {
      clock.move(minute);
      await dispatch();
    }
    const before = await slots();
    expect(before).toHaveLength(20);
    clock.set('2026-03-10T10:10:00Z');
    for (let step = 0; step < 12; step++) {
      await dispatch();
      clock.move(minute);
    }
    expect(await slots()).toEqual([...before, '03-10T10:21']);
  });

  it('a year ahead and back again: one run, and the schedule goes on', async () => {
    const { clock, job, dispatch, slots } = await begin('2026-03-10T10:00:00Z');
    clock.set('2027-03-10T10:00:00Z');
    await dispatch();
    clock.set('2026-03-10T10:05:00Z');
    await dispatch();
    clock.move(minute);
    await dispatch();
    expect(new Set(await slots())).toEqual(new Set(['03-10T10:00', '03-10T10:06']));
    expect((await jobRow(database(), job.name)).handled_until).toBe('2026-03-10T10:06:00.000Z');
  });

  it('back over slots that have run causes no missed slot', async () => {
    const { clock, job, dispatch } = await begin('2026-03-10T10:00:00Z');
    for (let step = 0; step < 15; step++) {
      clock.move(minute);
      await dispatch();
    }
    clock.set('2026-03-10T10:05:00Z');
    for (let step = 0; step < 8; step++) {
      clock.move(minute);
      await dispatch();
    }
    expect(await alertsOf(database(), job.name)).toEqual([]);
  });
});

describe('a job that is switched off', () => {
  it('does not run', async () => {
    const { clock, job, dispatch, slots } = await begin('2026-03-10T10:00:00Z');
    const text = 'update jobs set enabled = false where name = $1';
    await database()
      .platform()
      .interactive.all({ kind: 'write', text, values: [job.name], prepare: false });
    clock.move(hour);
    expect(await dispatch()).toMatchObject({ jobs_executed: 0, jobs_skipped: 0, alerts_sent: 0 });
    expect(await slots()).toEqual([]);
  });
});
