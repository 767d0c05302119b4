import { sql } from 'kysely';

import { queryBuilder, read, write } from '#core/data/db/query';
import type { JobTables } from '#core/platform/jobs/jobs.queries';

export const alertTypes = ['job_failed', 'job_missed', 'job_slow', 'service_unhealthy', 'unauthorized_calls'] as const;
export type AlertType = (typeof alertTypes)[number];

export const alertSeverities = ['info', 'warning', 'critical'] as const;

export type AlertRow = {
  id: string;
  type: AlertType;
  /** Subject of the alert: a job, a service, an address. */
  subject: string;
  severity: (typeof alertSeverities)[number];
  title: string;
  message: string;
  occurrences: number;
  acknowledged: boolean;
  acknowledged_by: string | null;
  acknowledged_at: string | null;
  created_at: string;
  last_seen_at: string;
  resolved_at: string | null;
};

export type NewAlert = Pick<AlertRow, 'type' | 'subject' | 'severity' | 'title' | 'message'>;

const builder = queryBuilder<Pick<JobTables, 'jobs'> & { dispatcher_alerts: AlertRow }>();

/** One open alert for each type and subject: what is seen again is counted, and what got worse has to be seen again. */
export const raiseAlert = write<NewAlert & { id: string; at: string }, Pick<AlertRow, 'id'> & { is_new: boolean }>(
  (p) =>
    builder
      .insertInto('dispatcher_alerts')
      .values({
        id: p.id,
        type: p.type,
        subject: p.subject,
        severity: p.severity,
        title: p.title,
        message: p.message,
        occurrences: 1,
        acknowledged: false,
        acknowledged_by: null,
        acknowledged_at: null,
        created_at: p.at,
        last_seen_at: p.at,
        resolved_at: null,
      })
      .onConflict((conflict) =>
        conflict
          .columns(['type', 'subject'])
          .where('resolved_at', 'is', null)
          .doUpdateSet({
            severity: sql`excluded.severity`,
            title: sql`excluded.title`,
            message: sql`excluded.message`,
            occurrences: sql`dispatcher_alerts.occurrences + 1`,
            last_seen_at: sql`excluded.last_seen_at`,
            acknowledged: sql`dispatcher_alerts.acknowledged and (excluded.severity <> 'critical' or dispatcher_alerts.severity = 'critical')`,
          }),
      )
      .returning(['id', sql<boolean>`(xmax = 0)`.as('is_new')]),
);

export const resolveAlert = write<{ type: AlertType; subject: string; at: string }, never>((p) =>
  builder
    .updateTable('dispatcher_alerts')
    .set({ resolved_at: p.at })
    .where('type', '=', p.type)
    .where('subject', '=', p.subject)
    .where('resolved_at', 'is', null),
);

/** Those of a type that were not seen again for a while. */
export const resolveQuietAlerts = write<{ type: AlertType; seenBefore: string; at: string }, never>((p) =>
  builder
    .updateTable('dispatcher_alerts')
    .set({ resolved_at: p.at })
    .where('type', '=', p.type)
    .where('last_seen_at', '<', p.seenBefore)
    .where('resolved_at', 'is', null),
);

/** Those of jobs that are not among the given ones, or are switched off: nothing they do will end them. */
export const resolveJobAlerts = write<{ jobs: readonly string[]; at: string }, never>((p) =>
  builder
    .updateTable('dispatcher_alerts')
    .set({ resolved_at: p.at })
    .where('type', 'in', ['job_failed', 'job_missed', 'job_slow'])
    .where('resolved_at', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('jobs')
            .select('name')
            .whereRef('name', '=', 'dispatcher_alerts.subject')
            .where('enabled', '=', true)
            .where(sql<boolean>`name = any (${p.jobs}::text[])`),
        ),
      ),
    ),
);

/** Open and recently resolved alerts, the newest first. */
export const listRecentAlerts = read<{ resolvedSince: string; max: number }, AlertRow>((p) =>
  builder
    .selectFrom('dispatcher_alerts')
    .selectAll()
    .where((is) => is.or([is('resolved_at', 'is', null), is('resolved_at', '>=', p.resolvedSince)]))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.max),
);

/** The first acknowledgement is final. */
export const acknowledgeAlert = write<{ id: string; by: string | null; at: string }, Pick<AlertRow, 'id'>>((p) =>
  builder
    .updateTable('dispatcher_alerts')
    .set({
      acknowledged: true,
      acknowledged_by: sql`case when acknowledged then acknowledged_by else ${p.by}::uuid end`,
      acknowledged_at: sql`case when acknowledged then acknowledged_at else ${p.at}::timestamptz end`,
    })
    .where('id', '=', p.id)
    .returning('id'),
);

export const deleteOldAlerts = write<{ before: string; max: number }, { id: string }>((p) =>
  builder
    .deleteFrom('dispatcher_alerts')
    .where('id', 'in', (db) =>
      db.selectFrom('dispatcher_alerts').select('id').where('resolved_at', '<', p.before).limit(p.max),
    )
    .returning('id'),
);
