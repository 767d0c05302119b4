import { sql } from 'kysely';

import { queryBuilder, write } from '#core/data/db/query';

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

export type LogTables = {
  application_logs: LogRow;
  log_hours: { hour: string; service: string; level: number; lines: number; bytes: number };
};

const builder = queryBuilder<LogTables>();

type Columns = 'times' | 'ids' | 'services' | 'messages' | 'tenantIds' | 'userIds' | 'requestIds' | 'contexts';

/** Lines of one level as they are written: an array in binary for each column. */
export type LineColumns = Readonly<Record<Columns, Buffer> & { level: number }>;

export const insertLines = write<LineColumns, never>((p) =>
  builder
    .insertInto('application_logs')
    .columns([
      'level',
      'logged_at',
      'id',
      'service',
      'message',
      'concerned_tenant_id',
      'user_id',
      'request_id',
      'context',
    ])
    .expression((db) =>
      db
        .selectFrom(
          sql<LogRow>`unnest(${p.times}::timestamptz[], ${p.ids}::uuid[], ${p.services}::text[], ${p.messages}::text[],
            ${p.tenantIds}::uuid[], ${p.userIds}::uuid[], ${p.requestIds}::text[], ${p.contexts}::text[])`.as<'l'>(
            sql`l(logged_at, id, service, message, concerned_tenant_id, user_id, request_id, context)`,
          ),
        )
        .select([
          sql<number>`${p.level}::smallint`.as('level'),
          'l.logged_at',
          'l.id',
          'l.service',
          'l.message',
          'l.concerned_tenant_id',
          'l.user_id',
          'l.request_id',
          'l.context',
        ]),
    ),
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
