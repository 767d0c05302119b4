import { sql } from 'kysely';

import { queryBuilder, read, write, type ReadStatement, type WriteStatement } from '#core/data/db/query';

export type UsageTables = {
  credential_totals: {
    tenant_id: string;
    credential_id: string;
    requests: number;
    errors: number;
    last_used_at: string;
    last_used_ip: string | null;
    batches: Record<string, number>;
  };
  credential_usage: {
    tenant_id: string;
    credential_id: string;
    hour: string;
    operation: string;
    requests: number;
    errors: number;
  };
};

const builder = queryBuilder<UsageTables>();

/** One batch: sums by credential, and by credential, hour and operation. */
type UsageBatch = {
  tenantId: string;
  /** The process that writes, and its number of the batch, which grows: milliseconds since 1970. */
  writer: string;
  batch: number;
  totals: { ids: string[]; requests: number[]; errors: number[]; usedAt: string[]; usedIps: string[] };
  hours: { ids: string[]; hours: string[]; operations: string[]; requests: number[]; errors: number[] };
};

type FlatBatch = Omit<UsageBatch, 'totals' | 'hours'> & {
  ids: string[];
  requests: number[];
  errors: number[];
  usedAt: string[];
  usedIps: string[];
  hourIds: string[];
  hours: string[];
  operations: string[];
  hourRequests: number[];
  hourErrors: number[];
};

const totalSums = {
  requests: sql<number>`credential_totals.requests + excluded.requests`,
  errors: sql<number>`credential_totals.errors + excluded.errors`,
  last_used_at: sql<string>`greatest(credential_totals.last_used_at, excluded.last_used_at)`,
  last_used_ip: sql<
    string | null
  >`case when excluded.last_used_at >= credential_totals.last_used_at then excluded.last_used_ip else credential_totals.last_used_ip end`,
};
const hourColumns = ['u.credential_id', 'u.hour', 'u.operation', 'u.requests', 'u.errors'] as const;
const hourSums = {
  requests: sql<number>`credential_usage.requests + excluded.requests`,
  errors: sql<number>`credential_usage.errors + excluded.errors`,
};

/**
 * Adds a batch once: the row of a credential remembers the last batch of each process, and a process writes the batches of a
 * tenant in their order. The rows are sorted, so that two processes lock them in one order.
 */
const addBatch = write<FlatBatch, never>((p) =>
  builder
    .with('applied', (db) =>
      db
        .insertInto('credential_totals')
        .columns(['tenant_id', 'credential_id', 'requests', 'errors', 'last_used_at', 'last_used_ip', 'batches'])
        .expression((from) =>
          from
            .selectFrom(
              sql<
                Omit<UsageTables['credential_totals'], 'tenant_id' | 'batches'>
              >`unnest(${p.ids}::uuid[], ${p.requests}::bigint[], ${p.errors}::bigint[], ${p.usedAt}::timestamptz[], ${p.usedIps}::text[])`.as<'u'>(
                sql`u(credential_id, requests, errors, last_used_at, last_used_ip)`,
              ),
            )
            .select([
              sql<string>`${p.tenantId}::uuid`.as('tenant_id'),
              'u.credential_id',
              'u.requests',
              'u.errors',
              'u.last_used_at',
              'u.last_used_ip',
              sql<Record<string, number>>`jsonb_build_object(${p.writer}::text, ${p.batch}::bigint)`.as('batches'),
            ]),
        )
        .onConflict((conflict) =>
          conflict
            .columns(['tenant_id', 'credential_id'])
            .doUpdateSet({
              ...totalSums,
              batches: sql`(select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(credential_totals.batches)
                where value::bigint > ${p.batch}::bigint - 86400000) || excluded.batches`,
            })
            .where(
              sql<boolean>`coalesce((credential_totals.batches ->> ${p.writer}::text)::bigint, 0) < ${p.batch}::bigint`,
            ),
        )
        .returning('credential_id'),
    )
    .insertInto('credential_usage')
    .columns(['tenant_id', 'credential_id', 'hour', 'operation', 'requests', 'errors'])
    .expression((db) =>
      db
        .selectFrom(
          sql<
            Omit<UsageTables['credential_usage'], 'tenant_id'>
          >`unnest(${p.hourIds}::uuid[], ${p.hours}::timestamptz[], ${p.operations}::text[], ${p.hourRequests}::bigint[], ${p.hourErrors}::bigint[])`.as<'u'>(
            sql`u(credential_id, hour, operation, requests, errors)`,
          ),
        )
        .select([sql<string>`${p.tenantId}::uuid`.as('tenant_id'), ...hourColumns])
        .where(sql<boolean>`u.credential_id in (select credential_id from applied)`),
    )
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'credential_id', 'hour', 'operation']).doUpdateSet(hourSums),
    ),
);

/** Adds a batch of usage; repeating it changes nothing. */
export function addUsage({ totals, hours, ...batch }: UsageBatch): WriteStatement<never> {
  return addBatch({
    ...batch,
    ...totals,
    hourIds: hours.ids,
    hours: hours.hours,
    operations: hours.operations,
    hourRequests: hours.requests,
    hourErrors: hours.errors,
  });
}

export type UsageSummary = {
  total_requests: number;
  requests_24h: number;
  requests_7d: number;
  requests_30d: number;
  errors_24h: number;
  last_used_at: string | null;
  last_used_ip: string | null;
  by_endpoint: { operation: string; requests: number; errors: number }[];
  by_day: { day: string; requests: number; errors: number }[];
};

/** Usage of a credential: totals since its creation; operations and days of the last thirty days. */
const summariseUsage = read<
  { tenantId: string; credentialId: string; dayAgo: string; weekAgo: string; monthAgo: string },
  UsageSummary
>((p) => {
  const recent = builder
    .selectFrom('credential_usage')
    .where('tenant_id', '=', p.tenantId)
    .where('credential_id', '=', p.credentialId)
    .where('hour', '>', p.monthAgo);
  const totals = builder
    .selectFrom('credential_totals')
    .where('tenant_id', '=', p.tenantId)
    .where('credential_id', '=', p.credentialId);
  const byEndpoint = recent
    .select([
      'operation',
      sql<number>`sum(requests)::bigint`.as('requests'),
      sql<number>`sum(errors)::bigint`.as('errors'),
    ])
    .groupBy('operation')
    .orderBy('requests', 'desc')
    .orderBy('operation');
  const byDay = recent
    .select([
      sql<string>`to_char(hour, 'YYYY-MM-DD')`.as('day'),
      sql<number>`sum(requests)::bigint`.as('requests'),
      sql<number>`sum(errors)::bigint`.as('errors'),
    ])
    .groupBy('day')
    .orderBy('day');
  const sumOf = (column: 'requests' | 'errors', since: string) =>
    sql<number>`coalesce((${recent.select(sql`sum(${sql.ref(column)})::bigint`.as('sum')).where('hour', '>', since)}), 0)`;
  return builder.selectNoFrom([
    sql<number>`coalesce((${totals.select('requests')}), 0)`.as('total_requests'),
    sumOf('requests', p.dayAgo).as('requests_24h'),
    sumOf('requests', p.weekAgo).as('requests_7d'),
    sumOf('requests', p.monthAgo).as('requests_30d'),
    sumOf('errors', p.dayAgo).as('errors_24h'),
    sql<string | null>`(${totals.select('last_used_at')})`.as('last_used_at'),
    sql<string | null>`(${totals.select('last_used_ip')})`.as('last_used_ip'),
    sql<UsageSummary['by_endpoint']>`coalesce((select json_agg(e) from (${byEndpoint}) as e), '[]')`.as('by_endpoint'),
    sql<UsageSummary['by_day']>`coalesce((select json_agg(d) from (${byDay}) as d), '[]')`.as('by_day'),
  ]);
});

const dayMs = 86_400_000;

/** The summary of one credential, as of a moment. */
export function usageOf(
  credential: { tenantId: string; credentialId: string },
  now: Date,
): ReadStatement<UsageSummary> {
  const ago = (days: number) => new Date(now.getTime() - days * dayMs).toISOString();
  return summariseUsage({ ...credential, dayAgo: ago(1), weekAgo: ago(7), monthAgo: ago(30) });
}

/** Deletes the hours before that time, of all tenants. */
export const deleteOldUsage = write<{ before: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('credential_usage')
    .where(({ eb, refTuple, selectFrom }) => {
      const key = ['tenant_id', 'credential_id', 'hour', 'operation'] as const;
      const old = selectFrom('credential_usage').select(key).where('hour', '<', p.before).limit(p.max);
      return eb(refTuple(...key), 'in', old.$asTuple(...key));
    })
    .returning(sql<number>`1`.as('deleted')),
);
