import { sql, type SelectQueryBuilder } from 'kysely';

import type { AuditTables } from '#core/data/audit/audit.queries';
import { queryBuilder, toRead, type ReadStatement } from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';

export type AuditLogRow = AuditTables['audit_logs'];

export type AuditLogFilters = {
  userId?: string | undefined;
  action?: string | undefined;
  resourceType?: string | undefined;
  resourceId?: string | undefined;
  ipAddress?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

type AuditSelect = SelectQueryBuilder<AuditTables, 'audit_logs', object>;

const builder = queryBuilder<AuditTables>();

export function listAuditLogs(
  tenantId: string,
  filters: AuditLogFilters,
  page: { limit: number; offset: number; descending: boolean },
): ReadStatement<AuditLogRow> {
  const direction = page.descending ? 'desc' : 'asc';
  return toRead(
    filtered(tenantId, filters)
      .selectAll()
      .orderBy('created_at', direction)
      .orderBy('id', direction)
      .limit(page.limit)
      .offset(page.offset),
  );
}

export type ChainedRow = AuditLogRow & {
  chain_slot: number | null;
  chain_position: number | null;
  chain_hash: Buffer | null;
};

/** The next rows of an export, oldest first. */
export function nextAuditLogs(
  tenantId: string,
  filters: AuditLogFilters,
  { after, limit }: { after: { created_at: string; id: string } | undefined; limit: number },
): ReadStatement<ChainedRow> {
  let query = filtered(tenantId, filters);
  if (after !== undefined)
    query = query.where(sql<boolean>`(created_at, id) > (${after.created_at}::timestamptz, ${after.id}::uuid)`);
  const ordered = query.selectAll().orderBy('created_at').orderBy('id').limit(limit);
  return toRead<ChainedRow>(ordered.$castTo<ChainedRow>());
}

export function countAuditLogs(tenantId: string, filters: AuditLogFilters): ReadStatement<{ total: number }> {
  return countMatches(filtered(tenantId, filters).select('id'));
}

function filtered(tenantId: string, filters: AuditLogFilters): AuditSelect {
  let query: AuditSelect = builder.selectFrom('audit_logs').where('tenant_id', '=', tenantId);
  if (filters.userId !== undefined) query = query.where('user_id', '=', filters.userId);
  if (filters.action?.endsWith('.*')) query = query.where(beginsWith(filters.action.slice(0, -1)));
  else if (filters.action !== undefined) query = query.where('action', '=', filters.action);
  if (filters.resourceType !== undefined) query = query.where('resource_type', '=', filters.resourceType);
  if (filters.resourceId !== undefined) query = query.where('resource_id', '=', filters.resourceId);
  if (filters.ipAddress !== undefined) query = query.where('ip_address', '=', filters.ipAddress);
  if (filters.from !== undefined) query = query.where('created_at', '>=', filters.from);
  if (filters.to !== undefined) query = query.where('created_at', '<', filters.to);
  return query;
}

// A range in byte order matches the index for any collation, and is leakproof.
function beginsWith(prefix: string) {
  const end = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
  return sql<boolean>`action ~>=~ ${prefix} and action ~<~ ${end}`;
}
