import { sql } from 'kysely';

import type { ApiKeyPermissions } from '#core/base/access/flags';
import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import {
  auditedWrite,
  queryBuilder,
  read,
  searchPatterns,
  toAuditedWrite,
  toRead,
  write,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import { typed, lockById, tenantTable, text, time, uuid, type RowOf } from '#core/data/db/rows';
import type { UsageTables } from '#core/data/usage/usage.queries';

type ApiKeyTable = {
  tenant_id: string;
  id: string;
  key_uuid: string;
  name: string;
  description: string | null;
  permissions: ApiKeyPermissions;
  mcp_write_enabled: boolean;
  enabled: boolean;
  expires_at: string | null;
  ip_whitelist: string[] | null;
  device_fingerprint: string | null;
  secret_hash: string;
  secret_preview: string;
  previous_secret_hash: string | null;
  previous_secret_expires_at: string | null;
  created_by: string | null;
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
};

type ApiKeyTables = Pick<UsageTables, 'credential_totals'> & {
  api_keys: ApiKeyTable;
  api_key_directory: { key_uuid: string; tenant_id: string };
  tenants: { id: string; status: string };
};

const builder = queryBuilder<ApiKeyTables>();

type Secrets = 'secret_hash' | 'previous_secret_hash' | 'previous_secret_expires_at' | 'deleted_at';

/** An API key with its usage; without its secrets. */
export type ApiKeyRow = Omit<ApiKeyTable, Secrets> & {
  request_count: number;
  last_used_at: string | null;
  last_used_ip: string | null;
};

/** The keys of a tenant that are not deleted, with their usage. */
function keysOf(tenantId: string) {
  return builder
    .selectFrom('api_keys')
    .leftJoin('credential_totals', (join) =>
      join
        .onRef('credential_totals.tenant_id', '=', 'api_keys.tenant_id')
        .onRef('credential_totals.credential_id', '=', 'api_keys.id'),
    )
    .select([
      'api_keys.tenant_id',
      'api_keys.id',
      'api_keys.key_uuid',
      'api_keys.name',
      'api_keys.description',
      'api_keys.permissions',
      'api_keys.mcp_write_enabled',
      'api_keys.enabled',
      'api_keys.expires_at',
      'api_keys.ip_whitelist',
      'api_keys.device_fingerprint',
      'api_keys.secret_preview',
      'api_keys.created_by',
      'api_keys.created_at',
      'api_keys.updated_at',
      sql<number>`coalesce(credential_totals.requests, 0)`.as('request_count'),
      'credential_totals.last_used_at',
      'credential_totals.last_used_ip',
    ])
    .where('api_keys.tenant_id', '=', tenantId)
    .where('api_keys.deleted_at', 'is', null);
}

export const findApiKey = read<{ tenantId: string; id: string }, ApiKeyRow>((p) =>
  keysOf(p.tenantId).where('api_keys.id', '=', p.id),
);

export type ApiKeyOrder = { column: 'name' | 'created_at'; descending: boolean };

export type ApiKeyPage = {
  search: string | undefined;
  enabled: boolean | undefined;
  order: ApiKeyOrder | undefined;
  /** All rows if undefined. */
  limit: number | undefined;
  offset: number;
};

export function listApiKeys(tenantId: string, page: ApiKeyPage): ReadStatement<ApiKeyRow> {
  const { column, descending } = page.order ?? { column: 'name', descending: false };
  const direction = descending ? 'desc' : 'asc';
  let query = keysOf(tenantId);
  if (page.enabled !== undefined) query = query.where('api_keys.enabled', '=', page.enabled);
  for (const pattern of searchPatterns(page.search)) {
    const searched = sql`lower(api_keys.name || ' ' || coalesce(api_keys.description, ''))`;
    query = query.where(searched, 'like', sql<string>`lower(${pattern})`);
  }
  // Identifiers are UUIDv7: their order is the order of creation.
  if (column === 'name') query = query.orderBy(sql`lower(api_keys.name)`, direction);
  query = query.orderBy('api_keys.id', direction).offset(page.offset);
  return toRead(page.limit === undefined ? query : query.limit(page.limit));
}

const locked = tenantTable(
  'api_keys',
  {
    id: uuid,
    key_uuid: uuid,
    name: text,
    created_by: uuid.orNull,
    permissions: typed<ApiKeyPermissions>(),
    secret_hash: text,
    previous_secret_hash: text.orNull,
    previous_secret_expires_at: time.orNull,
  },
  ['deleted_at', 'is', null],
);
export type LockedApiKey = RowOf<typeof locked>;

/** The change affects exactly what was authorised. */
export const lockApiKey = lockById(locked, 'for update');

type NewApiKey = Omit<
  ApiKeyTable,
  | 'tenant_id'
  | 'mcp_write_enabled'
  | 'enabled'
  | 'updated_at'
  | 'previous_secret_hash'
  | 'previous_secret_expires_at'
  | 'deleted_at'
>;

export const insertApiKey = auditedWrite<NewApiKey & AuditParams, { id: string }>((p) => {
  const change = builder
    .insertInto('api_keys')
    .values({
      tenant_id: p.tenantId,
      id: p.id,
      key_uuid: p.key_uuid,
      name: p.name,
      description: p.description,
      permissions: p.permissions,
      expires_at: p.expires_at,
      ip_whitelist: p.ip_whitelist,
      device_fingerprint: p.device_fingerprint,
      secret_hash: p.secret_hash,
      secret_preview: p.secret_preview,
      created_by: p.created_by,
      created_at: p.created_at,
      updated_at: p.created_at,
    } as ApiKeyTable)
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'api_key.created', resourceType: 'api_key' }, p);
});

export const insertDirectoryEntry = write<{ tenantId: string; keyUuid: string }, never>((p) =>
  builder.insertInto('api_key_directory').values({ key_uuid: p.keyUuid, tenant_id: p.tenantId }),
);

export const deleteDirectoryEntry = write<{ tenantId: string; keyUuid: string }, never>((p) =>
  builder.deleteFrom('api_key_directory').where('tenant_id', '=', p.tenantId).where('key_uuid', '=', p.keyUuid),
);

export type ApiKeyChanges = Partial<
  Pick<
    ApiKeyTable,
    | 'name'
    | 'description'
    | 'permissions'
    | 'mcp_write_enabled'
    | 'enabled'
    | 'expires_at'
    | 'ip_whitelist'
    | 'device_fingerprint'
    | 'updated_at'
  >
>;

export function updateApiKey(id: string, changes: ApiKeyChanges, audit: AuditParams): WriteStatement<{ id: string }> {
  const change = builder
    .updateTable('api_keys')
    .set(changes)
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .returning('id');
  return toAuditedWrite(
    withAudit<{ id: string }>(change, { action: 'api_key.updated', resourceType: 'api_key' }, audit),
  );
}

type NewSecret = Pick<
  ApiKeyTable,
  'id' | 'secret_hash' | 'secret_preview' | 'previous_secret_hash' | 'previous_secret_expires_at' | 'updated_at'
>;

export const replaceSecret = auditedWrite<NewSecret & AuditParams, { id: string }>((p) => {
  const change = builder
    .updateTable('api_keys')
    .set({
      secret_hash: p.secret_hash,
      secret_preview: p.secret_preview,
      previous_secret_hash: p.previous_secret_hash,
      previous_secret_expires_at: p.previous_secret_expires_at,
      updated_at: p.updated_at,
    })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'api_key.rotated', resourceType: 'api_key' }, p);
});

export const deletePreviousSecret = auditedWrite<{ id: string; at: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .updateTable('api_keys')
    .set({ previous_secret_hash: null, previous_secret_expires_at: null, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('previous_secret_expires_at', '>', p.at)
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'api_key.previous_secret_revoked', resourceType: 'api_key' }, p);
});

/** The row remains, so that the audit trail can show the name of the key. */
export const deleteApiKey = auditedWrite<{ id: string; at: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .updateTable('api_keys')
    .set({ deleted_at: p.at, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'api_key.deleted', resourceType: 'api_key' }, p);
});

export const findKeyTenant = read<{ keyUuid: string }, { tenant_id: string }>((p) =>
  builder.selectFrom('api_key_directory').select('tenant_id').where('key_uuid', '=', p.keyUuid),
);

export type UsableKeyRow = Pick<
  ApiKeyTable,
  | 'id'
  | 'tenant_id'
  | 'name'
  | 'permissions'
  | 'mcp_write_enabled'
  | 'expires_at'
  | 'ip_whitelist'
  | 'device_fingerprint'
  | 'secret_hash'
  | 'previous_secret_hash'
  | 'previous_secret_expires_at'
>;

/** The key, if key and tenant are active at that time; the caller verifies the secret. */
export const findUsableKey = read<{ tenantId: string; keyUuid: string; at: string }, UsableKeyRow>((p) =>
  builder
    .selectFrom('api_keys')
    .innerJoin('tenants', 'tenants.id', 'api_keys.tenant_id')
    .select([
      'api_keys.id',
      'api_keys.tenant_id',
      'api_keys.name',
      'api_keys.permissions',
      'api_keys.mcp_write_enabled',
      'api_keys.expires_at',
      'api_keys.ip_whitelist',
      'api_keys.device_fingerprint',
      'api_keys.secret_hash',
      'api_keys.previous_secret_hash',
      'api_keys.previous_secret_expires_at',
    ])
    .where('api_keys.tenant_id', '=', p.tenantId)
    .where('api_keys.key_uuid', '=', p.keyUuid)
    .where('api_keys.enabled', '=', true)
    .where('api_keys.deleted_at', 'is', null)
    .where(sql<boolean>`(api_keys.expires_at is null or api_keys.expires_at > ${p.at}::timestamptz)`)
    .where('tenants.status', '=', 'active'),
);
