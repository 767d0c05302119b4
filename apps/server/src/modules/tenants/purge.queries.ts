import { withAudit, type AuditParams } from '#core/audit/audit.queries';
import { auditedWrite, queryBuilder, read, write, type WriteStatement } from '#core/db/query';
import type { TenantRow } from '#modules/tenants/tenants.queries';

type Tables = {
  tenants: TenantRow;
  files: { tenant_id: string; id: string; status: 'uploading' | 'stored' | 'deleting'; lease_ends_at: string | null };
  account_identities: { id: string; configured_by: string };
};

const builder = queryBuilder<Tables>();

/** A table with rows of the tenant; referenced rows of the same table are deleted after their referrers. */
export type PurgedTable = { name: string; key: readonly [string, ...string[]]; parent?: string };

export const storageTable: PurgedTable = { name: 'tenant_storage', key: ['tenant_id'] };

/**
 * The tables of a tenant in an order that foreign keys permit: first the directory entries that lead to the tenant,
 * last the audit trail. `files` is handled separately, and the row of `tenants` remains.
 */
export const purgedTables: readonly PurgedTable[] = [
  { name: 'memberships', key: ['account_id'] },
  { name: 'api_key_directory', key: ['key_uuid'] },
  { name: 'app_account_directory', key: ['email'] },
  { name: 'refresh_tokens', key: ['hash'] },
  { name: 'sessions', key: ['id'] },
  { name: 'calendar_bookings', key: ['event_id', 'entity_id'] },
  { name: 'calendar_events', key: ['id'] },
  { name: 'category_links', key: ['id'] },
  { name: 'categories', key: ['id'], parent: 'parent_id' },
  { name: 'contact_links', key: ['id'] },
  { name: 'contacts', key: ['id'] },
  { name: 'space_tags', key: ['space_id', 'tag_id'] },
  { name: 'resource_tags', key: ['resource_id', 'tag_id'] },
  { name: 'tags', key: ['id'] },
  { name: 'feedbacks', key: ['id'] },
  { name: 'qr_codes', key: ['id'] },
  { name: 'resources', key: ['id'], parent: 'parent_id' },
  { name: 'spaces', key: ['id'], parent: 'parent_id' },
  { name: 'type_definitions', key: ['id'] },
  { name: 'group_members', key: ['group_id', 'user_id'] },
  { name: 'groups', key: ['id'] },
  { name: 'api_keys', key: ['id'] },
  { name: 'app_accounts', key: ['id'] },
  { name: 'identity_providers', key: ['provider'] },
  { name: 'connectors', key: ['id'] },
  { name: 'connector_events', key: ['id'] },
  { name: 'operation_overrides', key: ['id'] },
  { name: 'operation_quota', key: ['operation_key', 'unit', 'period', 'starts_at'] },
  { name: 'provider_calls', key: ['called_at', 'id'] },
  { name: 'provider_call_hours', key: ['hour', 'operation_key', 'provider'] },
  { name: 'translation_memory', key: ['key'] },
  { name: 'translation_marks', key: ['entity_type', 'entity_id', 'language', 'field'] },
  { name: 'translation_jobs', key: ['id'] },
  { name: 'model_catalogs', key: ['task'] },
  { name: 'flow_task_completions', key: ['id'] },
  { name: 'flow_tasks', key: ['id'] },
  { name: 'notification_deliveries', key: ['id'] },
  { name: 'notifications', key: ['id'] },
  { name: 'notices', key: ['id'] },
  { name: 'notification_preferences', key: ['id'] },
  { name: 'push_subscriptions', key: ['id'] },
  { name: 'credential_totals', key: ['credential_id'] },
  { name: 'credential_usage', key: ['credential_id', 'hour', 'operation'] },
  { name: 'idempotency_keys', key: ['scope'] },
  { name: 'users', key: ['id'] },
  storageTable,
  { name: 'row_counts', key: ['table_name', 'slot'] },
  { name: 'audit_logs', key: ['created_at', 'id'] },
  { name: 'audit_chains', key: ['slot'] },
  { name: 'tenant_domains', key: ['domain'] },
];

type Batch = { tenantId: string; limit: number };

/** Deletes at limit `limit` rows of the tenant from the table and returns one row for each. */
export function deleteRows(
  { name, key, parent }: PurgedTable,
  { tenantId, limit }: Batch,
): WriteStatement<{ deleted: number }> {
  const columns = key.join(', ');
  // Leaves first: a row remains while it is the parent of another one.
  const isLeaf =
    parent === undefined
      ? ''
      : `and not exists (select 1 from ${name} child where child.tenant_id = $1 and child.${parent} = candidate.id)`;
  const text = `delete from ${name} where tenant_id = $1 and (${columns}) in (
    select ${columns} from ${name} candidate where tenant_id = $1 ${isLeaf} limit $2) returning 1 as deleted`;
  return { kind: 'write', text, values: [tenantId, limit], prepare: false };
}

/** Identities that only the tenant's own provider configuration authenticated. */
export const deleteIdentities = write<Batch, { id: string }>((p) =>
  builder
    .deleteFrom('account_identities')
    .where('id', 'in', (db) =>
      db.selectFrom('account_identities').select('id').where('configured_by', '=', p.tenantId).limit(p.limit),
    )
    .returning('id'),
);

/** Marks stored files for the job that deletes objects and then their rows. */
export const releaseFiles = write<Batch & { at: string }, { id: string }>((p) =>
  builder
    .updateTable('files')
    .set({ status: 'deleting', lease_ends_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', 'in', (db) =>
      db
        .selectFrom('files')
        .select('id')
        .where('tenant_id', '=', p.tenantId)
        .where('status', '=', 'stored')
        .limit(p.limit),
    )
    .returning('id'),
);

export const findFile = read<{ tenantId: string }, { id: string }>((p) =>
  builder.selectFrom('files').select('id').where('tenant_id', '=', p.tenantId).limit(1),
);

/** Tenants whose grace period ended before then, and whose purge is not finished. */
export const listDueTenants = read<{ before: string; limit: number }, { id: string }>((p) =>
  builder
    .selectFrom('tenants')
    .select('id')
    .where('status', 'in', ['pending_deletion', 'deleted'])
    .where('deletes_at', '<=', p.before)
    .orderBy('deletes_at')
    .limit(p.limit),
);

/** Makes the deletion final. No row if the tenant was restored before. */
export const beginPurge = write<{ tenantId: string; before: string; at: string }, { id: string }>((p) =>
  builder
    .updateTable('tenants')
    .set({ status: 'deleted', updated_at: p.at })
    .where('id', '=', p.tenantId)
    .where('status', 'in', ['pending_deletion', 'deleted'])
    .where('deletes_at', '<=', p.before)
    .returning('id'),
);

/** Only the identifier remains, so that it is never used again. The audit event belongs to the tenant `audit`. */
export const finishPurge = auditedWrite<{ purgedId: string; at: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .updateTable('tenants')
    .set({ name: '', domain: '', settings: {}, suspended_at: null, deletes_at: null, updated_at: p.at })
    .where('id', '=', p.purgedId)
    .where('status', '=', 'deleted')
    .where('deletes_at', 'is not', null)
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'tenant.purged', resourceType: 'tenant' }, p);
});
