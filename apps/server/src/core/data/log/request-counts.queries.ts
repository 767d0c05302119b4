import { sql } from 'kysely';

import { queryBuilder, write } from '#core/data/db/query';

export type RequestCountTables = {
  request_minutes: { minute: string; bucket: number; requests: number; errors: number };
  tenant_request_hours: { hour: string; concerned_tenant_id: string; requests: number; errors: number };
  error_hours: { hour: string; message: string; errors: number; last_at: string };
};

const builder = queryBuilder<RequestCountTables>();

// Each in the order of its key: processes that add to the same rows must not wait for each other in a circle.

export const addRequestMinutes = write<{ rows: string }, never>((p) =>
  builder
    .insertInto('request_minutes')
    .columns(['minute', 'bucket', 'requests', 'errors'])
    .expression((db) =>
      db
        .selectFrom(
          sql<RequestCountTables['request_minutes']>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'r'>(
            sql`r(minute timestamptz, bucket smallint, requests bigint, errors bigint)`,
          ),
        )
        .select(['r.minute', 'r.bucket', 'r.requests', 'r.errors'])
        .orderBy('r.minute')
        .orderBy('r.bucket'),
    )
    .onConflict((conflict) =>
      conflict.columns(['minute', 'bucket']).doUpdateSet({
        requests: sql`request_minutes.requests + excluded.requests`,
        errors: sql`request_minutes.errors + excluded.errors`,
      }),
    ),
);

export const addTenantHours = write<{ rows: string }, never>((p) =>
  builder
    .insertInto('tenant_request_hours')
    .columns(['hour', 'concerned_tenant_id', 'requests', 'errors'])
    .expression((db) =>
      db
        .selectFrom(
          sql<RequestCountTables['tenant_request_hours']>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'r'>(
            sql`r(hour timestamptz, concerned_tenant_id uuid, requests bigint, errors bigint)`,
          ),
        )
        .select(['r.hour', 'r.concerned_tenant_id', 'r.requests', 'r.errors'])
        .orderBy('r.hour')
        .orderBy('r.concerned_tenant_id'),
    )
    .onConflict((conflict) =>
      conflict.columns(['hour', 'concerned_tenant_id']).doUpdateSet({
        requests: sql`tenant_request_hours.requests + excluded.requests`,
        errors: sql`tenant_request_hours.errors + excluded.errors`,
      }),
    ),
);

export const addErrorHours = write<{ rows: string }, never>((p) =>
  builder
    .insertInto('error_hours')
    .columns(['hour', 'message', 'errors', 'last_at'])
    .expression((db) =>
      db
        .selectFrom(
          sql<RequestCountTables['error_hours']>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'r'>(
            sql`r(hour timestamptz, message text, errors bigint, last_at timestamptz)`,
          ),
        )
        .select(['r.hour', 'r.message', 'r.errors', 'r.last_at'])
        .orderBy('r.hour')
        .orderBy('r.message'),
    )
    .onConflict((conflict) =>
      conflict.columns(['hour', 'message']).doUpdateSet({
        errors: sql`error_hours.errors + excluded.errors`,
        last_at: sql`greatest(error_hours.last_at, excluded.last_at)`,
      }),
    ),
);

/** Housekeeping: what no analysis reaches back to. */
export const deleteOldMinutes = write<{ before: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('request_minutes')
    .where(sql<boolean>`(minute, bucket) in (
      select minute, bucket from request_minutes where minute < ${p.before} order by minute limit ${p.max})`)
    .returning(sql<number>`1`.as('deleted')),
);

export const deleteOldTenantHours = write<{ before: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('tenant_request_hours')
    .where(sql<boolean>`(hour, concerned_tenant_id) in (
      select hour, concerned_tenant_id from tenant_request_hours where hour < ${p.before} order by hour limit ${p.max})`)
    .returning(sql<number>`1`.as('deleted')),
);

export const deleteOldErrorHours = write<{ before: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('error_hours')
    .where(sql<boolean>`(hour, message) in (
      select hour, message from error_hours where hour < ${p.before} order by hour limit ${p.max})`)
    .returning(sql<number>`1`.as('deleted')),
);
