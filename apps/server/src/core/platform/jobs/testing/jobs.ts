import type { Database } from '#core/data/db/database';
import type { Query } from '#core/data/db/query';
import type { Statements } from '#core/data/db/scopes';
import type { ServiceState } from '#core/platform/health/health';
import type { AlertRow } from '#core/platform/jobs/alerts.queries';
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '#core/platform/jobs/dispatcher';
import type { JobRow, JobRunRow } from '#core/platform/jobs/jobs.queries';
import type { BoundJob } from '#core/platform/jobs/terms';
import type { Services } from '#core/platform/services';

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

/** The same database, with an action or a failure before each statement on the platform's interactive pool. */
export function intercepted(database: Database, before: (query: Query<unknown>) => Promise<void> | void): Database {
  const platform = database.platform();
  const { interactive } = platform;
  const watched: Statements = {
    all: async (query) => {
      await before(query);
      return interactive.all(query);
    },
    first: async (query) => {
      await before(query);
      return interactive.first(query);
    },
    batch: async (queries) => {
      for (const query of queries) await before(query);
      return interactive.batch(queries);
    },
  };
  const passed = new Proxy(platform, {
    get: (target, name) => {
      if (name === 'interactive') return watched;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { ...database, platform: () => passed };
}

/** Ends the lease of a run, as if its process had been gone for so long. */
export async function endLease(database: Database, name: string): Promise<void> {
  const text = `update job_runs set lease_until = now() - interval '1 second' where job_name = $1 and status = 'running'`;
  await database.platform().interactive.all(query(text, [name]));
}

const query = (text: string, values: unknown[]) => ({ kind: 'write' as const, text, values, prepare: false });

/** The runs of a job, the oldest slot first. */
export function runsOf(database: Database, name: string): Promise<JobRunRow[]> {
  return database
    .platform()
    .interactive.all<JobRunRow>(query('select * from job_runs where job_name = $1 order by slot, started_at', [name]));
}

/** The slots of a job that were run, in the order in which they were started. */
export async function slotsOf(database: Database, name: string): Promise<(string | null)[]> {
  const text = 'select slot from job_runs where job_name = $1 order by started_at, slot';
  const rows = await database.platform().interactive.all<Pick<JobRunRow, 'slot'>>(query(text, [name]));
  return rows.map((row) => row.slot);
}

export async function jobRow(database: Database, name: string): Promise<JobRow> {
  return (await database.platform().interactive.first<JobRow>(query('select * from jobs where name = $1', [name])))!;
}

/** The alerts about a subject, the oldest first. */
export function alertsOf(database: Database, subject: string): Promise<AlertRow[]> {
  return database
    .platform()
    .interactive.all<AlertRow>(query('select * from dispatcher_alerts where subject = $1 order by id', [subject]));
}
