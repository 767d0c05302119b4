import { sql } from 'kysely';

import { queryBuilder, read, write, type ReadStatement } from '#core/db/query';
import { countMatches } from '#core/db/totals';
import type { LogTables } from '#modules/logs/logs.tables';

export type LogArchiveRow = {
  name: string;
  id: string;
  /** A day in UTC, such as `2026-11-23`. */
  day: string;
  object_key: string;
  blocks: number | null;
  record_count: number | null;
  size_bytes: number | null;
  first_block_at: string | null;
  first_block: string | null;
  created_at: string;
};

/** A complete archive. */
export type StoredArchive = LogArchiveRow & { blocks: number; record_count: number; size_bytes: number };

/** A day in UTC, from its first instant to the first instant of the next day. */
export type Day = { from: string; to: string };

const builder = queryBuilder<{ log_archives: LogArchiveRow } & LogTables>();

const columns = [
  'name',
  'id',
  sql<string>`day::text`.as('day'),
  'object_key',
  'blocks',
  'record_count',
  'size_bytes',
  'first_block_at',
  'first_block',
  'created_at',
] as const;

/** Start of the first block in a time range; null without blocks. */
export const findFirstBlock = read<Day, { at: string | null }>((p) =>
  builder
    .selectFrom('log_blocks')
    .select(sql<string | null>`min(first_at)`.as('at'))
    .where('first_at', '>=', p.from)
    .where('first_at', '<', p.to),
);

export const findBlock = read<{ firstAt: string; id: string }, { id: string }>((p) =>
  builder.selectFrom('log_blocks').select('id').where('first_at', '=', p.firstAt).where('id', '=', p.id),
);

export const countBlocks = read<Day, { blocks: number }>((p) =>
  builder
    .selectFrom('log_blocks')
    .select(sql<number>`count(*)`.as('blocks'))
    .where('first_at', '>=', p.from)
    .where('first_at', '<', p.to),
);

type NewArchive = Pick<LogArchiveRow, 'name' | 'id' | 'day' | 'object_key' | 'created_at'>;

export const insertArchive = write<NewArchive, never>((p) =>
  builder.insertInto('log_archives').values({
    name: p.name,
    id: p.id,
    day: p.day,
    object_key: p.object_key,
    created_at: p.created_at,
    blocks: null,
    record_count: null,
    size_bytes: null,
    first_block_at: null,
    first_block: null,
  }),
);

export const completeArchive = write<
  { name: string; blocks: number; recordCount: number; sizeBytes: number; firstBlockAt: string; firstBlock: string },
  never
>((p) =>
  builder
    .updateTable('log_archives')
    .set({
      blocks: p.blocks,
      record_count: p.recordCount,
      size_bytes: p.sizeBytes,
      first_block_at: p.firstBlockAt,
      first_block: p.firstBlock,
    })
    .where('name', '=', p.name),
);

/** All files of a day, including incomplete ones. */
export const listArchivesOf = read<{ day: string }, LogArchiveRow>((p) =>
  builder
    .selectFrom('log_archives')
    .select(columns)
    .where('day', '=', sql<string>`${p.day}::date`)
    .orderBy('name')
    .limit(1000),
);

export const listStoredArchives = read<{ limit: number; offset: number }, StoredArchive>((p) =>
  builder
    .selectFrom('log_archives')
    .select(columns)
    .where('size_bytes', 'is not', null)
    .orderBy('log_archives.day', 'desc')
    .orderBy('name', 'desc')
    .limit(p.limit)
    .offset(p.offset)
    .$castTo<StoredArchive>(),
);

export function countStoredArchives(): ReadStatement<{ total: number }> {
  return countMatches(builder.selectFrom('log_archives').select('name').where('size_bytes', 'is not', null));
}

export const findStoredArchive = read<{ name: string }, StoredArchive>((p) =>
  builder
    .selectFrom('log_archives')
    .select(columns)
    .where('name', '=', p.name)
    .where('size_bytes', 'is not', null)
    .$castTo<StoredArchive>(),
);

export const deleteArchiveRow = write<{ name: string }, { name: string }>((p) =>
  builder.deleteFrom('log_archives').where('name', '=', p.name).returning('name'),
);
