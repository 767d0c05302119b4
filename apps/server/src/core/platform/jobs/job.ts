import type { extendAuditPartitions } from '#core/data/db/migrate';
import type { BoundJob, JobTerms } from '#core/platform/jobs/terms';
import type { Services } from '#core/platform/services';

export type JobContext = {
  services: Services;
  /** The database as its owner, for what only an owner may do. */
  connection: Parameters<typeof extendAuditPartitions>[0];
  /**
   * Aborted at the deadline or when the process stops; another process may begin the job then. A job that works in steps
   * checks it before each one (`throwIfAborted`).
   */
  signal: AbortSignal;
};

/** Recurring work, declared in the module that it belongs to. */
export type Job = JobTerms & {
  /** @returns a small object that is kept with the run, or nothing. */
  run(context: JobContext): Promise<Record<string, unknown> | void>;
};

/** The jobs of a module, bound to services that log under the name of the module. */
export function bindJobs(
  { name, jobs = [] }: { name: string; jobs?: readonly Job[] },
  context: () => Omit<JobContext, 'signal'>,
): BoundJob[] {
  return jobs.map((job) => ({
    ...job,
    run: async (signal) => {
      const { services, connection } = context();
      const moduleServices = { ...services, log: services.log.child({ service: name }) };
      return (await job.run({ services: moduleServices, connection, signal })) ?? undefined;
    },
  }));
}
