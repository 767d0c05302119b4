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
  context: Record<string, unknown>;
};

export type LogTables = {
  application_logs: LogRow;
  log_hours: { hour: string; service: string; level: number; lines: number; bytes: number };
};

const builder = queryBuilder<LogTables>();

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

/** Many lines as one statement of fixed text. */
export const insertLogLines = statement<{ rows: string }, never>((p) =>
  builder
    .insertInto('application_logs')
    .columns(columns)
    .expression((db) =>
      db
        .selectFrom(
          sql<LogRow>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'l'>(
            sql`l(logged_at timestamptz, id uuid, level smallint, service text, message text,
                  concerned_tenant_id uuid, user_id uuid, request_id text, context jsonb)`,
          ),
        )
        .select(columns.map((name) => `l.${name}` as const)),
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
