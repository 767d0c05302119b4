import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { lock, queryBuilder, read, toAuditedWrite, type WriteStatement } from '#core/data/db/query';

export type TenantRow = {
  id: string;
  name: string;
  domain: string;
  status: 'active' | 'suspended' | 'pending_deletion' | 'deleted';
  default_language: string;
  languages: string[];
  settings: Record<string, unknown>;
  suspended_at: string | null;
  deletes_at: string | null;
  created_at: string;
  updated_at: string;
};

const builder = queryBuilder<{ tenants: TenantRow }>();

export const tenantColumns = [
  'id',
  'name',
  'domain',
  'status',
  'default_language',
  'languages',
  'settings',
  'suspended_at',
  'deletes_at',
  'created_at',
  'updated_at',
] as const;

export const findTenant = read<{ tenantId: string }, TenantRow>((p) =>
  builder.selectFrom('tenants').select(tenantColumns).where('id', '=', p.tenantId),
);

export const lockTenant = lock<{ tenantId: string }, TenantRow>((p) =>
  builder.selectFrom('tenants').select(tenantColumns).where('id', '=', p.tenantId).forNoKeyUpdate(),
);

export type TenantChanges = Partial<
  Pick<TenantRow, 'name' | 'default_language' | 'languages' | 'settings' | 'updated_at'>
>;

export function updateTenant(changes: TenantChanges, audit: AuditParams): WriteStatement<TenantRow> {
  const change = builder.updateTable('tenants').set(changes).where('id', '=', audit.tenantId).returning(tenantColumns);
  return toAuditedWrite(withAudit<TenantRow>(change, { action: 'tenant.updated', resourceType: 'tenant' }, audit));
}
