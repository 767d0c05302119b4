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
  write,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import { typed, flag, lockById, tenantTable, text, time, uuid, type RowOf } from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';

type UserStatus = 'invited' | 'active' | 'suspended' | 'deleted';

const users = tenantTable('users', {
  id: uuid,
  email: text,
  display_name: text,
  full_name: text,
  locale: text,
  phone: text.orNull,
  timezone: text.orNull,
  status: typed<UserStatus>(),
  is_tenant_admin: flag,
  last_login_at: time.orNull,
  created_at: time,
  updated_at: time,
});
type UserColumns = RowOf<typeof users>;

type Tables = {
  users: UserColumns & { tenant_id: string };
  memberships: { account_id: string; tenant_id: string; user_id: string };
  groups: { tenant_id: string; id: string; permissions: string[] };
  group_members: { tenant_id: string; group_id: string; user_id: string };
  tenants: { id: string; name: string; languages: string[] };
  sessions: { tenant_id: string; id: string; user_id: string; ended_at: string | null };
};

export type UserRow = UserColumns & { groups: string[] };

const builder = queryBuilder<Tables>();

// The subquery also names the tenant, so that it does not depend on row level security alone.
const groupNames = (tenantId: string) =>
  sql<string[]>`array(
    select g.name from group_members m join groups g on g.tenant_id = m.tenant_id and g.id = m.group_id
    where m.tenant_id = ${tenantId} and m.user_id = users.id order by g.name)`.as('groups');

export const findUser = read<{ tenantId: string; id: string }, UserRow>((p) =>
  builder
    .selectFrom('users')
    .select(users.columns)
    .select(groupNames(p.tenantId))
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '<>', 'deleted'),
);

export const findUserByEmail = read<{ tenantId: string; email: string }, { id: string }>((p) =>
  builder
    .selectFrom('users')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('email', '=', p.email)
    .where('status', '<>', 'deleted'),
);

/** Permissions of the user through groups. */
export const listHeldPermissions = read<{ tenantId: string; id: string }, { permission: string }>((p) =>
  builder
    .selectFrom('group_members')
    .innerJoin('groups', (join) =>
      join.onRef('groups.tenant_id', '=', 'group_members.tenant_id').onRef('groups.id', '=', 'group_members.group_id'),
    )
    .select(sql<string>`unnest(groups.permissions)`.as('permission'))
    .distinct()
    .where('group_members.tenant_id', '=', p.tenantId)
    .where('groups.tenant_id', '=', p.tenantId)
    .where('group_members.user_id', '=', p.id),
);

export const findGroups = read<{ tenantId: string; ids: readonly string[] }, { id: string; permissions: string[] }>(
  (p) =>
    builder
      .selectFrom('groups')
      .select(['id', 'permissions'])
      .where('tenant_id', '=', p.tenantId)
      .where(sql<boolean>`id = any(${p.ids}::uuid[])`),
);

/** Serialises changes of the administrators of a tenant. */
export const lockTenant = lock<{ tenantId: string }, { name: string }>((p) =>
  builder.selectFrom('tenants').select('name').where('id', '=', p.tenantId).forNoKeyUpdate(),
);

export const lockUser = lockById(users, 'for no key update', 'id');

export const findTenant = read<{ tenantId: string }, { name: string; languages: string[] }>((p) =>
  builder.selectFrom('tenants').select(['name', 'languages']).where('id', '=', p.tenantId),
);

export const findOtherAdministrator = read<{ tenantId: string; id: string }, { id: string }>((p) =>
  builder
    .selectFrom('users')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '<>', p.id)
    .where('is_tenant_admin', '=', true)
    .where('status', '=', 'active')
    .limit(1),
);

export type UserChanges = Partial<
  Pick<
    UserColumns,
    'display_name' | 'full_name' | 'locale' | 'phone' | 'timezone' | 'status' | 'is_tenant_admin' | 'updated_at'
  >
>;

export function updateUser(
  id: string,
  changes: UserChanges,
  audit: AuditParams,
  action: 'user.updated' | 'profile.updated' = 'user.updated',
): WriteStatement<{ id: string }> {
  const change = builder
    .updateTable('users')
    .set(changes)
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .where('status', '<>', 'deleted')
    .returning('id');
  return toAuditedWrite(withAudit<{ id: string }>(change, { action, resourceType: 'user' }, audit));
}

/** The row remains for the audit trail and for the records that the user created; the membership is deleted. */
export const deleteUser = auditedWrite<{ id: string; at: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .updateTable('users')
    .set({ status: 'deleted', is_tenant_admin: false, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '<>', 'deleted')
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'user.deleted', resourceType: 'user' }, p);
});

export const deleteMembership = write<{ tenantId: string; id: string }, never>((p) =>
  builder.deleteFrom('memberships').where('tenant_id', '=', p.tenantId).where('user_id', '=', p.id),
);

export const deleteGroupMemberships = write<{ tenantId: string; id: string }, never>((p) =>
  builder.deleteFrom('group_members').where('tenant_id', '=', p.tenantId).where('user_id', '=', p.id),
);

/** After a suspension, the user must log in again. */
export const endSessions = write<{ tenantId: string; id: string; at: string }, never>((p) =>
  builder
    .updateTable('sessions')
    .set({ ended_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', '=', p.id)
    .where('ended_at', 'is', null),
);

export type UserFilters = {
  search?: string | undefined;
  email?: string | undefined;
  status?: UserStatus | undefined;
  isTenantAdmin?: boolean | undefined;
};

export type UserOrder = { column: 'created_at' | 'email' | 'displayName' | 'last_login_at'; descending: boolean };

type UserSelect = SelectQueryBuilder<Tables, 'users', object>;

export function listUsers(
  tenantId: string,
  filters: UserFilters,
  page: { limit: number; offset: number; order: UserOrder | undefined },
): ReadStatement<UserRow> {
  const { column, descending } = page.order ?? { column: 'displayName', descending: false };
  const direction = descending ? 'desc' : 'asc';
  let query = filtered(tenantId, filters).select(users.columns).select(groupNames(tenantId));
  if (column === 'displayName') query = query.orderBy(sql`lower(display_name)`, direction);
  else if (column === 'last_login_at')
    query = query.orderBy(column, (order) => (descending ? order.desc().nullsLast() : order.asc().nullsLast()));
  else query = query.orderBy(column, direction);
  return toRead(query.orderBy('id', direction).limit(page.limit).offset(page.offset));
}

export function countUsers(tenantId: string, filters: UserFilters): ReadStatement<{ total: number }> {
  return countMatches(filtered(tenantId, filters).select('id'));
}

function filtered(tenantId: string, filters: UserFilters): UserSelect {
  let query: UserSelect = builder
    .selectFrom('users')
    .where('tenant_id', '=', tenantId)
    .where('status', '<>', 'deleted');
  for (const pattern of searchPatterns(filters.search)) {
    query = query.where(
      sql`lower(display_name || ' ' || full_name || ' ' || email)`,
      'like',
      sql<string>`lower(${pattern})`,
    );
  }
  if (filters.email !== undefined) query = query.where('email', '=', filters.email.toLowerCase());
  if (filters.status !== undefined) query = query.where('status', '=', filters.status);
  if (filters.isTenantAdmin !== undefined) query = query.where('is_tenant_admin', '=', filters.isTenantAdmin);
  return query;
}
