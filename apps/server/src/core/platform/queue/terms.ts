/** How long running tasks get to complete once their process is told to stop; then another process continues them. */
export const workDrainMs = 12_000;

/** What the code says of work in the background. */
export type WorkTerms = {
  /** In kebab-case, led by the name of the module: `translation-entities`. */
  name: string;
  /** How many at a time in one process. */
  concurrency: number;
  /** How often it is tried in all; what failed as often is kept as a dead letter for 30 days. */
  attempts: number;
  /**
   * The pause before the second attempt, doubled with each further one up to `maxSeconds` and lengthened by up to as much
   * again; 0 for none.
   */
  backoff: { firstSeconds: number; maxSeconds: number };
  /** How long one attempt may take; after that its signal is aborted and the attempt counts as failed. */
  timeoutMs: number;
};

/** One attempt at a task. */
export type Attempt<Data> = {
  data: Data;
  /** Counted from 1. */
  attempt: number;
  /** Aborted when the time is over, the process stops or another process took the work over: what it does counts no more. */
  signal: AbortSignal;
};

/** Work with all that it needs already given to it. */
export type BoundWork = WorkTerms & { run(attempt: Attempt<object>): Promise<unknown> };
