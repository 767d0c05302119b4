import { sql } from 'kysely';

import type { ApiKeyPermissions, AppAccountPermissions } from '#core/base/access/flags';
import { queryBuilder, read } from '#core/data/db/query';
import { typed, flag, rowById, tenantTable, text, time, uuid, type ById, type RowOf } from '#core/data/db/rows';

type Tables = {
  tenants: { id: string; status: string; settings: Record<string, unknown> };
  groups: GroupRow & { tenant_id: string };
  group_members: { tenant_id: string; group_id: string; user_id: string };
};

const builder = queryBuilder<Tables>();

export type TenantRow = { status: string; two_factor_required_from: string | null };

export const findTenant = read<{ tenantId: string }, TenantRow>((p) =>
  builder
    .selectFrom('tenants')
    .select(['status', sql<string | null>`settings ->> 'twoFactorRequiredFrom'`.as('two_factor_required_from')])
    .where('id', '=', p.tenantId),
);

const users = tenantTable(
  'users',
  { id: uuid, account_id: uuid, display_name: text, status: text, is_tenant_admin: flag },
  ['status', '<>', 'deleted'],
);
export type UserRow = RowOf<typeof users>;
export const findUser = rowById(users);

const groups = tenantTable('groups', { id: uuid, name: text, permissions: typed<string[]>() });
export type GroupRow = RowOf<typeof groups>;
export const findGroup = rowById(groups);

export const listGroupsOfUser = read<ById, GroupRow>((p) =>
  builder
    .selectFrom('group_members')
    .innerJoin('groups', (join) =>
      join.onRef('groups.tenant_id', '=', 'group_members.tenant_id').onRef('groups.id', '=', 'group_members.group_id'),
    )
    .select(['groups.id', 'groups.name', 'groups.permissions'])
    .where('group_members.tenant_id', '=', p.tenantId)
    .where('groups.tenant_id', '=', p.tenantId)
    .where('group_members.user_id', '=', p.id)
    .orderBy('groups.name'),
);

const apiKeys = tenantTable(
  'api_keys',
  {
    id: uuid,
    name: text,
    permissions: typed<ApiKeyPermissions>(),
    enabled: flag,
    expires_at: time.orNull,
    ip_whitelist: typed<string[] | null>(),
    device_fingerprint: text.orNull,
  },
  ['deleted_at', 'is', null],
);
export type ApiKeyRow = RowOf<typeof apiKeys>;
export const findApiKey = rowById(apiKeys);

const appAccounts = tenantTable('app_accounts', {
  id: uuid,
  name: text,
  permissions: typed<AppAccountPermissions>(),
  status: text,
  expires_at: time.orNull,
});
export type AppAccountRow = RowOf<typeof appAccounts>;
export const findAppAccount = rowById(appAccounts);
