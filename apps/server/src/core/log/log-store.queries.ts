import { sql } from 'kysely';

import { queryBuilder, write } from '#core/db/query';

/** `level` as pino numbers them: 10 trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal. */
export type LogRow = {
  logged_at: string;
  id: string;
  level: number;
  service: string;
  message: string;
  concerned_tenant_id: string | null;
  user_id: string | null;
  request_id: string | null;
  /** JSON of an object. */
  context: string;
};

/** What the block of a line says of its lines: a reader who names it too has only such blocks taken apart. */
type BlockOfLine = {
  block_first_at: string;
  block_last_at: string;
  block_concerned: string[];
  block_first_request: string | null;
  block_last_request: string | null;
  block_parts: string[];
  block_messages: string[];
};

type StoredBlock = {
  id: string;
  level: number;
  lines: number;
  first_at: string;
  last_at: string;
  concerned: unknown;
  parts: unknown;
  first_request: string | null;
  last_request: string | null;
  times: unknown;
  ids: unknown;
  services: unknown;
  messages: unknown;
  tenant_ids: unknown;
  user_ids: unknown;
  request_ids: unknown;
  contexts: unknown;
};

export type LogTables = {
  application_logs: LogRow & BlockOfLine;
  log_blocks: StoredBlock;
  log_hours: { hour: string; service: string; level: number; lines: number; bytes: number };
};

const builder = queryBuilder<LogTables>();

type Columns = 'times' | 'ids' | 'services' | 'messages' | 'tenantIds' | 'userIds' | 'requestIds' | 'contexts';

/** A block as it is written: arrays in binary; `concerned` and `parts` are its tenants and users, and its services, each once. */
export type LogBlockRow = Readonly<
  Record<Columns | 'concerned' | 'parts', Buffer> & {
    id: string;
    level: number;
    lines: number;
    firstAt: string;
    lastAt: string;
    firstRequest: string | null;
    lastRequest: string | null;
  }
>;

/** As it comes: to make a row of each line, with its indexes, took PostgreSQL ten times as long. */
export const insertLogBlock = write<LogBlockRow, never>((p) =>
  builder.insertInto('log_blocks').values({
    id: p.id,
    level: p.level,
    lines: p.lines,
    first_at: p.firstAt,
    last_at: p.lastAt,
    concerned: p.concerned,
    parts: p.parts,
    first_request: p.firstRequest,
    last_request: p.lastRequest,
    times: p.times,
    ids: p.ids,
    services: p.services,
    messages: p.messages,
    tenant_ids: p.tenantIds,
    user_ids: p.userIds,
    request_ids: p.requestIds,
    contexts: p.contexts,
  }),
);

/** How many lines there were, next to each line. */
export const addLogHours = write<{ rows: string }, never>((p) =>
  builder
    .insertInto('log_hours')
    .columns(['hour', 'service', 'level', 'lines', 'bytes'])
    .expression((db) =>
      db
        .selectFrom(
          sql<LogTables['log_hours']>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'h'>(
            sql`h(hour timestamptz, service text, level smallint, lines bigint, bytes bigint)`,
          ),
        )
        .select(['h.hour', 'h.service', 'h.level', 'h.lines', 'h.bytes']),
    )
    .onConflict((conflict) =>
      conflict.columns(['hour', 'service', 'level']).doUpdateSet({
        lines: sql`log_hours.lines + excluded.lines`,
        bytes: sql`log_hours.bytes + excluded.bytes`,
      }),
    ),
);
