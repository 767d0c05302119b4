import { coalesce, shareRun } from '#core/base/concurrency/coalesce';
import { orAborted } from '#core/base/concurrency/or-aborted';
import type { Log } from '#core/data/log/log';
import { heartbeatSeconds, type Claim, type Storage } from '#core/platform/queue/storage';
import type { BoundWork } from '#core/platform/queue/terms';

/** Performs waiting tasks in one process. */
export type Consumer = {
  /** A task waits under this name; under any, if the name is undefined. */
  wake(name?: string): void;
  /**
   * Claims no more tasks and aborts running ones; tasks that have not ended then wait for another process.
   * @param graceMs time for running tasks to end
   */
  stop(graceMs: number): Promise<void>;
};

export type ConsumerOptions = {
  work: readonly BoundWork[];
  storage: Storage;
  log: Log;
  onError(error: unknown): void;
  /** Interval of polling for tasks that became due. */
  pollMs: number;
  /** Interval of the maintenance of tasks of dead processes. */
  tendMs: number;
};

/** The reason to abort tasks that are released. */
class ProcessStops extends Error {
  override name = 'ProcessStops';
  override message = 'the process stops';
}

type Run = { claim: Claim; controller: AbortController; ended: Promise<void> };

const keepMs = (heartbeatSeconds * 1000) / 3;
const settleRetryMs = 1000;

export function startConsumer(options: ConsumerOptions): Consumer {
  const lines = new Map(options.work.map((work) => [work.name, new Line(work, options)]));
  const every = (ms: number, run: () => unknown) => {
    // Jitter: processes that started together do not all poll at once.
    const timer = setInterval(run, ms * (0.9 + Math.random() / 5)).unref();
    return () => clearInterval(timer);
  };
  const wake = (name?: string) => {
    if (name === undefined) lines.forEach((line) => void line.look());
    else void lines.get(name)?.look();
  };
  const tend = shareRun(() => options.storage.tend().catch(options.onError));
  const timers = [
    every(options.pollMs, wake.bind(undefined, undefined)),
    every(options.tendMs, tend),
    every(keepMs, () => lines.forEach((line) => void line.keep())),
  ];
  wake();
  return {
    wake,
    async stop(graceMs) {
      timers.slice(0, 2).forEach((end) => end());
      await Promise.all([tend.underWay(), ...[...lines.values()].map((line) => line.stop(graceMs))]);
      timers.forEach((end) => end());
    },
  };
}

/** The tasks of one name. */
class Line {
  readonly #work: BoundWork;
  readonly #options: ConsumerOptions;
  readonly #runs = new Set<Run>();
  #isStopped = false;
  readonly #graceOver = new AbortController();

  constructor(work: BoundWork, options: ConsumerOptions) {
    this.#work = work;
    this.#options = options;
  }

  /** Claims as many tasks as may run at once. */
  readonly look = coalesce(() => this.#lookOnce());

  async #lookOnce(): Promise<void> {
    const room = this.#work.concurrency - this.#runs.size;
    if (this.#isStopped || room <= 0) return;
    try {
      for (const claim of await this.#options.storage.take(this.#work.name, room)) this.#begin(claim);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #begin(claim: Claim): void {
    const controller = new AbortController();
    const run: Run = { claim, controller, ended: Promise.resolve() };
    this.#runs.add(run);
    // Claimed while the process began to stop.
    if (this.#isStopped) controller.abort(new ProcessStops());
    run.ended = this.#run(run).finally(() => {
      this.#runs.delete(run);
      void this.look();
    });
  }

  async #run(run: Run): Promise<void> {
    const { claim, controller } = run;
    const { storage, log } = this.#options;
    const { name } = this.#work;
    const outcome = await this.#attempt(run);
    const { reason } = controller.signal as { reason: unknown };
    if (reason instanceof TakenOver) return;
    if (outcome.succeeded) return this.#settle(run, () => storage.succeed(name, claim));
    if (reason instanceof ProcessStops) return this.#settle(run, () => storage.giveBack(name, claim));
    const attempt = claim.retryCount + 1;
    const isLast = attempt >= this.#work.attempts;
    const facts = { err: outcome.error, work: name, piece: claim.id, attempt };
    if (isLast) log.error(facts, 'task failed for the last time; it is kept as a dead letter');
    else log.warn(facts, 'task failed; it will be retried');
    return this.#settle(run, () => storage.fail(name, claim, outcome.error));
  }

  /** Ends with its signal, even if the task ignores the signal. */
  async #attempt({ claim, controller }: Run): Promise<{ succeeded: true } | { succeeded: false; error: unknown }> {
    const { signal } = controller;
    const timer = setTimeout(() => controller.abort(new TooLong()), this.#work.timeoutMs);
    try {
      signal.throwIfAborted();
      const work = this.#work.run({ data: claim.data, attempt: claim.retryCount + 1, signal });
      // A stopping process leaves the task its grace time to complete.
      await orAborted(work, signal).catch((error: unknown) => this.#outlast(work, error));
      return { succeeded: true };
    } catch (error) {
      return { succeeded: false, error };
    } finally {
      clearTimeout(timer);
    }
  }

  async #outlast(work: Promise<unknown>, error: unknown): Promise<unknown> {
    if (!(error instanceof ProcessStops)) throw error;
    return orAborted(work, this.#graceOver.signal);
  }

  /** Retries until the database takes it, or another process has taken over the task. */
  async #settle({ controller }: Run, settle: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await settle();
      } catch (error) {
        this.#options.onError(error);
        if (this.#graceOver.signal.aborted || controller.signal.reason instanceof TakenOver) return;
        await new Promise((resolve) => setTimeout(resolve, settleRetryMs));
      }
    }
  }

  /** Sends the heartbeat, and aborts tasks that this process no longer owns. */
  async keep(): Promise<void> {
    const runs = [...this.#runs];
    if (runs.length === 0) return;
    try {
      const kept = await this.#options.storage.keep(
        this.#work.name,
        runs.map(({ claim }) => claim),
      );
      // A task that was just settled has no owner either; it notices nothing.
      for (const { claim, controller } of runs) if (!kept.has(claim.id)) controller.abort(new TakenOver());
    } catch (error) {
      this.#options.onError(error);
    }
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    for (const { controller } of this.#runs) controller.abort(new ProcessStops());
    // The last look: it takes nothing, and ends after the one under way.
    await this.look();
    const timer = setTimeout(() => this.#graceOver.abort(), graceMs);
    await Promise.all([...this.#runs].map(({ ended }) => ended));
    clearTimeout(timer);
  }
}

class TooLong extends Error {
  override name = 'TooLong';
  override message = 'the attempt took too long';
}

class TakenOver extends Error {
  override name = 'TakenOver';
  override message = 'another process has taken over the task';
}
