/** Jobs are run in the core; this module shows them and is how people change them. */
export type { JobRow, JobRunRow, JobTables } from '#core/platform/jobs/jobs.queries';
