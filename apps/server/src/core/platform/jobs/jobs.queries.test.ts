import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import {
  addJobs,
  claimAgain,
  claimSlot,
  completeRun,
  endLostRuns,
  handleUntil,
} from '#core/platform/jobs/jobs.queries';
import { jobOf, jobRow } from '#core/platform/jobs/testing/jobs';
import { useService } from '#test/support/harness';

const test = useService({ ownDatabase: true });
const database = () => test.service.services.database;
const db = () => database().platform().interactive;
const at = '2026-03-10T10:05:00.000Z';

async function newJob(): Promise<string> {
  const { name } = jobOf();
  await db().all(addJobs({ names: [name], schedules: ['* * * * * UTC'], at: '2026-03-10T10:00:00.000Z' }));
  return name;
}

const leaseMs = 60_000;

function claim(name: string, slot: string, lease = leaseMs) {
  const ids = { id: newId(), name, dispatchId: newId() };
  return db().first(claimSlot({ ...ids, slot, trigger: 'schedule', at, leaseMs: lease }));
}

const end = { status: 'succeeded', at, error: null, output: null } as const;

// Another process may have changed the row since the claiming process read it.
describe('claimSlot', () => {
  it('takes no slot that was dealt with meanwhile, and none of a job that was switched off', async () => {
    const [name, off] = [await newJob(), await newJob()];
    const read = { readUntil: '2026-03-10T10:00:00.000Z', readSchedule: '* * * * * UTC' };
    await db().all(handleUntil({ name, until: at, schedule: '* * * * * UTC', ...read }));
    expect(await claim(name, '2026-03-10T10:05:00.000Z')).toBeUndefined();
    expect(await claim(name, '2026-03-10T10:06:00.000Z')).toMatchObject({ job_name: name, attempt: 1 });
    await db().all({
      kind: 'write',
      text: 'update jobs set enabled = false where name = $1',
      values: [off],
      prepare: false,
    });
    expect(await claim(off, '2026-03-10T10:06:00.000Z')).toBeUndefined();
  });

  it('takes no other slot of a job that runs, and leaves it to be run', async () => {
    const name = await newJob();
    await claim(name, '2026-03-10T10:01:00.000Z');
    expect(await claim(name, '2026-03-10T10:02:00.000Z')).toBeUndefined();
    expect((await jobRow(database(), name)).handled_until).toBe('2026-03-10T10:01:00.000Z');
  });
});

describe('claimAgain', () => {
  it('takes a slot that was given up, and not once another process has run it', async () => {
    const name = await newJob();
    const first = await claim(name, '2026-03-10T10:01:00.000Z', -1);
    await db().all(endLostRuns({ at, own: [], error: 'gone' }));
    const again = () => db().first(claimAgain({ id: first!.id, dispatchId: newId(), at, leaseMs }));
    const second = await again();
    expect(second).toMatchObject({ id: first!.id, attempt: 2 });
    expect(await db().first(completeRun({ id: first!.id, attempt: 1, ...end }))).toBeUndefined();
    expect(await db().first(completeRun({ id: first!.id, attempt: 2, ...end }))).toEqual({ id: first!.id });
    expect(await again()).toBeUndefined();
  });

  it('takes none while another slot of the job runs', async () => {
    const name = await newJob();
    const first = await claim(name, '2026-03-10T10:01:00.000Z', -1);
    await db().all(endLostRuns({ at, own: [], error: 'gone' }));
    expect(await claim(name, '2026-03-10T10:02:00.000Z')).toBeDefined();
    const again = claimAgain({ id: first!.id, dispatchId: newId(), at, leaseMs });
    expect(await db().first(again)).toBeUndefined();
  });
});

describe('handleUntil', () => {
  const until = '2026-03-10T09:00:00.000Z';
  const read = { readUntil: '2026-03-10T10:00:00.000Z', readSchedule: '* * * * * UTC' };

  it('moves what stands as it was read', async () => {
    const name = await newJob();
    await db().all(handleUntil({ name, until, schedule: '0 * * * * UTC', ...read }));
    expect(await jobRow(database(), name)).toMatchObject({ handled_until: until, handled_schedule: '0 * * * * UTC' });
  });

  it('leaves alone what another process has changed since', async () => {
    const [moved, changed] = [await newJob(), await newJob()];
    await claim(moved, '2026-03-10T10:01:00.000Z');
    const text = `update jobs set handled_schedule = '30 2 * * * UTC' where name = $1`;
    await db().all({ kind: 'write', text, values: [changed], prepare: false });
    for (const name of [moved, changed])
      await db().all(handleUntil({ name, until, schedule: '0 * * * * UTC', ...read }));
    expect(await jobRow(database(), moved)).toMatchObject({
      handled_until: '2026-03-10T10:01:00.000Z',
      handled_schedule: '* * * * * UTC',
    });
    expect(await jobRow(database(), changed)).toMatchObject({
      handled_until: '2026-03-10T10:00:00.000Z',
      handled_schedule: '30 2 * * * UTC',
    });
  });
});

describe('a lease', () => {
  // The reader's clock may show any time.
  it('ends by the clock of the database', async () => {
    const [alive, expired] = [await newJob(), await newJob()];
    await claim(alive, '2026-03-10T10:01:00.000Z');
    await claim(expired, '2026-03-10T10:01:00.000Z', -1);
    const lost = await db().all(endLostRuns({ at: '2099-01-01T00:00:00.000Z', own: [], error: 'gone' }));
    const names = lost.map((run) => run.job_name);
    expect([names.includes(alive), names.includes(expired)]).toEqual([false, true]);
  });

  it('is counted from the moment of the claim', async () => {
    const name = await newJob();
    const { id } = (await claim(name, '2026-03-10T10:01:00.000Z'))!;
    const text = `select lease_until > now() and lease_until < now() + interval '2 minutes' as lasts from job_runs where id = $1`;
    expect(await db().first({ kind: 'write', text, values: [id], prepare: false })).toEqual({ lasts: true });
  });
});
