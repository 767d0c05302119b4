import { sql } from 'kysely';

import { fromNow, isLeaseOver } from '#core/data/db/lease';
import { queryBuilder, read, write } from '#core/data/db/query';
import type { CatchUp } from '#core/platform/jobs/slots';

export type JobRow = {
  name: string;
  enabled: boolean;
  schedule: string | null;
  timezone: string | null;
  catch_up: CatchUp | null;
  known_since: string;
  handled_until: string;
  handled_schedule: string;
  consecutive_failures: number;
  last_error: string | null;
  updated_at: string;
};

export type Trigger = 'schedule' | 'catch_up' | 'manual';

export type JobRunRow = {
  id: string;
  job_name: string;
  slot: string | null;
  dispatch_id: string | null;
  trigger: Trigger;
  status: 'running' | 'succeeded' | 'failed';
  attempt: number;
  started_at: string;
  lease_until: string;
  completed_at: string | null;
  abandoned: boolean;
  error: string | null;
  output: Record<string, unknown> | null;
};

export type JobTables = { jobs: JobRow; job_runs: JobRunRow };

/** A run that this process has taken on: the attempt says whether it still is the one. */
export type Claim = Pick<JobRunRow, 'id' | 'job_name' | 'attempt' | 'started_at'>;

const builder = queryBuilder<JobTables>();
const claimColumns = ['id', 'job_name', 'attempt', 'started_at'] as const;

const maxAttempts = 3;

/** New jobs begin now: nothing is caught up on for them. */
export const addJobs = write<{ names: readonly string[]; schedules: readonly string[]; at: string }, never>(
  (p) => sql`insert into jobs (name, known_since, handled_until, handled_schedule, updated_at)
        select name, ${p.at}::timestamptz, ${p.at}::timestamptz, schedule, ${p.at}::timestamptz
        from unnest(${p.names}::text[], ${p.schedules}::text[]) as given (name, schedule)
        on conflict (name) do nothing`,
);

export const listJobRows = read<Record<string, never>, JobRow>(() => builder.selectFrom('jobs').selectAll());

/** Runs under way, and runs to be retried. */
export const listOpenRuns = read<{ since: string }, Pick<JobRunRow, 'id' | 'job_name' | 'slot' | 'status'>>((p) =>
  builder
    .selectFrom('job_runs')
    .select(['id', 'job_name', 'slot', 'status'])
    .where((is) =>
      is.or([is('status', '=', 'running'), is.and([is('abandoned', '=', true), is('slot', '>', p.since)])]),
    )
    .orderBy('slot'),
);

/** Claims a free slot of a job that does not run; a second claim gets no row. */
export const claimSlot = write<
  { id: string; name: string; slot: string; dispatchId: string; trigger: Trigger; at: string; leaseMs: number },
  Claim
>((p) =>
  builder
    .with('claimed', (db) =>
      db
        .insertInto('job_runs')
        .columns([
          'id',
          'job_name',
          'slot',
          'dispatch_id',
          'trigger',
          'status',
          'attempt',
          'started_at',
          'lease_until',
          'abandoned',
        ])
        .expression((inner) =>
          inner
            .selectFrom('jobs')
            .select([
              sql<string>`${p.id}::uuid`.as('id'),
              'name',
              sql<string>`${p.slot}::timestamptz`.as('slot'),
              sql<string>`${p.dispatchId}::uuid`.as('dispatch_id'),
              sql<Trigger>`${p.trigger}::text`.as('trigger'),
              sql<'running'>`'running'`.as('status'),
              sql<number>`1`.as('attempt'),
              sql<string>`${p.at}::timestamptz`.as('started_at'),
              fromNow(p.leaseMs).as('lease_until'),
              sql<boolean>`false`.as('abandoned'),
            ])
            .where('name', '=', p.name)
            .where('enabled', '=', true)
            .where('handled_until', '<', p.slot),
        )
        .onConflict((conflict) => conflict.doNothing())
        .returning(claimColumns),
    )
    .with('moved', (db) =>
      db
        .updateTable('jobs')
        .set({ handled_until: p.slot })
        .where('name', '=', p.name)
        .where('handled_until', '<', p.slot)
        .where((is) =>
          is.or([
            is.exists(is.selectFrom('claimed').select('id')),
            // Known already: a clock that went back comes by the same slots again.
            is.exists(is.selectFrom('job_runs').select('id').where('job_name', '=', p.name).where('slot', '=', p.slot)),
          ]),
        )
        .returning('name'),
    )
    .selectFrom('claimed')
    .select(claimColumns),
);

/** The same for a slot whose process was gone; two at once break `job_runs_running`, or the second finds it taken. */
export const claimAgain = write<{ id: string; dispatchId: string; at: string; leaseMs: number }, Claim>((p) =>
  builder
    .updateTable('job_runs')
    .set((is) => ({
      status: 'running',
      abandoned: false,
      attempt: is('attempt', '+', 1),
      dispatch_id: p.dispatchId,
      started_at: p.at,
      lease_until: fromNow(p.leaseMs),
      completed_at: null,
      error: null,
    }))
    .where('id', '=', p.id)
    .where('abandoned', '=', true)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('job_runs as other')
            .select('other.id')
            .whereRef('other.job_name', '=', 'job_runs.job_name')
            .where('other.status', '=', 'running'),
        ),
      ),
    )
    .returning(claimColumns),
);

/** A requested run, unless the job runs already. */
export const claimNow = write<{ id: string; name: string; at: string; leaseMs: number }, Claim>((p) =>
  builder
    .insertInto('job_runs')
    .values({
      id: p.id,
      job_name: p.name,
      slot: null,
      dispatch_id: null,
      trigger: 'manual',
      status: 'running',
      attempt: 1,
      started_at: p.at,
      lease_until: fromNow(p.leaseMs),
      completed_at: null,
      abandoned: false,
      error: null,
      output: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(claimColumns),
);

/** Skips all slots before the given one, or restarts from there. Returns no row if another process was first. */
export const handleUntil = write<
  { name: string; until: string; schedule: string; readUntil: string; readSchedule: string },
  never
>((p) =>
  builder
    .updateTable('jobs')
    .set({ handled_until: p.until, handled_schedule: p.schedule })
    .where('name', '=', p.name)
    .where('handled_until', '=', p.readUntil)
    .where('handled_schedule', '=', p.readSchedule),
);

/** Extends the lease of the run's owner; no row means that another process took it over. */
export const extendLease = write<{ id: string; attempt: number; leaseMs: number }, Pick<JobRunRow, 'id'>>((p) =>
  builder
    .updateTable('job_runs')
    .set({ lease_until: fromNow(p.leaseMs) })
    .where('id', '=', p.id)
    .where('attempt', '=', p.attempt)
    .where('status', '=', 'running')
    .returning('id'),
);

/** The end of a run by the process that has it. */
export const completeRun = write<
  {
    id: string;
    attempt: number;
    status: 'succeeded' | 'failed';
    at: string;
    error: string | null;
    output: Record<string, unknown> | null;
  },
  Pick<JobRunRow, 'id'>
>((p) =>
  builder
    .updateTable('job_runs')
    .set({ status: p.status, completed_at: p.at, error: p.error, output: p.output })
    .where('id', '=', p.id)
    .where('attempt', '=', p.attempt)
    .where('status', '=', 'running')
    .returning('id'),
);

const mayTryAgain = sql<boolean>`slot is not null and attempt < ${maxAttempts}`;

/** Runs whose process is gone; `own` are those that this process knows to be alive. */
export const endLostRuns = write<
  { at: string; own: readonly string[]; error: string },
  Pick<JobRunRow, 'id' | 'job_name' | 'attempt' | 'abandoned'>
>((p) =>
  builder
    .updateTable('job_runs')
    .set({ status: 'failed', completed_at: p.at, error: p.error, abandoned: mayTryAgain })
    .where('status', '=', 'running')
    .where(isLeaseOver)
    .where(sql<boolean>`id <> all (${p.own}::uuid[])`)
    .returning(['id', 'job_name', 'attempt', 'abandoned']),
);

/** Gives a run back unfinished, for another process to try. */
export const giveBackRun = write<{ id: string; attempt: number; at: string; error: string }, never>((p) =>
  builder
    .updateTable('job_runs')
    .set({ status: 'failed', completed_at: p.at, error: p.error, abandoned: mayTryAgain })
    .where('id', '=', p.id)
    .where('attempt', '=', p.attempt)
    .where('status', '=', 'running'),
);

export const countFailure = write<{ name: string; error: string }, Pick<JobRow, 'consecutive_failures'>>((p) =>
  builder
    .updateTable('jobs')
    .set((is) => ({ consecutive_failures: is('consecutive_failures', '+', 1), last_error: p.error }))
    .where('name', '=', p.name)
    .returning('consecutive_failures'),
);

export const forgetFailures = write<{ name: string }, never>((p) =>
  builder.updateTable('jobs').set({ consecutive_failures: 0, last_error: null }).where('name', '=', p.name),
);

/** Durations of the last successful runs: their number, and the median in milliseconds. */
export const usualDuration = read<{ name: string; exceptId: string }, { runs: number; median_ms: number | null }>((p) =>
  builder
    .selectFrom((db) =>
      db
        .selectFrom('job_runs')
        .select(sql<number>`extract(epoch from completed_at - started_at)::float8 * 1000`.as('ms'))
        .where('job_name', '=', p.name)
        .where('status', '=', 'succeeded')
        .where('id', '<>', p.exceptId)
        .orderBy('started_at', 'desc')
        .orderBy('id', 'desc')
        .limit(20)
        .as('recent'),
    )
    .select([
      sql<number>`count(*)`.as('runs'),
      sql<number | null>`percentile_cont(0.5) within group (order by ms)`.as('median_ms'),
    ]),
);

/** History beyond 30 days, and beyond the last thousand runs of each job. */
export const deleteOldRuns = write<{ before: string; keep: number; max: number }, { id: string }>((p) =>
  builder
    .deleteFrom('job_runs')
    .where('id', 'in', (db) =>
      db
        .selectFrom((inner) =>
          inner
            .selectFrom('job_runs')
            .select(['id', 'started_at'])
            .select(
              sql<number>`row_number() over (partition by job_name order by started_at desc, id desc)`.as('place'),
            )
            .where('status', '<>', 'running')
            .as('placed'),
        )
        .select('placed.id')
        .where((is) => is.or([is('placed.started_at', '<', p.before), is('placed.place', '>', p.keep)]))
        .limit(p.max),
    )
    .returning('id'),
);
