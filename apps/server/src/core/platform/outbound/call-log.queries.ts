import { sql } from 'kysely';

import { queryBuilder, write } from '#core/data/db/query';

type CallTables = {
  provider_calls: {
    tenant_id: string;
    called_at: string;
    id: string;
    operation_key: string;
    connector_id: string;
    provider: string;
    outcome: string;
    failure: string | null;
    http_status: number | null;
    latency_ms: number;
    own_credentials: boolean;
    characters: number | null;
    tokens: number | null;
    request_id: string | null;
    user_id: string | null;
  };
  provider_call_hours: {
    tenant_id: string;
    hour: string;
    operation_key: string;
    provider: string;
    requests: number;
    successes: number;
    failures: number;
    rate_limited: number;
    cache_hits: number;
    latency_ms: number;
    characters: number;
    tokens: number;
  };
};

export type CallRow = CallTables['provider_calls'];
export type CallHour = CallTables['provider_call_hours'];

const builder = queryBuilder<CallTables>();

const callColumns = [
  'tenant_id',
  'called_at',
  'id',
  'operation_key',
  'connector_id',
  'provider',
  'outcome',
  'failure',
  'http_status',
  'latency_ms',
  'own_credentials',
  'characters',
  'tokens',
  'request_id',
  'user_id',
] as const;

export const insertCalls = write<{ rows: string }, never>((p) =>
  builder
    .insertInto('provider_calls')
    .columns(callColumns)
    .expression((db) =>
      db
        .selectFrom(
          sql<CallRow>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'r'>(
            sql`r(tenant_id uuid, called_at timestamptz, id uuid, operation_key text, connector_id uuid, provider text,
              outcome text, failure text, http_status smallint, latency_ms integer, own_credentials boolean,
              characters integer, tokens integer, request_id text, user_id uuid)`,
          ),
        )
        .select(callColumns.map((name) => sql.ref<never>(`r.${name}`).as(name))),
    ),
);

const sums = [
  'requests',
  'successes',
  'failures',
  'rate_limited',
  'cache_hits',
  'latency_ms',
  'characters',
  'tokens',
] as const;
const hourColumns = ['tenant_id', 'hour', 'operation_key', 'provider', ...sums] as const;

/** In the order of the key: processes that add to the same rows must not wait for each other in a circle. */
export const addCallHours = write<{ rows: string }, never>((p) =>
  builder
    .insertInto('provider_call_hours')
    .columns(hourColumns)
    .expression((db) =>
      db
        .selectFrom(
          sql<CallHour>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'r'>(
            sql`r(tenant_id uuid, hour timestamptz, operation_key text, provider text, requests bigint, successes bigint,
              failures bigint, rate_limited bigint, cache_hits bigint, latency_ms bigint, characters bigint, tokens bigint)`,
          ),
        )
        .select(hourColumns.map((name) => sql.ref<never>(`r.${name}`).as(name)))
        .orderBy('r.tenant_id')
        .orderBy('r.hour')
        .orderBy('r.operation_key')
        .orderBy('r.provider'),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'hour', 'operation_key', 'provider'])
        .doUpdateSet(
          Object.fromEntries(
            sums.map((name) => [name, sql`${sql.ref(`provider_call_hours.${name}`)} + ${sql.ref(`excluded.${name}`)}`]),
          ),
        ),
    ),
);

/** Housekeeping: what no analysis reaches back to. */
export const deleteOldCallHours = write<{ before: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('provider_call_hours')
    .where(
      sql<boolean>`(tenant_id, hour, operation_key, provider) in (
        select tenant_id, hour, operation_key, provider from provider_call_hours where hour < ${p.before} limit ${p.max})`,
    )
    .returning(sql<number>`1`.as('deleted')),
);
