import type { JobRow, JobRunRow } from '#core/platform/jobs/jobs.queries';
import { findDue, lateAfterMs, type Due, type Schedule } from '#core/platform/jobs/slots';
import type { JobTerms } from '#core/platform/jobs/terms';

/** Clocks of processes may differ by this much without counting as a jump. */
const skewMs = 5 * 60_000;

type Wishes = Pick<JobRow, 'schedule' | 'timezone' | 'catch_up'>;

/** The schedule in force: that of the operator, or that of the code. */
export function termsOf(job: JobTerms, row: Wishes): Schedule & Pick<JobTerms, 'catchUp'> {
  return {
    schedule: row.schedule ?? job.schedule,
    timezone: row.timezone ?? 'UTC',
    catchUp: row.catch_up ?? job.catchUp,
  };
}

/** The value of `handled_schedule`. */
export function scheduleKey({ schedule, timezone }: Schedule): string {
  return `${schedule} ${timezone}`;
}

export type OpenRun = Pick<JobRunRow, 'id' | 'job_name' | 'slot' | 'status'>;

/** The due runs of one job. */
export type JobPlan = {
  name: string;
  due: Due;
  /** Runs whose process stopped before the end. */
  retries: readonly string[];
  isRunning: boolean;
  /** The instant up to which the schedule is handled without a run, and the row that this was decided from; undefined if nothing changes. */
  moveTo: { until: string; schedule: string; readUntil: string; readSchedule: string } | undefined;
};

export function planJob(
  job: JobTerms,
  row: JobRow,
  { openRuns, now }: { openRuns: readonly OpenRun[]; now: Date },
): JobPlan {
  const terms = termsOf(job, row);
  const own = openRuns.filter((run) => run.job_name === job.name);
  const schedule = scheduleKey(terms);
  const handledUntil = startOf(row, schedule, now);
  const due = row.enabled ? findDue(terms, { handledUntil, now }) : { slots: [], last: undefined, missed: undefined };
  const leavesOut = due.slots.length === 0 && due.last !== undefined;
  const until = leavesOut ? due.last! : handledUntil;
  const { handled_until: readUntil, handled_schedule: readSchedule } = row;
  const isMoved = until.getTime() !== Date.parse(readUntil) || schedule !== readSchedule;
  return {
    name: job.name,
    due,
    retries: row.enabled ? own.filter((run) => run.status === 'failed').map((run) => run.id) : [],
    isRunning: own.some((run) => run.status === 'running'),
    moveTo: isMoved ? { until: until.toISOString(), schedule, readUntil, readSchedule } : undefined,
  };
}

/** Slots after this instant have to be run. */
function startOf(row: JobRow, schedule: string, now: Date): Date {
  const handled = Date.parse(row.handled_until);
  // The clock went back: slots that come again have been run, and their rows prevent a second run.
  if (handled > now.getTime() + skewMs) return now;
  // A new schedule has no missed slots, except one that has just come.
  if (row.handled_schedule !== schedule) return new Date(Math.max(handled, now.getTime() - lateAfterMs));
  return new Date(handled);
}
