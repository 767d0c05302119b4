import { setTimeout as sleep } from 'node:timers/promises';

import { orAborted } from '#core/base/concurrency/or-aborted';
import type { Database } from '#core/data/db/database';
import type { Log } from '#core/data/log/log';
import { redactText } from '#core/data/log/redaction';
import type { Alerts, Tally } from '#core/platform/jobs/alerts';
import {
  completeRun,
  countFailure,
  extendLease,
  forgetFailures,
  giveBackRun,
  usualDuration,
  type Claim,
} from '#core/platform/jobs/jobs.queries';
import type { BoundJob } from '#core/platform/jobs/terms';

/** Lease of a run: without a heartbeat of its process for this time, the run counts as failed. */
export const leaseMs = 60_000;

const criticalStreak = 3;
/** Shorter runs never count as slow. */
const minSlowMs = 5000;
const minRunsToCompare = 5;
const slowFactor = 3;
const maxErrorLength = 1000;
/** Maximum length of a text that is searched for secrets. */
const maxReadLength = 32_768;

/** The run is no longer this process's. */
class LeaseLost extends Error {}
/** The process ends before the run has. */
class ProcessStops extends Error {}

/** Performs the runs that this process has claimed. */
export type Runner = {
  /** Resolves when the run has ended, with or without success. */
  run(job: BoundJob, claim: Claim, tally: Tally): Promise<void>;
  /** Whether a run of the job is under way in this process, also after its timeout. */
  isBusy(name: string): boolean;
  /** The ids of the runs under way here. */
  running(): string[];
  isClosing(): boolean;
  /** Waits for runs at most this long, then releases them. */
  close(drainMs: number): Promise<void>;
};

type Options = { database: Database; log: Log; now(): Date; alerts: Alerts; leaseMs?: number };
type Result = { output: Record<string, unknown> | null } | { error: unknown };
type Running = { job: BoundJob; claim: Claim; tally: Tally };

export function createRunner(options: Options): Runner {
  return new LocalRunner(options);
}

class LocalRunner implements Runner {
  readonly #options: Options;
  readonly #leaseMs: number;
  readonly #controllers = new Map<string, AbortController>();
  readonly #ends = new Set<Promise<void>>();
  readonly #busy = new Set<string>();
  /** Aborted when no caller waits for the runs any longer. */
  readonly #stop = new AbortController();
  #isClosing = false;

  constructor(options: Options) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? leaseMs;
  }

  run(job: BoundJob, claim: Claim, tally: Tally): Promise<void> {
    const ended = this.#runToEnd({ job, claim, tally }).finally(() => this.#ends.delete(ended));
    this.#ends.add(ended);
    return ended;
  }

  isBusy(name: string): boolean {
    return this.#busy.has(name);
  }

  running(): string[] {
    return [...this.#controllers.keys()];
  }

  isClosing(): boolean {
    return this.#isClosing;
  }

  async close(drainMs: number): Promise<void> {
    this.#isClosing = true;
    const timer = setTimeout(() => this.#giveUp(), drainMs);
    await Promise.all(this.#ends);
    clearTimeout(timer);
    this.#giveUp();
  }

  #giveUp(): void {
    this.#stop.abort();
    for (const controller of this.#controllers.values()) controller.abort(new ProcessStops());
  }

  async #runToEnd(running: Running): Promise<void> {
    const { job, claim, tally } = running;
    // Claimed while the process began to stop: no caller waits for it any more.
    if (this.#isClosing) return this.#writeEnd(running, { error: new ProcessStops() });
    tally.executed += 1;
    const controller = new AbortController();
    this.#controllers.set(claim.id, controller);
    // Until its result is written, other processes must see its heartbeat.
    const heartbeat = setInterval(() => void this.#beat(claim, controller), this.#leaseMs / 3).unref();
    const result = await this.#work(job, controller);
    if ('error' in result) tally.failed += 1;
    await this.#writeEnd(running, result);
    clearInterval(heartbeat);
    this.#controllers.delete(claim.id);
  }

  async #work(job: BoundJob, controller: AbortController): Promise<Result> {
    const { signal } = controller;
    const timeout = setTimeout(
      () => controller.abort(new Error(`The run exceeded its timeout of ${job.timeoutMs} ms.`)),
      job.timeoutMs,
    ).unref();
    try {
      return { output: (await orAborted(this.#start(job, signal), signal)) ?? null };
    } catch (error) {
      return { error };
    } finally {
      clearTimeout(timeout);
    }
  }

  /** Retries until the database takes it, or the process stops: a run that has ended must not count as abandoned. */
  async #writeEnd({ job, claim, tally }: Running, result: Result): Promise<void> {
    const { log, now } = this.#options;
    const at = now().toISOString();
    for (;;) {
      try {
        if (!(await this.#end(job, claim, { result, at }))) return;
        break;
      } catch (error) {
        log.warn({ err: error, job: job.name, runId: claim.id }, 'the result of a run could not be written; retrying');
      }
      if (!(await this.#mayTryAgain())) return;
    }
    const error = 'error' in result ? textOf(result.error) : null;
    const noted =
      error === null
        ? noteSuccess(this.#options, { job, claim, at }, tally)
        : noteFailure(this.#options, { name: job.name, error }, tally);
    await noted.catch((reason: unknown) =>
      log.error({ err: reason, job: job.name }, 'the result of a run could not be counted'),
    );
  }

  /** After a while; false when the process stops before. */
  async #mayTryAgain(): Promise<boolean> {
    const { signal } = this.#stop;
    await sleep(this.#leaseMs / 12, undefined, { signal, ref: false }).catch(() => undefined);
    return !signal.aborted;
  }

  /** A run that ignores its signal goes on alone; until it ends, no run of the same job begins here. */
  #start(job: BoundJob, signal: AbortSignal): ReturnType<BoundJob['run']> {
    this.#busy.add(job.name);
    const running = Promise.resolve().then(() => job.run(signal));
    const forget = () => void this.#busy.delete(job.name);
    running.then(forget, forget);
    return running;
  }

  async #beat({ id, attempt }: Claim, controller: AbortController): Promise<void> {
    const { database, log } = this.#options;
    try {
      const extended = await database
        .platform()
        .interactive.first(extendLease({ id, attempt, leaseMs: this.#leaseMs }));
      if (extended === undefined) controller.abort(new LeaseLost());
    } catch (error) {
      log.warn({ err: error, runId: id }, 'the lease of a run could not be extended; retrying');
    }
  }

  /** @returns whether the run was this process's to end. */
  async #end(job: BoundJob, { id, attempt }: Claim, { result, at }: { result: Result; at: string }): Promise<boolean> {
    const { database, log } = this.#options;
    const { interactive } = database.platform();
    const cause = 'error' in result ? result.error : undefined;
    if (cause instanceof LeaseLost) {
      log.warn({ job: job.name, runId: id }, 'another process has taken over a run');
      return false;
    }
    if (cause instanceof ProcessStops) {
      await interactive.all(giveBackRun({ id, attempt, at, error: 'The process stopped before the end of the run.' }));
      return false;
    }
    const error = 'error' in result ? textOf(result.error) : null;
    const output = 'output' in result ? result.output : null;
    const status = error === null ? 'succeeded' : 'failed';
    return (await interactive.first(completeRun({ id, attempt, status, at, error, output }))) !== undefined;
  }
}

type Noting = Pick<Options, 'database' | 'alerts'>;

/** Counts a run that failed or whose process stopped, and raises the alert. */
export async function noteFailure(
  { database, alerts }: Noting,
  { name, error }: { name: string; error: string },
  tally: Tally,
): Promise<void> {
  const row = await database.platform().interactive.first(countFailure({ name, error }));
  const streak = row?.consecutive_failures ?? 1;
  await alerts.raise(
    {
      type: 'job_failed',
      subject: name,
      severity: streak >= criticalStreak ? 'critical' : 'warning',
      title: `The job ${name} failed`,
      message: streak === 1 ? error : `${streak} times in a row: ${error}`,
    },
    tally,
  );
}

async function noteSuccess(
  { database, alerts }: Noting,
  { job, claim, at }: { job: BoundJob; claim: Claim; at: string },
  tally: Tally,
): Promise<void> {
  const { name, timeoutMs } = job;
  const [, [usual]] = await database
    .platform()
    .interactive.batch([forgetFailures({ name }), usualDuration({ name, exceptId: claim.id })]);
  await alerts.resolve('job_failed', [name]);
  const tookMs = Date.parse(at) - Date.parse(claim.started_at);
  const isComparable = usual !== undefined && usual.runs >= minRunsToCompare && usual.median_ms !== null;
  const usualMs = isComparable ? Math.max(minSlowMs, slowFactor * usual.median_ms!) : Infinity;
  if (tookMs <= Math.min(usualMs, timeoutMs / 2)) {
    await alerts.resolve('job_slow', [name]);
    return;
  }
  const than = tookMs > timeoutMs / 2 ? `half of the ${timeoutMs} ms that it may take` : `usual`;
  await alerts.raise(
    {
      type: 'job_slow',
      subject: name,
      severity: 'warning',
      title: `The job ${name} is slow`,
      message: `The run took ${tookMs} ms, longer than ${than}.`,
    },
    tally,
  );
}

// Redacted before it is shortened, because a truncated secret is not recognised. NUL and lone surrogates are removed, because PostgreSQL refuses them.
function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const clean = redactText(text.slice(0, maxReadLength)).slice(0, maxErrorLength);
  return clean.replaceAll('\0', '').toWellFormed() || 'no message';
}
