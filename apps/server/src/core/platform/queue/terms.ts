/** Time for running tasks to complete after their process is told to stop; then another process continues them. */
export const workDrainMs = 12_000;

/** Options of a background task. */
export type WorkTerms = {
  /** In kebab-case, with the name of the module as prefix: `translation-entities`. */
  name: string;
  /** Tasks that run at once in one process. */
  concurrency: number;
  /** Total number of attempts. After the last one the task becomes a dead letter for 30 days. */
  attempts: number;
  /**
   * Pause before the second attempt; it doubles with each attempt up to `maxSeconds`. Jitter adds up to the same time again. 0: no
   * pause.
   */
  backoff: { firstSeconds: number; maxSeconds: number };
  /** Timeout of one attempt; then its signal is aborted and the attempt counts as failed. */
  timeoutMs: number;
};

/** One attempt at a task. */
export type Attempt<Data> = {
  data: Data;
  /** Counted from 1. */
  attempt: number;
  /** Aborted at the timeout, when the process stops, or when another process has taken over the task: later results are ignored. */
  signal: AbortSignal;
};

/** A task with its services bound. */
export type BoundWork = WorkTerms & { run(attempt: Attempt<object>): Promise<unknown> };
