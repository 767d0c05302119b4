import { sql, type SelectQueryBuilder } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import {
  lock,
  queryBuilder,
  searchPatterns,
  toAuditedWrite,
  toRead,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';
import { tenantColumns, type TenantRow } from '#modules/tenants/tenants.queries';

type Tables = { tenants: TenantRow };
type TenantState = Pick<TenantRow, 'status' | 'suspended_at' | 'deletes_at'>;

const builder = queryBuilder<Tables>();

/** Excludes tenants whose grace period is over. */
export type TenantFilters = {
  now: string;
  search: string | undefined;
  status: 'active' | 'suspended' | 'pending_deletion' | undefined;
};

export type TenantOrder = { column: 'name' | 'created_at'; descending: boolean };

export function listTenants(
  filters: TenantFilters,
  page: { limit: number; offset: number; order: TenantOrder },
): ReadStatement<TenantRow> {
  const { column, descending } = page.order;
  const direction = descending ? 'desc' : 'asc';
  const query = filtered(filters)
    .select(tenantColumns)
    .orderBy(column === 'name' ? sql`lower(name)` : sql`created_at`, direction)
    .orderBy('id', direction);
  return toRead(query.limit(page.limit).offset(page.offset));
}

export function countTenants(filters: TenantFilters): ReadStatement<{ total: number }> {
  return countMatches(filtered(filters).select('id'));
}

function filtered({ now, search, status }: TenantFilters): SelectQueryBuilder<Tables, 'tenants', object> {
  let query = builder
    .selectFrom('tenants')
    .where('status', '<>', 'deleted')
    .where(sql<boolean>`(deletes_at is null or deletes_at > ${now}::timestamptz)`);
  for (const pattern of searchPatterns(search)) {
    query = query.where(sql`lower(name || ' ' || domain)`, 'like', sql<string>`lower(${pattern})`);
  }
  return status === undefined ? query : query.where('status', '=', status);
}

/** Serialises status changes of a tenant. */
export const lockStanding = lock<{ tenantId: string }, TenantState>((p) =>
  builder
    .selectFrom('tenants')
    .select(['status', 'suspended_at', 'deletes_at'])
    .where('id', '=', p.tenantId)
    .forNoKeyUpdate(),
);

export function changeTenantStatus(action: string, next: TenantState, audit: AuditParams): WriteStatement<TenantRow> {
  const change = builder
    .updateTable('tenants')
    .set({ ...next, updated_at: audit.auditAt })
    .where('id', '=', audit.tenantId)
    .returning(tenantColumns);
  return toAuditedWrite(withAudit<TenantRow>(change, { action, resourceType: 'tenant' }, audit));
}
