import { sql } from 'kysely';

import { queryBuilder, read, write } from '#core/data/db/query';

export type ServiceHealth = { service_name: string; status: string; message: string };
export type HealthStatus = { overall: 'healthy' | 'degraded'; services: ServiceHealth[] };

export type DispatchRow = {
  id: string;
  trigger: 'external' | 'internal';
  started_at: string;
  completed_at: string | null;
  jobs_executed: number;
  jobs_failed: number;
  jobs_skipped: number;
  alerts_sent: number;
  health: HealthStatus | null;
};

const builder = queryBuilder<{ dispatches: DispatchRow }>();

/** Written when it begins, where others have to know at once, and again when it has ended. */
export const saveDispatch = write<DispatchRow, never>((p) =>
  builder
    .insertInto('dispatches')
    .values({
      id: p.id,
      trigger: p.trigger,
      started_at: p.started_at,
      completed_at: p.completed_at,
      jobs_executed: p.jobs_executed,
      jobs_failed: p.jobs_failed,
      jobs_skipped: p.jobs_skipped,
      alerts_sent: p.alerts_sent,
      health: p.health,
    })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({
        completed_at: sql`excluded.completed_at`,
        jobs_executed: sql`excluded.jobs_executed`,
        jobs_failed: sql`excluded.jobs_failed`,
        jobs_skipped: sql`excluded.jobs_skipped`,
        alerts_sent: sql`excluded.alerts_sent`,
        health: sql`excluded.health`,
      }),
    ),
);

/** The latest dispatch from outside within the given time. */
export const findExternalDispatch = read<{ since: string }, Pick<DispatchRow, 'started_at'>>((p) =>
  builder
    .selectFrom('dispatches')
    .select('started_at')
    .where('trigger', '=', 'external')
    .where('started_at', '>=', p.since)
    .orderBy('started_at', 'desc')
    .limit(1),
);

export const listRecentDispatches = read<{ max: number }, DispatchRow>((p) =>
  builder
    .selectFrom('dispatches')
    .selectAll()
    .where('completed_at', 'is not', null)
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.max),
);

export const deleteOldDispatches = write<{ before: string; max: number }, { id: string }>((p) =>
  builder
    .deleteFrom('dispatches')
    .where('id', 'in', (db) => db.selectFrom('dispatches').select('id').where('started_at', '<', p.before).limit(p.max))
    .returning('id'),
);
