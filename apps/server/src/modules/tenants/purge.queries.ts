import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { databaseNow } from '#core/data/db/lease';
import { auditedWrite, queryBuilder, read, write, type ReadStatement, type WriteStatement } from '#core/data/db/query';
import type { TenantRow } from '#modules/tenants/tenants.queries';

/** A table with rows of the tenant; in a tree, `parent` is the column that names the parent row. */
export type PurgedTable = { name: string; key: readonly string[]; parent: string | null };

type Tables = {
  tenants: TenantRow;
  files: { tenant_id: string; id: string; status: 'uploading' | 'stored' | 'deleting'; lease_until: string | null };
  account_identities: { id: string; configured_by: string };
};

const builder = queryBuilder<Tables>();

/**
 * The tables whose rows the purge may delete, with their keys and foreign keys as the catalog has them. `parent` is the column
 * of a tree, whose rows are deleted from the leaves.
 */
export const listPurgedTables: ReadStatement<PurgedTable & { referrers: string[] }> = {
  kind: 'read',
  text: `select c.relname as name,
      coalesce((select array_agg(a.attname order by a.attnum) from pg_constraint k
         join pg_attribute a on a.attrelid = k.conrelid and a.attnum = any (k.conkey) and a.attname <> 'tenant_id'
         where k.conrelid = c.oid and k.contype = 'p')::text[], '{tenant_id}') as key,
      (select a.attname from pg_constraint k
         join pg_attribute a on a.attrelid = k.conrelid and a.attnum = any (k.conkey) and a.attname <> 'tenant_id'
         where k.conrelid = c.oid and k.confrelid = c.oid and k.contype = 'f') as parent,
      array(select distinct r.relname from pg_constraint k join pg_class r on r.oid = k.conrelid
         where k.confrelid = c.oid and k.contype = 'f' and r.oid <> c.oid)::text[] as referrers
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and has_table_privilege(c.oid, 'delete')
    order by c.relname`,
  values: [],
  prepare: false,
};

type Batch = { tenantId: string; limit: number };

/** Deletes at most `limit` rows of the tenant from the table and returns one row for each. */
export function deleteRows(
  { name, key, parent }: PurgedTable,
  { tenantId, limit }: Batch,
): WriteStatement<{ deleted: number }> {
  const columns = key.join(', ');
  // Leaves first: a row remains while it is the parent of another one.
  const isLeaf =
    parent === null
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
export const releaseFiles = write<Batch, { id: string }>((p) =>
  builder
    .updateTable('files')
    .set({ status: 'deleting', lease_until: databaseNow })
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
