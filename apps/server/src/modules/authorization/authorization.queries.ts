import { sql } from 'kysely';

import { queryBuilder, read } from '#core/data/db/query';
import type { AuthorizationTables as Tables } from '#modules/authorization/authorization.tables';

const builder = queryBuilder<Tables>();

type Key = { tenantId: string; id: string };

export type TenantRow = { status: string; two_factor_required_from: string | null };

export const findTenant = read<{ tenantId: string }, TenantRow>((p) =>
  builder
    .selectFrom('tenants')
    .select(['status', sql<string | null>`settings ->> 'twoFactorRequiredFrom'`.as('two_factor_required_from')])
    .where('id', '=', p.tenantId),
);

export type UserRow = Omit<Tables['users'], 'tenant_id'>;

export const findUser = read<Key, UserRow>((p) =>
  builder
    .selectFrom('users')
    .select(['id', 'account_id', 'display_name', 'status', 'is_tenant_admin'])
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '<>', 'deleted'),
);

export type GroupRow = Omit<Tables['groups'], 'tenant_id'>;

export const listGroupsOfUser = read<Key, GroupRow>((p) =>
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

export const findGroup = read<Key, GroupRow>((p) =>
  builder
    .selectFrom('groups')
    .select(['id', 'name', 'permissions'])
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id),
);

export type ApiKeyRow = Omit<Tables['api_keys'], 'tenant_id' | 'deleted_at'>;

export const findApiKey = read<Key, ApiKeyRow>((p) =>
  builder
    .selectFrom('api_keys')
    .select(['id', 'name', 'permissions', 'enabled', 'expires_at', 'ip_whitelist', 'device_fingerprint'])
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('deleted_at', 'is', null),
);

export type AppAccountRow = Omit<Tables['app_accounts'], 'tenant_id'>;

export const findAppAccount = read<Key, AppAccountRow>((p) =>
  builder
    .selectFrom('app_accounts')
    .select(['id', 'name', 'permissions', 'status', 'expires_at'])
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id),
);
