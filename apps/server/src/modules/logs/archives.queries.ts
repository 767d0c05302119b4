import { sql } from 'kysely';

import { queryBuilder, read, write, type ReadStatement } from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';
import type { LogTables } from '#core/data/log/log-store.queries';

export type LogArchiveRow = {
  name: string;
  id: string;
  /** A day in UTC, such as `2026-11-23`. */
  day: string;
  object_key: string;
  record_count: number | null;
  size_bytes: number | null;
  first_line_at: string | null;
  first_line: string | null;
  created_at: string;
};

/** A complete archive. */
export type StoredArchive = LogArchiveRow & { record_count: number; size_bytes: number };

/** A day in UTC, from its first instant to the first instant of the next day. */
export type Day = { from: string; to: string };

const builder = queryBuilder<{ log_archives: LogArchiveRow } & LogTables>();

const columns = [
  'name',
  'id',
  sql<string>`day::text`.as('day'),
  'object_key',
  'record_count',
  'size_bytes',
  'first_line_at',
  'first_line',
  'created_at',
] as const;

/** Time of the first line in a time range; null without lines. */
export const findFirstTime = read<Day, { at: string | null }>((p) =>
  builder
    .selectFrom('application_logs')
    .select(sql<string | null>`min(logged_at)`.as('at'))
    .where('logged_at', '>=', p.from)
    .where('logged_at', '<', p.to),
);

export const findLine = read<{ at: string; id: string }, { id: string }>((p) =>
  builder.selectFrom('application_logs').select('id').where('logged_at', '=', p.at).where('id', '=', p.id),
);

export const countLines = read<Day, { lines: number }>((p) =>
  builder
    .selectFrom('application_logs')
    .select(sql<number>`count(*)`.as('lines'))
    .where('logged_at', '>=', p.from)
    .where('logged_at', '<', p.to),
);

type NewArchive = Pick<LogArchiveRow, 'name' | 'id' | 'day' | 'object_key' | 'created_at'>;

export const insertArchive = write<NewArchive, never>((p) =>
  builder.insertInto('log_archives').values({
    name: p.name,
    id: p.id,
    day: p.day,
    object_key: p.object_key,
    created_at: p.created_at,
    record_count: null,
    size_bytes: null,
    first_line_at: null,
    first_line: null,
  }),
);

export const completeArchive = write<
  { name: string; recordCount: number; sizeBytes: number; firstLineAt: string; firstLine: string },
  never
>((p) =>
  builder
    .updateTable('log_archives')
    .set({
      record_count: p.recordCount,
      size_bytes: p.sizeBytes,
      first_line_at: p.firstLineAt,
      first_line: p.firstLine,
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
