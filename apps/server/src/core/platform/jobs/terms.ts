import type { CatchUp } from '#core/platform/jobs/slots';

/** The definition of a job; an operator may override schedule and catch-up. */
export type JobTerms = {
  /** In kebab-case, led by the name of the module: `storage-sweep`. */
  name: string;
  /** One sentence for operators. */
  description: string;
  /** A cron expression of five fields, in UTC. */
  schedule: string;
  catchUp: CatchUp;
  /** How long a run may take; after that its signal is aborted and the run counts as failed. */
  timeoutMs: number;
};

/** A job with all that it needs already given to it. */
export type BoundJob = JobTerms & {
  /** @returns what is kept as the output of the run: a small object, or nothing. */
  run(signal: AbortSignal): Promise<Record<string, unknown> | undefined>;
};
