import type { Database } from '#core/db/database';
import type { Alerts, Tally } from '#core/jobs/alerts';
import {
  completeRun,
  countFailure,
  extendLease,
  forgetFailures,
  giveBackRun,
  usualDuration,
  type Claim,
} from '#core/jobs/jobs.queries';
import type { BoundJob } from '#core/jobs/terms';
import type { Log } from '#core/log/log';

/** How long a run counts as alive without a sign of life from its process. */
export const leaseMs = 60_000;

const criticalStreak = 3;
/** What takes less is never slow, however quick it usually is. */
const leastSlowMs = 5000;
const leastRunsToJudge = 5;
const slowFactor = 3;
const longestError = 1000;

/** The run is no longer this process's. */
class LeaseLost extends Error {}
/** The process ends before the run has. */
class ProcessStops extends Error {}

/** Works off what this process has claimed. */
export type Runner = {
  /** Resolves when the run has ended, however it ends. */
  run(job: BoundJob, claim: Claim, tally: Tally): Promise<void>;
  /** A run of the job still goes on in this process, even one whose time is over. */
  isBusy(name: string): boolean;
  /** The ids of the runs under way here. */
  running(): string[];
  isClosing(): boolean;
  /** Waits for what runs, at most so long, then gives it back. */
  close(drainMs: number): Promise<void>;
};

type Options = { database: Database; log: Log; now(): Date; alerts: Alerts; leaseMs?: number };
type Result = { output: Record<string, unknown> | null } | { error: unknown };

export function createRunner(options: Options): Runner {
  return new LocalRunner(options);
}

class LocalRunner implements Runner {
  readonly #options: Options;
  readonly #leaseMs: number;
  readonly #controllers = new Map<string, AbortController>();
  readonly #ends = new Set<Promise<void>>();
  readonly #busy = new Set<string>();
  #isClosing = false;

  constructor(options: Options) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? leaseMs;
  }

  run(job: BoundJob, claim: Claim, tally: Tally): Promise<void> {
    const ended = this.#runToEnd(job, claim, tally).finally(() => this.#ends.delete(ended));
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
    const timer = setTimeout(() => {
      for (const controller of this.#controllers.values()) controller.abort(new ProcessStops());
    }, drainMs);
    await Promise.all(this.#ends);
    clearTimeout(timer);
  }

  async #runToEnd(job: BoundJob, claim: Claim, tally: Tally): Promise<void> {
    tally.executed += 1;
    const result = await this.#work(job, claim);
    if ('error' in result) tally.failed += 1;
    await this.#end(job, claim, { result, tally }).catch((error: unknown) =>
      this.#options.log.error({ err: error, job: job.name }, 'the end of a job could not be written down'),
    );
  }

  async #work(job: BoundJob, claim: Claim): Promise<Result> {
    const controller = new AbortController();
    const { signal } = controller;
    this.#controllers.set(claim.id, controller);
    const timeout = setTimeout(
      () => controller.abort(new Error(`The run took longer than ${job.timeoutMs} ms and was given up.`)),
      job.timeoutMs,
    ).unref();
    const heartbeat = setInterval(() => void this.#beat(claim, controller), this.#leaseMs / 3).unref();
    try {
      return { output: (await Promise.race([this.#start(job, signal), aborted(signal)])) ?? null };
    } catch (error) {
      return { error };
    } finally {
      clearTimeout(timeout);
      clearInterval(heartbeat);
      this.#controllers.delete(claim.id);
    }
  }

  /** What does not heed its signal goes on alone; until it ends, nothing of its kind begins beside it. */
  #start(job: BoundJob, signal: AbortSignal): ReturnType<BoundJob['run']> {
    this.#busy.add(job.name);
    const running = Promise.resolve().then(() => job.run(signal));
    const forget = () => void this.#busy.delete(job.name);
    running.then(forget, forget);
    return running;
  }

  async #beat({ id, attempt }: Claim, controller: AbortController): Promise<void> {
    const { database, log, now } = this.#options;
    const leaseUntil = new Date(now().getTime() + this.#leaseMs).toISOString();
    try {
      const kept = await database.platform().slow.first(extendLease({ id, attempt, leaseUntil }));
      if (kept === undefined) controller.abort(new LeaseLost());
    } catch (error) {
      log.warn({ err: error, runId: id }, 'the lease of a job could not be extended and will be tried again');
    }
  }

  async #end(job: BoundJob, claim: Claim, { result, tally }: { result: Result; tally: Tally }): Promise<void> {
    const { database, log, now } = this.#options;
    const { slow } = database.platform();
    const { id, attempt } = claim;
    const at = now().toISOString();
    const cause = 'error' in result ? result.error : undefined;
    if (cause instanceof LeaseLost) {
      log.warn({ job: job.name, runId: id }, 'a job was taken over by another process');
      return;
    }
    if (cause instanceof ProcessStops) {
      await slow.all(giveBackRun({ id, attempt, at, error: 'The process was stopped before the end.' }));
      return;
    }
    const error = 'error' in result ? textOf(result.error) : null;
    const output = 'output' in result ? result.output : null;
    const status = error === null ? 'succeeded' : 'failed';
    if ((await slow.first(completeRun({ id, attempt, status, at, error, output }))) === undefined) return;
    if (error === null) await noteSuccess(this.#options, { job, claim, at }, tally);
    else await noteFailure(this.#options, { name: job.name, error }, tally);
  }
}

type Noting = Pick<Options, 'database' | 'alerts'>;

/** Counts a run that failed, or whose process was gone, and says so. */
export async function noteFailure(
  { database, alerts }: Noting,
  { name, error }: { name: string; error: string },
  tally: Tally,
): Promise<void> {
  const row = await database.platform().slow.first(countFailure({ name, error }));
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
    .slow.flight([forgetFailures({ name }), usualDuration({ name, exceptId: claim.id })]);
  await alerts.resolve('job_failed', [name]);
  const tookMs = Date.parse(at) - Date.parse(claim.started_at);
  const isJudged = usual !== undefined && usual.runs >= leastRunsToJudge && usual.median_ms !== null;
  const usualMs = isJudged ? Math.max(leastSlowMs, slowFactor * usual.median_ms!) : Infinity;
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

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

// A text that PostgreSQL takes, whatever the error has in it.
function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll('\0', '').toWellFormed().slice(0, longestError) || 'no message';
}
