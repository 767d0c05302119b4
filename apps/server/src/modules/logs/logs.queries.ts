import { sql, type RawBuilder, type SelectQueryBuilder } from 'kysely';

import { queryBuilder, read, searchPatterns, toRead, write, type ReadStatement } from '#core/db/query';
import { countMatches } from '#core/db/totals';
import { blockSpanMs, type LogRow, type LogTables, type RequestCountTables } from '#modules/logs/logs.tables';

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

/** The part of the log that is read for a page, up to an estimated end; both inclusive. */
type LogReach = { since?: string | undefined; until?: string | undefined };

type LogSelect = SelectQueryBuilder<LogTables, 'application_logs', object>;
type BlockSelect = SelectQueryBuilder<LogTables, 'log_blocks', object>;

const builder = queryBuilder<LogTables & RequestCountTables>();

export const lineColumns = [
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

export function listLogs(
  filters: LogFilters,
  { limit, offset, descending }: LogPage,
  reach: LogReach,
): ReadStatement<LogRow> {
  const direction = descending ? 'desc' : 'asc';
  return toRead(
    matching(filters, reach)
      .select(lineColumns)
      .orderBy('logged_at', direction)
      .orderBy('id', direction)
      .limit(limit)
      .offset(offset),
  );
}

export function countLogs(filters: LogFilters): ReadStatement<{ total: number }> {
  return countMatches(matching(filters).select('id'));
}

/**
 * The time up to which the log must be read to find a number of lines, if all lines of the candidate blocks match, and the number of
 * these lines. No row if there are fewer lines.
 */
export function findReach(
  filters: LogFilters,
  { lines, descending }: { lines: number; descending: boolean },
): ReadStatement<{ reach: string; lines: number }> {
  const direction = descending ? 'desc' : 'asc';
  // Messages are not searched here, because the next statement does it. Each block has at least one line.
  const nearest = matchingBlocks({ ...filters, search: undefined })
    .select(['first_at', 'last_at', 'id', 'lines'])
    .orderBy('first_at', direction)
    .orderBy('id', direction)
    .limit(lines);
  const order = descending ? sql`first_at desc, id desc` : sql`first_at, id`;
  const soFar = sql`over (order by ${order} rows unbounded preceding)`;
  const reaches = builder
    .selectFrom(nearest.as('n'))
    .select([
      sql<number>`sum(lines) ${soFar}`.as('lines'),
      (descending ? sql<string>`first_at` : sql<string>`max(last_at) ${soFar}`).as('reach'),
    ]);
  return toRead(
    builder
      .selectFrom(reaches.as('r'))
      .select(['reach', 'lines'])
      .where('lines', '>=', lines)
      .orderBy('reach', direction)
      .limit(1),
  );
}

function matching(filters: LogFilters, reach: LogReach = {}): LogSelect {
  let query = builder.selectFrom('application_logs') as unknown as LogSelect;
  const conditions = [...blockConditions(filters, reach, blockOfLine), ...lineConditions(filters, reach)];
  for (const condition of conditions) query = query.where(condition);
  return query;
}

/** Conditions on the line itself; only its block has the level. */
export function lineConditions(filters: LogFilters, { since, until }: LogReach = {}): RawBuilder<boolean>[] {
  const { from, to, search } = filters;
  const equal = [
    ['service', filters.service],
    ['concerned_tenant_id', filters.tenantId],
    ['user_id', filters.userId],
    ['request_id', filters.requestId],
  ] as const;
  const conditions = equal.flatMap(([column, value]) =>
    value === undefined ? [] : [sql<boolean>`${sql.ref(column)} = ${value}`],
  );
  if (from !== undefined) conditions.push(sql`logged_at >= ${from}`);
  if (to !== undefined) conditions.push(sql`logged_at < ${to}`);
  if (since !== undefined) conditions.push(sql`logged_at >= ${since}`);
  if (until !== undefined) conditions.push(sql`logged_at <= ${until}`);
  for (const pattern of searchPatterns(search)) conditions.push(sql`lower(message) like lower(${pattern})`);
  return conditions;
}

function matchingBlocks(filters: LogFilters): BlockSelect {
  let query = builder.selectFrom('log_blocks') as unknown as BlockSelect;
  for (const condition of blockConditions(filters)) query = query.where(condition);
  return query;
}

type BlockColumn = 'first_at' | 'last_at' | 'concerned' | 'first_request' | 'last_request' | 'parts' | 'messages';
const ownOfBlock = (name: BlockColumn) => sql.ref(name);
const blockOfLine = (name: BlockColumn) => sql.ref(`block_${name}`);

/** Conditions that every block with a matching line fulfils. */
export function blockConditions(
  filters: LogFilters,
  { since, until }: LogReach = {},
  column: (name: BlockColumn) => RawBuilder<unknown> = ownOfBlock,
): RawBuilder<boolean>[] {
  const { levels, service, requestId, to } = filters;
  const concerned = [filters.tenantId, filters.userId].filter((id) => id !== undefined);
  const conditions: RawBuilder<boolean>[] = [];
  if (levels !== undefined) conditions.push(sql`level = any(${levels}::smallint[])`);
  if (service !== undefined) conditions.push(sql`${column('parts')} @> ${[service]}::text[]`);
  if (concerned.length > 0) conditions.push(sql`${column('concerned')} @> ${concerned}::uuid[]`);
  if (requestId !== undefined)
    conditions.push(sql`${column('first_request')} <= ${requestId}`, sql`${column('last_request')} >= ${requestId}`);
  for (const from of [filters.from, since].filter((at) => at !== undefined)) {
    // Implied by the other condition, but selects the partitions.
    const span = sql`${blockSpanMs} * interval '1 millisecond'`;
    conditions.push(sql`${column('first_at')} >= ${from}::timestamptz - ${span}`, sql`${column('last_at')} >= ${from}`);
  }
  if (to !== undefined) conditions.push(sql`${column('first_at')} < ${to}`);
  if (until !== undefined) conditions.push(sql`${column('first_at')} <= ${until}`);
  for (const pattern of searchPatterns(filters.search))
    conditions.push(
      sql`exists (select from unnest(${column('messages')}) as said where lower(said) like lower(${pattern}))`,
    );
  return conditions;
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
export const deleteOldVolumes = write<{ before: string; most: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('log_hours')
    .where(sql<boolean>`(hour, service, level) in (
      select hour, service, level from log_hours where hour < ${p.before} order by hour limit ${p.most})`)
    .returning(sql<number>`1`.as('deleted')),
);
