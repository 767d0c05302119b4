import type { Database } from '#core/db/database';
import type { ServiceState } from '#core/health/health';
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '#core/jobs/dispatcher';
import type { AlertRow } from '#core/jobs/alerts.queries';
import type { JobRow, JobRunRow } from '#core/jobs/jobs.queries';
import type { BoundJob } from '#core/jobs/terms';
import type { Services } from '#core/services';

export const minute = 60_000;
export const hour = 60 * minute;

/** A clock that stands until it is moved. */
export type Clock = { now(): Date; move(ms: number): void; set(at: string): void };

export function clockAt(at: string): Clock {
  let time = Date.parse(at);
  return {
    now: () => new Date(time),
    move: (ms) => void (time += ms),
    set: (text) => void (time = Date.parse(text)),
  };
}

let made = 0;

/** A job of a name of its own that does nothing, each minute. */
export function jobOf(terms: Partial<BoundJob> = {}): BoundJob {
  made += 1;
  return {
    name: `job-${made}`,
    description: 'Of a test',
    schedule: '* * * * *',
    catchUp: 'run_once',
    timeoutMs: 10 * minute,
    run: () => Promise.resolve(undefined),
    ...terms,
  };
}

type Given = Partial<DispatcherOptions> & { jobs: readonly BoundJob[]; now(): Date };

/** One of as many dispatchers as a test likes on the database of a service. */
export function dispatcherOf({ database, log }: Pick<Services, 'database' | 'log'>, given: Given): Dispatcher {
  const health = { states: () => Promise.resolve<ServiceState[]>([]) };
  return createDispatcher({ database, log, health, secret: undefined, ...given });
}

const query = (text: string, values: unknown[]) => ({ text, values, prepare: false });

/** The runs of a job, the oldest slot first. */
export function runsOf(database: Database, name: string): Promise<JobRunRow[]> {
  return database
    .platform()
    .slow.all<JobRunRow>(query('select * from job_runs where job_name = $1 order by slot, started_at', [name]));
}

/** The slots of a job that were run, in the order in which they were started. */
export async function slotsOf(database: Database, name: string): Promise<(string | null)[]> {
  const text = 'select slot from job_runs where job_name = $1 order by started_at, slot';
  const rows = await database.platform().slow.all<Pick<JobRunRow, 'slot'>>(query(text, [name]));
  return rows.map((row) => row.slot);
}

export async function jobRow(database: Database, name: string): Promise<JobRow> {
  return (await database.platform().slow.first<JobRow>(query('select * from jobs where name = $1', [name])))!;
}

/** The alerts about a subject, the oldest first. */
export function alertsOf(database: Database, subject: string): Promise<AlertRow[]> {
  return database
    .platform()
    .slow.all<AlertRow>(query('select * from dispatcher_alerts where subject = $1 order by id', [subject]));
}
