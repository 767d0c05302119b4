import { sql } from 'kysely';

import { queryBuilder, toRead, type ReadStatement } from '#core/db/query';
import { blockConditions, lineColumns, lineConditions, type LogFilters } from '#modules/logs/logs.queries';
import type { LogRow, LogTables } from '#modules/logs/logs.tables';

/** What is known of a block before its lines are read; `bytes` is the stored size of their texts. */
export type BlockFacts = { first_at: string; id: string; lines: number; bytes: number };

/** Lines that match the filters, of blocks whose first line is in a time range. */
export type BlockSelection = { filters: LogFilters; first?: { from: string; to: string } };

type Position = Pick<BlockFacts, 'first_at' | 'id'>;

const builder = queryBuilder<LogTables>();

/** The next blocks that may have matching lines, in order of their first line. */
export function listBlocks(
  { filters, first }: BlockSelection,
  { after, limit }: { after: Position | undefined; limit: number },
): ReadStatement<BlockFacts> {
  let query = builder.selectFrom('log_blocks');
  for (const condition of blockConditions(filters)) query = query.where(condition);
  if (first !== undefined) query = query.where('first_at', '>=', first.from).where('first_at', '<', first.to);
  if (after !== undefined)
    query = query.where(sql<boolean>`(first_at, id) > (${after.first_at}::timestamptz, ${after.id}::uuid)`);
  return toRead(
    query
      .select(['first_at', 'id', 'lines'])
      // PostgreSQL knows this size without reading the columns.
      .select(sql<number>`pg_column_size(messages) + pg_column_size(contexts)`.as('bytes'))
      .orderBy('first_at')
      .orderBy('id')
      .limit(limit),
  );
}

/** The matching lines of some blocks, which are given in order of their first line. */
export function listLinesOf(blocks: readonly Position[], filters: LogFilters): ReadStatement<LogRow> {
  const lines = builder
    .selectFrom('log_blocks')
    .select([
      'level',
      sql<string>`unnest(times)`.as('logged_at'),
      sql<string>`unnest(ids)`.as('id'),
      sql<string>`unnest(services)`.as('service'),
      sql<string>`unnest(messages)`.as('message'),
      sql<string | null>`unnest(tenant_ids)`.as('concerned_tenant_id'),
      sql<string | null>`unnest(user_ids)`.as('user_id'),
      sql<string | null>`unnest(request_ids)`.as('request_id'),
      sql<string>`unnest(contexts)`.as('context'),
    ])
    // The times select the partitions.
    .where('first_at', '>=', blocks[0]!.first_at)
    .where('first_at', '<=', blocks.at(-1)!.first_at)
    .where(sql<boolean>`log_blocks.id = any(${blocks.map(({ id }) => id)}::uuid[])`);
  let query = builder.selectFrom(lines.as('l')).select(lineColumns);
  for (const condition of lineConditions(filters)) query = query.where(condition);
  return toRead(query);
}
