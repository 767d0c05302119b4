import type { Actor, Person } from '#core/base/access/principal';
import { auditForSystem } from '#core/data/audit/system-trail';
import type { Transaction } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { toPage, type SetHeader } from '#core/http/paging';
import { listJobRows, type JobRow, type JobRunRow } from '#core/platform/jobs/jobs.queries';
import { scheduleKey, termsOf } from '#core/platform/jobs/plan';
import { nextSlot, scheduleProblem } from '#core/platform/jobs/slots';
import type { BoundJob } from '#core/platform/jobs/terms';
import type { Services } from '#core/platform/services';
import { JobNotFound, ScheduleInvalid } from '#modules/dispatcher/dispatcher.errors';
import {
  countRuns,
  listLastRuns,
  listRuns,
  lockJobRow,
  updateJobRow,
  type JobChanges,
} from '#modules/dispatcher/dispatcher.queries';
import type { JobRunsQuery, UpdateJobBody } from '#modules/dispatcher/dispatcher.schemas';

type Dependencies = Pick<Services, 'database' | 'dispatcher' | 'now'>;

type Changer = { services: Dependencies; actor: Actor<Person> };

export async function listJobs(services: Dependencies) {
  const { database, dispatcher, now } = services;
  await dispatcher.register();
  const [rows, runs] = await database.platform().interactive.batch([listJobRows({}), listLastRuns({})]);
  const rowOf = new Map(rows.map((row) => [row.name, row]));
  const runOf = new Map(runs.map((run) => [run.job_name, run]));
  const jobs = dispatcher.jobs.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  return { data: jobs.map((job) => presentJob(job, rowOf.get(job.name)!, { run: runOf.get(job.name), now: now() })) };
}

/** @throws JobNotFound */
export async function listJobRuns(
  { services, setHeader }: { services: Dependencies; setHeader: SetHeader },
  name: string,
  { limit = 50, offset = 0, status }: JobRunsQuery,
) {
  getJob(services, name);
  const filters = { name, status };
  const { rows, ...total } = await pageOfMatches(
    services.database.platform(),
    listRuns(filters, { limit, offset }),
    countRuns(filters),
    { limit, offset },
  );
  return toPage(rows.map(presentJobRun), { limit, offset }, total, setHeader);
}

/** Starts a run in addition to the schedule. @throws JobNotFound, JobIsRunning */
export async function runJob({ services, actor }: Changer, name: string) {
  const job = getJob(services, name);
  await services.dispatcher.register();
  const claim = await services.dispatcher.runNow(job, (tx, { id }) =>
    record(tx, { services, actor }, { action: 'scheduled_job.run', details: { job: name, run: id } }),
  );
  return {
    data: {
      ...claim,
      trigger: 'manual',
      slot: null,
      status: 'running',
      completed_at: null,
      duration_ms: null,
      error: null,
      output: null,
    },
  };
}

/** @throws JobNotFound, ScheduleInvalid */
export async function updateJob({ services, actor }: Changer, name: string, body: UpdateJobBody) {
  const job = getJob(services, name);
  const now = services.now();
  await services.dispatcher.register();
  const row = await services.database.platform().transaction(async (tx) => {
    const before = (await tx.first(lockJobRow({ name })))!;
    const terms = termsOf(job, { ...before, ...body });
    const problem = scheduleProblem(terms, now);
    if (problem !== undefined) throw ScheduleInvalid({ details: { problem } });
    const changes: JobChanges = { ...body };
    const isRestarted = scheduleKey(terms) !== before.handled_schedule || (body.enabled === true && !before.enabled);
    if (isRestarted) {
      // No slot of the time before is caught up: the job was disabled or had another schedule.
      changes.handled_until = now.toISOString();
      changes.handled_schedule = scheduleKey(terms);
    }
    const details = { job: name, fields: Object.keys(body) };
    const updated = (await tx.first(updateJobRow(name, changes, now.toISOString())))!;
    await record(tx, { services, actor }, { action: 'scheduled_job.updated', details });
    return updated;
  });
  const [run] = await services.database.platform().all(listRuns({ name, status: undefined }, { limit: 1, offset: 0 }));
  return { data: presentJob(job, row, { run, now }) };
}

function getJob({ dispatcher }: Dependencies, name: string): BoundJob {
  const job = dispatcher.jobs.find((one) => one.name === name);
  if (job === undefined) throw JobNotFound();
  return job;
}

type Entry = { action: string; details: Record<string, unknown> };

function record(tx: Transaction, { services, actor }: Changer, { action, details }: Entry): Promise<void> {
  const event = { action, resourceType: 'scheduled_job', details };
  return auditForSystem(tx, actor, services.now().toISOString(), event);
}

function presentJob(job: BoundJob, row: JobRow, { run, now }: { run: JobRunRow | undefined; now: Date }) {
  const terms = termsOf(job, row);
  return {
    name: job.name,
    description: job.description,
    enabled: row.enabled,
    schedule: terms.schedule,
    timezone: terms.timezone,
    catch_up: terms.catchUp,
    default_schedule: job.schedule,
    timeout_ms: job.timeoutMs,
    next_slot: row.enabled ? (nextSlot(terms, now)?.toISOString() ?? null) : null,
    last_run: run === undefined ? null : presentJobRun(run),
    last_error: row.last_error,
    consecutive_failures: row.consecutive_failures,
  };
}

function presentJobRun(row: JobRunRow) {
  const { id, job_name, trigger, slot, status, attempt, started_at, completed_at, error, output } = row;
  const duration_ms = completed_at === null ? null : Math.max(0, Date.parse(completed_at) - Date.parse(started_at));
  return { id, job_name, trigger, slot, status, attempt, started_at, completed_at, duration_ms, error, output };
}
