import { sql } from 'kysely';

import {
  lock,
  queryBuilder,
  read,
  toRead,
  toWrite,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';
import type { JobRow, JobRunRow, JobTables } from '#core/platform/jobs/jobs.queries';

const builder = queryBuilder<JobTables>();

export const lockJobRow = lock<{ name: string }, JobRow>((p) =>
  builder.selectFrom('jobs').selectAll().where('name', '=', p.name).forUpdate(),
);

/** The latest run of each job. */
export const listLastRuns = read<Record<string, never>, JobRunRow>(() =>
  builder
    .selectFrom('jobs')
    .innerJoinLateral(
      (db) =>
        db
          .selectFrom('job_runs')
          .selectAll()
          .whereRef('job_runs.job_name', '=', 'jobs.name')
          .orderBy('started_at', 'desc')
          .orderBy('id', 'desc')
          .limit(1)
          .as('last'),
      (join) => join.on(sql<boolean>`true`),
    )
    .selectAll('last'),
);

export type JobChanges = Partial<
  Pick<JobRow, 'enabled' | 'schedule' | 'timezone' | 'catch_up' | 'handled_until' | 'handled_schedule'>
>;

export function updateJobRow(name: string, changes: JobChanges, at: string): WriteStatement<JobRow> {
  return toWrite(
    builder
      .updateTable('jobs')
      .set({ ...changes, updated_at: at })
      .where('name', '=', name)
      .returningAll(),
  );
}

type RunFilters = { name: string; status: JobRunRow['status'] | undefined };

export function listRuns(
  filters: RunFilters,
  { limit, offset }: { limit: number; offset: number },
): ReadStatement<JobRunRow> {
  const rows = filtered(filters).selectAll().orderBy('started_at', 'desc').orderBy('id', 'desc');
  return toRead(rows.limit(limit).offset(offset));
}

export function countRuns(filters: RunFilters): ReadStatement<{ total: number }> {
  return countMatches(filtered(filters).select('id'));
}

function filtered({ name, status }: RunFilters) {
  const runs = builder.selectFrom('job_runs').where('job_name', '=', name);
  return status === undefined ? runs : runs.where('status', '=', status);
}
