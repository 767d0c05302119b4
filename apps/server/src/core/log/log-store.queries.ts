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

/** Many lines as one statement of fixed text, and beside them how many there were: a batch sent again counts once. */
export const insertLogLines = statement<{ rows: string }, never>((p) =>
  builder
    .with('written', (db) =>
      db
        .insertInto('application_logs')
        .columns(columns)
        .expression((from) =>
          from
            .selectFrom(
              sql<LogRow>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'l'>(
                sql`l(logged_at timestamptz, id uuid, level smallint, service text, message text,
                      concerned_tenant_id uuid, user_id uuid, request_id text, context jsonb)`,
              ),
            )
            .select(columns.map((name) => `l.${name}` as const)),
        )
        .onConflict((conflict) => conflict.columns(['logged_at', 'id']).doNothing())
        .returning(['logged_at', 'service', 'level', 'message', 'context']),
    )
    .insertInto('log_hours')
    .columns(['hour', 'service', 'level', 'lines', 'bytes'])
    .expression((db) =>
      db
        .selectFrom('written')
        .select([
          sql<string>`date_trunc('hour', logged_at, 'UTC')`.as('hour'),
          'service',
          'level',
          sql<number>`count(*)`.as('lines'),
          sql<number>`sum(octet_length(message) + octet_length(context::text) + 120)`.as('bytes'),
        ])
        .groupBy(['hour', 'service', 'level'])
        // Processes that add to the same rows do so in the same order, so that none waits for another in a circle.
        .orderBy('hour')
        .orderBy('service')
        .orderBy('level'),
    )
    .onConflict((conflict) =>
      conflict.columns(['hour', 'service', 'level']).doUpdateSet({
        lines: sql`log_hours.lines + excluded.lines`,
        bytes: sql`log_hours.bytes + excluded.bytes`,
      }),
    ),
);
