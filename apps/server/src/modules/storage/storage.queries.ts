import { sql } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { auditedWrite, queryBuilder, read, write } from '#core/data/db/query';

export type StorageRow = { enabled: boolean; quota_bytes: number | null; usage_bytes: number; reserved_bytes: number };

type Tables = {
  tenant_storage: StorageRow & { tenant_id: string; updated_at: string };
  tenants: { id: string; status: string };
};

const builder = queryBuilder<Tables>();

const figures = ['enabled', 'quota_bytes', 'usage_bytes', 'reserved_bytes'] as const;

export const findStorage = read<{ tenantId: string }, StorageRow>((p) =>
  builder.selectFrom('tenant_storage').select(figures).where('tenant_id', '=', p.tenantId),
);

export const insertStorage = write<{ tenantId: string; at: string }, never>((p) =>
  builder
    .insertInto('tenant_storage')
    .columns(['tenant_id', 'updated_at'])
    .expression(
      builder.selectNoFrom([sql<string>`${p.tenantId}::uuid`.as('t'), sql<string>`${p.at}::timestamptz`.as('at')]),
    )
    .onConflict((conflict) => conflict.column('tenant_id').doNothing()),
);

/** Reserves space before the first byte is accepted; no row if the quota is exceeded or the storage is disabled. */
export const reserve = write<{ tenantId: string; sizeBytes: number; defaultQuotaBytes: number }, { tenant_id: string }>(
  (p) =>
    builder
      .updateTable('tenant_storage')
      .set({ reserved_bytes: sql`reserved_bytes + ${p.sizeBytes}::bigint` })
      .where('tenant_id', '=', p.tenantId)
      .where('enabled', '=', true)
      .where(
        sql<boolean>`usage_bytes + reserved_bytes + ${p.sizeBytes}::bigint <= coalesce(quota_bytes, ${p.defaultQuotaBytes}::bigint)`,
      )
      .returning('tenant_id'),
);

/** Updates the counters in the transaction of the rows, as its last lock. */
export const settle = write<{ tenantId: string; usage: number; reserved: number }, never>((p) =>
  builder
    .updateTable('tenant_storage')
    .set({
      usage_bytes: sql`usage_bytes + ${p.usage}::bigint`,
      reserved_bytes: sql`reserved_bytes + ${p.reserved}::bigint`,
    })
    .where('tenant_id', '=', p.tenantId),
);

type Setting = { enabled: boolean | null; quotaBytes: number | null; at: string };

/** Null leaves a value unchanged. */
export const saveStorage = auditedWrite<Setting & AuditParams, StorageRow & { id: string }>((p) => {
  const enabled = sql<boolean>`${p.enabled}::boolean`;
  const quota = sql<number | null>`${p.quotaBytes}::bigint`;
  const change = builder
    .insertInto('tenant_storage')
    .columns(['tenant_id', 'enabled', 'quota_bytes', 'updated_at'])
    .expression(
      builder.selectNoFrom([
        sql<string>`${p.tenantId}::uuid`.as('tenant_id'),
        sql<boolean>`coalesce(${enabled}, true)`.as('enabled'),
        quota.as('quota_bytes'),
        sql<string>`${p.at}::timestamptz`.as('updated_at'),
      ]),
    )
    .onConflict((conflict) =>
      conflict.column('tenant_id').doUpdateSet({
        enabled: sql`coalesce(${enabled}, tenant_storage.enabled)`,
        quota_bytes: sql`coalesce(${quota}, tenant_storage.quota_bytes)`,
        updated_at: sql`excluded.updated_at`,
      }),
    )
    .returning(['tenant_id as id', ...figures]);
  return withAudit<StorageRow & { id: string }>(change, { action: 'storage.updated', resourceType: 'tenant' }, p);
});

export type Stats = {
  total_tenants: number;
  enabled_tenants: number;
  total_quota_bytes: number;
  total_usage_bytes: number;
  average_usage_percent: number;
};

/** Sums over all tenants; a tenant without its own quota has the default quota. */
export const sumStorage = read<{ defaultQuotaBytes: number }, Stats>((p) => {
  const quota = sql<number>`coalesce(s.quota_bytes, ${p.defaultQuotaBytes}::bigint)`;
  const usage = sql<number>`(coalesce(s.usage_bytes, 0) + coalesce(s.reserved_bytes, 0))`;
  return builder
    .selectFrom('tenants as t')
    .leftJoin('tenant_storage as s', 's.tenant_id', 't.id')
    .select([
      sql<number>`count(*)`.as('total_tenants'),
      sql<number>`count(*) filter (where coalesce(s.enabled, true))`.as('enabled_tenants'),
      sql<number>`coalesce(sum(${quota}), 0)::double precision`.as('total_quota_bytes'),
      sql<number>`coalesce(sum(${usage}), 0)::double precision`.as('total_usage_bytes'),
      sql<number>`coalesce(round(avg(100.0 * ${usage} / ${quota}), 2), 0)::double precision`.as(
        'average_usage_percent',
      ),
    ])
    .where('t.status', '<>', 'deleted');
});
