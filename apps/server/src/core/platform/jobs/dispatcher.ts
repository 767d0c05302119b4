import { newId } from '#core/base/crypto/ids';
import type { Database } from '#core/data/db/database';
import type { Transaction } from '#core/data/db/scopes';
import { violatedConstraint } from '#core/data/db/sql-state';
import type { Log } from '#core/data/log/log';
import type { Health } from '#core/platform/health/health';
import { createAlerts, type Alerts, type Tally } from '#core/platform/jobs/alerts';
import {
  findExternalDispatch,
  saveDispatch,
  type DispatchRow,
  type HealthStatus,
} from '#core/platform/jobs/dispatches.queries';
import { JobIsRunning } from '#core/platform/jobs/errors';
import {
  addJobs,
  claimAgain,
  claimNow,
  claimSlot,
  endLostRuns,
  handleUntil,
  listJobRows,
  listOpenRuns,
  type Claim,
} from '#core/platform/jobs/jobs.queries';
import { planJob, scheduleKey, type JobPlan } from '#core/platform/jobs/plan';
import { createRunner, leaseMs, noteFailure, type Runner } from '#core/platform/jobs/runner';
import { createSecretCheck, type SecretCheck } from '#core/platform/jobs/secret';
import { lateAfterMs } from '#core/platform/jobs/slots';
import type { BoundJob } from '#core/platform/jobs/terms';
import { createWatch } from '#core/platform/jobs/watch';

/** A slot whose process stopped is not retried after this time. */
const retryWithinMs = 24 * 60 * 60_000;

/** One dispatch: a request for the jobs that are due. Times in RFC 3339. */
export type Dispatch = Omit<DispatchRow, 'completed_at'> & { completed_at: string };

/** Runs the scheduled jobs of all modules, each slot once, however many processes and callers ask for it. */
export type Dispatcher = {
  readonly jobs: readonly BoundJob[];
  readonly secret: SecretCheck;
  /**
   * Starts all due jobs and waits for them, at most `waitMs`; jobs that still run then continue and count as executed.
   * @throws when the database cannot be reached.
   */
  dispatch(trigger: DispatchRow['trigger'], options?: { waitMs?: number }): Promise<Dispatch>;
  /** Begins a run in addition to the schedule; `record` is called in its transaction. @throws JobIsRunning */
  runNow(job: BoundJob, record: (tx: Transaction, claim: Claim) => Promise<void>): Promise<Claim>;
  /** Makes sure that every job has its row. */
  register(): Promise<void>;
  /** An external scheduler dispatches often enough. */
  isDrivenOutside(): Promise<boolean>;
  /** Waits for runs at most this long, then releases them for other processes. */
  close(drainMs?: number): Promise<void>;
};

export type DispatcherOptions = {
  database: Database;
  log: Log;
  now(): Date;
  health: Pick<Health, 'states'>;
  jobs: readonly BoundJob[];
  secret: string | undefined;
  /** How long a run counts as alive without a heartbeat, in milliseconds. */
  leaseMs?: number;
};

type Parts = DispatcherOptions & { alerts: Alerts; runner: Runner };

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { database, jobs, now } = options;
  const alerts = createAlerts(options);
  const parts = { ...options, alerts, runner: createRunner({ ...options, alerts }) };
  const watch = createWatch({ ...options, alerts });
  const underWay = new Set<Promise<unknown>>();

  function track<Result>(work: Promise<Result>): Promise<Result> {
    const forget = () => void underWay.delete(work);
    underWay.add(work);
    work.then(forget, forget);
    return work;
  }

  async function dispatch(trigger: DispatchRow['trigger'], { waitMs }: { waitMs?: number } = {}): Promise<Dispatch> {
    const tally: Tally = { executed: 0, failed: 0, skipped: 0, alertsSent: 0 };
    const begun = { id: newId(), trigger, started_at: now().toISOString() };
    const isKept = () => trigger === 'external' || tally.executed > 0;
    if (trigger === 'external') await save(parts, toDispatch(begun, { tally, completedAt: null, health: null }));
    await register(parts);
    await endLost(parts, tally);
    const plans = await look(parts, tally);
    const work = track(Promise.all(plans.map((plan) => workOff(parts, { plan, dispatchId: begun.id }, tally))));
    const hasEnded = await settledWithin(work, waitMs);
    const isLooked = isKept() || watch.isDue();
    const health = isLooked ? await watch.look(tally) : { overall: 'healthy' as const, services: [] };
    const summary = () => toDispatch(begun, { tally, completedAt: now().toISOString(), health }) as Dispatch;
    const answered = summary();
    if (isKept()) await save(parts, answered);
    if (!hasEnded) void track(keepAccount(work, () => save(parts, summary())));
    return answered;
  }

  /** Runs that end after the answer are recorded in the history as well. */
  async function keepAccount(work: Promise<unknown>, write: () => Promise<void>): Promise<void> {
    await work
      .then(write)
      .catch((error: unknown) => options.log.warn({ err: error }, 'the result of a dispatch could not be written'));
  }

  return {
    jobs,
    secret: createSecretCheck(parts),
    dispatch,
    runNow: (job, record) => track(runNow(parts, job, record)),
    register: () => register(parts),
    async isDrivenOutside() {
      const since = new Date(now().getTime() - lateAfterMs).toISOString();
      return (await database.platform().first(findExternalDispatch({ since }))) !== undefined;
    },
    async close(drainMs = 0) {
      await parts.runner.close(drainMs);
      // Runs that were claimed meanwhile are released, and this must be written as well.
      await Promise.allSettled(underWay);
      await parts.runner.close(0);
    },
  };
}

type Begun = Pick<DispatchRow, 'id' | 'trigger' | 'started_at'>;
type Outcome = { tally: Tally; completedAt: string | null; health: HealthStatus | null };

function toDispatch(begun: Begun, { tally, completedAt, health }: Outcome): DispatchRow {
  return {
    ...begun,
    completed_at: completedAt,
    jobs_executed: tally.executed,
    jobs_failed: tally.failed,
    jobs_skipped: tally.skipped,
    alerts_sent: tally.alertsSent,
    health,
  };
}

async function save({ database }: Parts, row: DispatchRow): Promise<void> {
  await database.platform().interactive.all(saveDispatch(row));
}

async function register({ database, jobs, now }: Parts): Promise<void> {
  const db = database.platform();
  const known = new Set((await db.all(listJobRows({}))).map((row) => row.name));
  const unknown = jobs.filter((job) => !known.has(job.name));
  if (unknown.length === 0) return;
  const names = unknown.map((job) => job.name);
  const schedules = unknown.map(({ schedule }) => scheduleKey({ schedule, timezone: 'UTC' }));
  await db.interactive.all(addJobs({ names, schedules, at: now().toISOString() }));
}

async function endLost(parts: Parts, tally: Tally): Promise<void> {
  const { database, now, runner } = parts;
  const error = 'The process of the run stopped.';
  const lost = await database
    .platform()
    .interactive.all(endLostRuns({ at: now().toISOString(), own: runner.running(), error }));
  for (const { job_name: name } of lost) await noteFailure(parts, { name, error }, tally);
}

/** Plans the due runs of each job, and handles at once what needs no run. */
async function look(parts: Parts, tally: Tally): Promise<JobPlan[]> {
  const { database, jobs, log } = parts;
  const now = parts.now();
  const since = new Date(now.getTime() - retryWithinMs).toISOString();
  const [rows, openRuns] = await database.platform().batch([listJobRows({}), listOpenRuns({ since })]);
  const byName = new Map(rows.map((row) => [row.name, row]));
  const plans: JobPlan[] = [];
  for (const job of jobs) {
    const row = byName.get(job.name);
    if (row === undefined) continue;
    try {
      const plan = planJob(job, row, { openRuns, now });
      await prepare(parts, plan, tally);
      plans.push(plan);
    } catch (error) {
      log.error({ err: error, job: job.name }, 'the schedule of a job could not be evaluated');
    }
  }
  return plans;
}

async function prepare({ database, alerts, now }: Parts, { name, moveTo, due }: JobPlan, tally: Tally): Promise<void> {
  if (moveTo !== undefined) await database.platform().interactive.all(handleUntil({ name, ...moveTo }));
  if (due.missed === undefined) return;
  const minutes = Math.floor((now().getTime() - due.missed.getTime()) / 60_000);
  await alerts.raise(
    {
      type: 'job_missed',
      subject: name,
      severity: 'warning',
      title: `The job ${name} was not started in time`,
      message: `The run of ${due.missed.toISOString()} was not started within ${minutes} minutes.`,
    },
    tally,
  );
}

type Assignment = { plan: JobPlan; dispatchId: string };

/** The runs of one job, one after the other; an error affects only this job. */
async function workOff(parts: Parts, assignment: Assignment, tally: Tally): Promise<void> {
  const { plan } = assignment;
  const { runner, log } = parts;
  const job = parts.jobs.find((one) => one.name === plan.name)!;
  if (plan.isRunning || runner.isBusy(job.name)) {
    tally.skipped += 1;
    return;
  }
  try {
    for (const claim of claims(parts, assignment)) {
      if (runner.isClosing()) return;
      const claimed = await claim();
      if (claimed === undefined) {
        tally.skipped += 1;
        return;
      }
      await runner.run(job, claimed, tally);
    }
  } catch (error) {
    log.error({ err: error, job: job.name }, 'a job could not be started');
  }
}

function* claims(parts: Parts, { plan, dispatchId }: Assignment): Generator<() => Promise<Claim | undefined>> {
  const { database, alerts } = parts;
  const { interactive } = database.platform();
  for (const id of plan.retries) {
    yield () =>
      interactive.first(claimAgain({ id, dispatchId, ...leaseOf(parts) })).catch((error: unknown) => {
        if (violatedConstraint(error) === 'job_runs_running') return undefined;
        throw error;
      });
  }
  for (const { at: slot, trigger } of plan.due.slots) {
    yield async () => {
      const ids = { id: newId(), name: plan.name, dispatchId };
      const claim = await interactive.first(
        claimSlot({ ...ids, slot: slot.toISOString(), trigger, ...leaseOf(parts) }),
      );
      if (claim !== undefined && plan.due.missed === undefined) await alerts.resolve('job_missed', [plan.name]);
      return claim;
    };
  }
}

function leaseOf({ now, leaseMs: lease = leaseMs }: Parts): { at: string; leaseMs: number } {
  return { at: now().toISOString(), leaseMs: lease };
}

async function runNow(
  parts: Parts,
  job: BoundJob,
  record: (tx: Transaction, claim: Claim) => Promise<void>,
): Promise<Claim> {
  const { database, runner } = parts;
  if (runner.isBusy(job.name) || runner.isClosing()) throw JobIsRunning();
  const claim = await database.platform().transaction(async (tx) => {
    const claimed = await tx.first(claimNow({ id: newId(), name: job.name, ...leaseOf(parts) }));
    if (claimed === undefined) throw JobIsRunning();
    await record(tx, claimed);
    return claimed;
  });
  void runner.run(job, claim, { executed: 0, failed: 0, skipped: 0, alertsSent: 0 });
  return claim;
}

/** @returns whether it has settled. */
async function settledWithin(work: Promise<unknown>, waitMs: number | undefined): Promise<boolean> {
  const ended = work.then(() => true);
  if (waitMs === undefined) return ended;
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<false>((resolve) => (timer = setTimeout(resolve, waitMs, false).unref()));
  const hasEnded = await Promise.race([ended, enough]);
  clearTimeout(timer);
  return hasEnded;
}
