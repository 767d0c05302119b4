import { sql } from 'kysely';

import { queryBuilder, statement } from '#core/db/query';

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

/** Lines of one level column by column: arrays in binary. */
export type LogColumns = Readonly<
  Record<'times' | 'ids' | 'services' | 'messages' | 'tenantIds' | 'userIds' | 'requestIds' | 'contexts', Buffer> & {
    level: number;
  }
>;

const columns = [
  'logged_at',
  'id',
  'service',
  'message',
  'concerned_tenant_id',
  'user_id',
  'request_id',
  'context',
  'level',
] as const;

/** Many lines as one statement of fixed text; to take them apart as a list of JSON objects takes more than twice as long. */
export const insertLogLines = statement<LogColumns, never>((p) =>
  builder
    .insertInto('application_logs')
    .columns(columns)
    .expression((db) =>
      db
        .selectFrom(
          sql<Omit<LogRow, 'level'>>`unnest(
            ${p.times}::timestamptz[], ${p.ids}::uuid[], ${p.services}::text[], ${p.messages}::text[],
            ${p.tenantIds}::uuid[], ${p.userIds}::uuid[], ${p.requestIds}::text[], ${p.contexts}::text[])`.as<'l'>(
            sql`l(logged_at, id, service, message, concerned_tenant_id, user_id, request_id, context)`,
          ),
        )
        .select([
          'l.logged_at',
          'l.id',
          'l.service',
          'l.message',
          'l.concerned_tenant_id',
          'l.user_id',
          'l.request_id',
          'l.context',
          sql<number>`${p.level}::smallint`.as('level'),
        ]),
    ),
);

/** How many lines there were, beside them. */
export const addLogHours = statement<{ rows: string }, never>((p) =>
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
