import { sql, type SelectQueryBuilder } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import {
  auditedWrite,
  lock,
  queryBuilder,
  read,
  searchPatterns,
  toAuditedWrite,
  toRead,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';

export type OverrideRow = {
  tenant_id: string;
  id: string;
  operation_key: string;
  enabled: boolean;
  preferred_provider_order: string[];
  quota_limits: Record<string, unknown>;
  override_config: Record<string, unknown>;
  /** Encrypted. */
  customer_credentials: string | null;
  created_at: string;
  updated_at: string;
};

type Tables = { operation_overrides: OverrideRow };
type OverrideSelect = SelectQueryBuilder<Tables, 'operation_overrides', object>;

export type OverrideFilters = {
  /** Undefined for all tenants; only with the platform connection. */
  tenantId: string | undefined;
  operationKey?: string | undefined;
  search?: string | undefined;
};

const builder = queryBuilder<Tables>();

/** Locked until the end of the transaction, so that masks keep the current credentials. */
export const lockOverride = lock<{ tenantId: string; operationKey: string }, OverrideRow>((p) =>
  builder
    .selectFrom('operation_overrides')
    .selectAll()
    .where('tenant_id', '=', p.tenantId)
    .where('operation_key', '=', p.operationKey)
    .forUpdate(),
);

export type OverrideChanges = Pick<
  OverrideRow,
  'enabled' | 'preferred_provider_order' | 'quota_limits' | 'override_config' | 'customer_credentials'
>;

const saved = { action: 'tenant_override.saved', resourceType: 'tenant_override' };

/** No row if another request created it first; the caller then updates it. */
export function insertOverride(
  row: OverrideChanges & { id: string; operation_key: string; at: string },
  audit: AuditParams,
): WriteStatement<OverrideRow> {
  const { at, ...values } = row;
  const change = builder
    .insertInto('operation_overrides')
    .values({ ...values, tenant_id: audit.tenantId, created_at: at, updated_at: at })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'operation_key']).doNothing())
    .returningAll();
  return toAuditedWrite(withAudit<OverrideRow>(change, saved, audit));
}

export function updateOverride(
  id: string,
  changes: OverrideChanges & { updated_at: string },
  audit: AuditParams,
): WriteStatement<OverrideRow> {
  const change = builder
    .updateTable('operation_overrides')
    .set(changes)
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .returningAll();
  return toAuditedWrite(withAudit<OverrideRow>(change, saved, audit));
}

export const deleteOverride = auditedWrite<{ id: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .deleteFrom('operation_overrides')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'tenant_override.deleted', resourceType: 'tenant_override' }, p);
});

/** Tenant of an override, for system administrators, who can change all of them. */
export const findOwner = read<{ id: string }, { tenant_id: string }>((p) =>
  builder.selectFrom('operation_overrides').select('tenant_id').where('id', '=', p.id),
);

export const findOverrides = read<{ tenantId: string }, OverrideRow>((p) =>
  builder.selectFrom('operation_overrides').selectAll().where('tenant_id', '=', p.tenantId),
);

export type OverrideOrder = { column: 'operation_key' | 'created_at' | 'updated_at'; descending: boolean };

export function listOverrides(
  filters: OverrideFilters,
  { limit, offset, order }: { limit: number; offset: number; order: OverrideOrder },
): ReadStatement<OverrideRow> {
  const direction = order.descending ? 'desc' : 'asc';
  const query = overrides(filters).selectAll().orderBy(order.column, direction).orderBy('tenant_id').orderBy('id');
  return toRead(query.limit(limit).offset(offset));
}

export function countOverrides(filters: OverrideFilters): ReadStatement<{ total: number }> {
  return countMatches(overrides(filters).select('id'));
}

function overrides({ tenantId, operationKey, search }: OverrideFilters): OverrideSelect {
  let query: OverrideSelect = builder.selectFrom('operation_overrides');
  if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId);
  if (operationKey !== undefined) query = query.where('operation_key', '=', operationKey);
  for (const pattern of searchPatterns(search)) {
    const text = sql`lower(operation_key || ' ' || array_to_string(preferred_provider_order, ' '))`;
    query = query.where(text, 'like', sql<string>`lower(${pattern})`);
  }
  return query;
}
