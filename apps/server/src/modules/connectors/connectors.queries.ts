import { sql, type SelectQueryBuilder } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { deleteRow } from '#core/data/audit/audited-rows.queries';
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
import { tenantLock, tenantTable } from '#core/data/db/rows';

type Category = 'system_sync' | 'app_service' | 'integration' | 'communication';
type Status = 'active' | 'degraded' | 'offline' | 'error' | 'unknown';

export type ConnectorRow = {
  tenant_id: string;
  id: string;
  api_key: string;
  api_name: string;
  api_base_url: string;
  config: Record<string, unknown>;
  /** Encrypted. */
  auth_config: string | null;
  enabled: boolean;
  priority: number;
  status: Status;
  last_health_check: string | null;
  last_success: string | null;
  last_error: string | null;
  error_message: string | null;
  error_details: Record<string, unknown> | null;
  consecutive_failures: number;
  auto_disable_threshold: number;
  auto_disabled: boolean;
  /** Number of auto-disables since the latest success. */
  ejections: number;
  retry_at: string | null;
  lease_until: string | null;
  last_latency_ms: number | null;
  description: string | null;
  tags: string[] | null;
  category: Category;
  created_by: string | null;
  created_at: string;
  updated_at: string;
};

type Tables = { connectors: ConnectorRow };
type ConnectorSelect = SelectQueryBuilder<Tables, 'connectors', object>;

const builder = queryBuilder<Tables>();

export const connectorColumns = [
  'tenant_id',
  'id',
  'api_key',
  'api_name',
  'api_base_url',
  'config',
  'auth_config',
  'enabled',
  'priority',
  'status',
  'last_health_check',
  'last_success',
  'last_error',
  'error_message',
  'error_details',
  'consecutive_failures',
  'auto_disable_threshold',
  'auto_disabled',
  'ejections',
  'retry_at',
  'lease_until',
  'last_latency_ms',
  'description',
  'tags',
  'category',
  'created_by',
  'created_at',
  'updated_at',
] as const;

export const findConnector = read<{ tenantId: string; id: string }, ConnectorRow>((p) =>
  builder.selectFrom('connectors').select(connectorColumns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

/** Locked until the end of the transaction, so that the credentials and the address stay consistent. */
export const lockConnector = lock<{ tenantId: string; id: string }, ConnectorRow>((p) =>
  builder
    .selectFrom('connectors')
    .select(connectorColumns)
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .forUpdate(),
);

/** Enabled connectors by priority, in any health state. */
export const listEnabledConnectors = read<{ tenantId: string }, ConnectorRow>((p) =>
  builder
    .selectFrom('connectors')
    .select(connectorColumns)
    .where('tenant_id', '=', p.tenantId)
    .where('enabled', '=', true)
    .orderBy('priority')
    .orderBy('id')
    // Above the maximum number of connectors.
    .limit(200),
);

/** Serialises the creation of connectors, for the limit. */
export const lockConnectors = tenantLock('connectors');

export const countAllConnectors = read<{ tenantId: string }, { total: number }>((p) =>
  builder
    .selectFrom('connectors')
    .select(sql<number>`count(*)`.as('total'))
    .where('tenant_id', '=', p.tenantId),
);

export type NewConnector = Pick<
  ConnectorRow,
  | 'id'
  | 'api_key'
  | 'api_name'
  | 'api_base_url'
  | 'config'
  | 'auth_config'
  | 'enabled'
  | 'priority'
  | 'description'
  | 'tags'
  | 'category'
  | 'error_message'
  | 'error_details'
  | 'created_by'
  | 'created_at'
>;

export const insertConnector = auditedWrite<NewConnector & AuditParams, ConnectorRow>((p) => {
  const change = builder
    .insertInto('connectors')
    .values({
      tenant_id: p.tenantId,
      id: p.id,
      api_key: p.api_key,
      api_name: p.api_name,
      api_base_url: p.api_base_url,
      config: p.config,
      auth_config: p.auth_config,
      enabled: p.enabled,
      priority: p.priority,
      description: p.description,
      tags: p.tags,
      category: p.category,
      error_message: p.error_message,
      error_details: p.error_details,
      created_by: p.created_by,
      created_at: p.created_at,
      updated_at: p.created_at,
    } as ConnectorRow)
    .returning(connectorColumns);
  return withAudit<ConnectorRow>(change, { action: 'provider.created', resourceType: 'provider' }, p);
});

export type ConnectorChanges = Partial<
  Omit<ConnectorRow, 'tenant_id' | 'id' | 'api_key' | 'created_by' | 'created_at'>
>;

export function updateConnector(
  id: string,
  { action, ...changes }: ConnectorChanges & { action: 'provider.updated' | 'provider.enabled' },
  audit: AuditParams,
): WriteStatement<ConnectorRow> {
  const change = builder
    .updateTable('connectors')
    .set(changes)
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .returning(connectorColumns);
  return toAuditedWrite(withAudit<ConnectorRow>(change, { action, resourceType: 'provider' }, audit));
}

export const disableConnector = auditedWrite<{ id: string; at: string } & AuditParams, ConnectorRow>((p) => {
  const change = builder
    .updateTable('connectors')
    .set({ enabled: false, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning(connectorColumns);
  return withAudit<ConnectorRow>(change, { action: 'provider.disabled', resourceType: 'provider' }, p);
});

export const deleteConnector = deleteRow(tenantTable('connectors'), {
  action: 'provider.deleted',
  resourceType: 'provider',
});

export type ConnectorFilters = {
  category?: Category | undefined;
  status?: Status | undefined;
  enabled?: boolean | undefined;
  tag?: string | undefined;
  search?: string | undefined;
};

export function listConnectors(
  tenantId: string,
  filters: ConnectorFilters,
  page: { limit: number; offset: number },
): ReadStatement<ConnectorRow> {
  const rows = matching(tenantId, filters).select(connectorColumns);
  return toRead(rows.orderBy('priority').orderBy('id').limit(page.limit).offset(page.offset));
}

export function countConnectors(tenantId: string, filters: ConnectorFilters): ReadStatement<{ total: number }> {
  return toRead(matching(tenantId, filters).select(sql<number>`count(*)`.as('total')));
}

function matching(tenantId: string, filters: ConnectorFilters): ConnectorSelect {
  let query: ConnectorSelect = builder.selectFrom('connectors').where('tenant_id', '=', tenantId);
  if (filters.category !== undefined) query = query.where('category', '=', filters.category);
  if (filters.status !== undefined) query = query.where('status', '=', filters.status);
  if (filters.enabled !== undefined) query = query.where('enabled', '=', filters.enabled);
  if (filters.tag !== undefined) query = query.where(sql<boolean>`${filters.tag} = any(tags)`);
  for (const pattern of searchPatterns(filters.search)) {
    const text = sql`lower(api_key || ' ' || api_name || ' ' || coalesce(description, ''))`;
    query = query.where(text, 'like', sql<string>`lower(${pattern})`);
  }
  return query;
}
