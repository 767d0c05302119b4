import { sql, type SelectQueryBuilder } from 'kysely';

import { queryBuilder, searchPatterns, statement, toQuery, type Query } from '#core/db/query';
import { countMatches } from '#core/db/totals';
import type { LogRow, LogTables, RequestCountTables } from '#modules/logs/logs.tables';

export type LogFilters = {
  levels?: readonly number[] | undefined;
  service?: string | undefined;
  tenantId?: string | undefined;
  userId?: string | undefined;
  requestId?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  search?: string | undefined;
};

type LogSelect = SelectQueryBuilder<LogTables, 'application_logs', object>;

const builder = queryBuilder<LogTables & RequestCountTables>();

export function listLogs(
  filters: LogFilters,
  page: { limit: number; offset: number; descending: boolean },
): Query<LogRow> {
  const direction = page.descending ? 'desc' : 'asc';
  return toQuery(
    matching(filters)
      .selectAll()
      .orderBy('logged_at', direction)
      .orderBy('id', direction)
      .limit(page.limit)
      .offset(page.offset),
  );
}

export function countLogs(filters: LogFilters): Query<{ total: number }> {
  return countMatches(matching(filters).select('id'));
}

/** The next lines behind one, oldest first: how all of them are read a piece at a time. */
export function nextLogs(
  filters: LogFilters,
  { after, limit }: { after: Pick<LogRow, 'logged_at' | 'id'> | undefined; limit: number },
): Query<LogRow> {
  let query = matching(filters);
  if (after !== undefined)
    query = query.where(sql<boolean>`(logged_at, id) > (${after.logged_at}::timestamptz, ${after.id}::uuid)`);
  return toQuery(query.selectAll().orderBy('logged_at').orderBy('id').limit(limit));
}

function matching(filters: LogFilters): LogSelect {
  let query = builder.selectFrom('application_logs') as unknown as LogSelect;
  if (filters.levels !== undefined) query = query.where('level', 'in', filters.levels);
  if (filters.service !== undefined) query = query.where('service', '=', filters.service);
  if (filters.tenantId !== undefined) query = query.where('concerned_tenant_id', '=', filters.tenantId);
  if (filters.userId !== undefined) query = query.where('user_id', '=', filters.userId);
  if (filters.requestId !== undefined) query = query.where('request_id', '=', filters.requestId);
  if (filters.from !== undefined) query = query.where('logged_at', '>=', filters.from);
  if (filters.to !== undefined) query = query.where('logged_at', '<', filters.to);
  for (const pattern of searchPatterns(filters.search)) {
    query = query.where(sql<boolean>`lower(message) like lower(${pattern})`);
  }
  return query;
}

type Period = { from: string; to: string };

export const sumDurations = statement<Period, { bucket: number; requests: number; errors: number }>((p) =>
  builder
    .selectFrom('request_minutes')
    .select([
      'bucket',
      sql<number>`sum(requests)::bigint`.as('requests'),
      sql<number>`sum(errors)::bigint`.as('errors'),
    ])
    .where('minute', '>=', p.from)
    .where('minute', '<', p.to)
    .groupBy('bucket')
    .orderBy('bucket'),
);

export const sumTenants = statement<Period, { tenant: string; requests: number; errors: number }>((p) =>
  builder
    .selectFrom('tenant_request_hours')
    .select([
      'concerned_tenant_id as tenant',
      sql<number>`sum(requests)::bigint`.as('requests'),
      sql<number>`sum(errors)::bigint`.as('errors'),
    ])
    .where('hour', '>=', p.from)
    .where('hour', '<', p.to)
    .groupBy('concerned_tenant_id')
    .orderBy('requests', 'desc')
    .orderBy('concerned_tenant_id')
    .limit(50),
);

export const sumErrors = statement<Period, { message: string; errors: number; last_at: string }>((p) =>
  builder
    .selectFrom('error_hours')
    .select(['message', sql<number>`sum(errors)::bigint`.as('errors'), sql<string>`max(last_at)`.as('last_at')])
    .where('hour', '>=', p.from)
    .where('hour', '<', p.to)
    .groupBy('message')
    .orderBy('errors', 'desc')
    .orderBy('message')
    .limit(20),
);

export const sumVolumes = statement<Period, { service: string; level: number; lines: number; bytes: number }>((p) =>
  builder
    .selectFrom('log_hours')
    .select([
      'service',
      'level',
      sql<number>`sum(lines)::bigint`.as('lines'),
      sql<number>`sum(bytes)::bigint`.as('bytes'),
    ])
    .where('hour', '>=', p.from)
    .where('hour', '<', p.to)
    .groupBy(['service', 'level']),
);

/** Housekeeping: what no preview reaches back to. */
export const deleteOldVolumes = statement<{ before: string; most: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('log_hours')
    .where(sql<boolean>`(hour, service, level) in (
      select hour, service, level from log_hours where hour < ${p.before} order by hour limit ${p.most})`)
    .returning(sql<number>`1`.as('deleted')),
);
