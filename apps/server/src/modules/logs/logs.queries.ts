import { sql, type SelectQueryBuilder } from 'kysely';

import { queryBuilder, read, searchPatterns, toRead, write, type ReadStatement } from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';
import type { LogRow, LogTables } from '#core/data/log/log-store.queries';
import type { RequestCountTables } from '#core/data/log/request-counts.queries';

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

const columns = [
  'logged_at',
  'id',
  'level',
  'service',
  'message',
  'concerned_tenant_id',
  'user_id',
  'request_id',
  'context',
] as const;

/** Position of a page in all matching lines, in order of time. */
export type LogPage = { limit: number; offset: number; descending: boolean };

export function listLogs(filters: LogFilters, { limit, offset, descending }: LogPage): ReadStatement<LogRow> {
  const direction = descending ? 'desc' : 'asc';
  return toRead(
    matching(filters)
      .select(columns)
      .orderBy('logged_at', direction)
      .orderBy('id', direction)
      .limit(limit)
      .offset(offset),
  );
}

export function countLogs(filters: LogFilters): ReadStatement<{ total: number }> {
  return countMatches(matching(filters).select('id'));
}

/** Position of a line in the log. */
export type LogPosition = Pick<LogRow, 'logged_at' | 'id'>;

type Reading = { after: LogPosition | undefined; limit: number; maxBytes: number };

/** The next matching lines in order of time: at least one if there are more, and no more after `maxBytes` of text. */
export function nextLogs(filters: LogFilters, { after, limit, maxBytes }: Reading): ReadStatement<LogRow> {
  // The time also selects the partitions.
  let query = matching({ ...filters, from: after?.logged_at ?? filters.from });
  if (after !== undefined)
    query = query.where(sql<boolean>`(logged_at, id) > (${after.logged_at}::timestamptz, ${after.id}::uuid)`);
  const next = query.select(columns).orderBy('logged_at').orderBy('id').limit(limit);
  // PostgreSQL knows the length of a long text without reading it.
  const before = sql<number>`sum(octet_length(message) + octet_length(context))
    over (order by logged_at, id rows between unbounded preceding and 1 preceding)`;
  return toRead(
    builder
      .selectFrom(builder.selectFrom(next.as('n')).select(columns).select(before.as('bytes_before')).as('l'))
      .select(columns)
      .where(sql<boolean>`coalesce(bytes_before, 0) < ${maxBytes}`)
      .orderBy('logged_at')
      .orderBy('id'),
  );
}

function matching({ levels, from, to, search, ...filters }: LogFilters): LogSelect {
  let query = builder.selectFrom('application_logs') as unknown as LogSelect;
  const equal = [
    ['service', filters.service],
    ['concerned_tenant_id', filters.tenantId],
    ['user_id', filters.userId],
    ['request_id', filters.requestId],
  ] as const;
  for (const [column, value] of equal) if (value !== undefined) query = query.where(column, '=', value);
  if (levels !== undefined) query = query.where(sql<boolean>`level = any(${levels}::smallint[])`);
  if (from !== undefined) query = query.where('logged_at', '>=', from);
  if (to !== undefined) query = query.where('logged_at', '<', to);
  for (const pattern of searchPatterns(search))
    query = query.where(sql<boolean>`lower(message) like lower(${pattern})`);
  return query;
}

type Period = { from: string; to: string };

export const sumDurations = read<Period, { bucket: number; requests: number; errors: number }>((p) =>
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

export const sumTenants = read<Period, { tenant: string; requests: number; errors: number }>((p) =>
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

export const sumErrors = read<Period, { message: string; errors: number; last_at: string }>((p) =>
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

export const sumVolumes = read<Period, { service: string; level: number; lines: number; bytes: number }>((p) =>
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

/** Deletes counts that are older than every preview. */
export const deleteOldVolumes = write<{ before: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('log_hours')
    .where(sql<boolean>`(hour, service, level) in (
      select hour, service, level from log_hours where hour < ${p.before} order by hour limit ${p.max})`)
    .returning(sql<number>`1`.as('deleted')),
);
