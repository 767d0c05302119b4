import { sql, type SelectQueryBuilder } from 'kysely';

import { auditOfDone, withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { updateRow, type Update } from '#core/data/audit/audited-rows.queries';
import { auditedWrite, queryBuilder, read, searchPatterns, toRead, type ReadStatement } from '#core/data/db/query';
import { typed, deleteById, lockById, rowById, tenantTable, text, time, uuid, type RowOf } from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';

const groups = tenantTable('groups', {
  id: uuid,
  name: text,
  description: text.orNull,
  permissions: typed<string[]>(),
  created_at: time,
  updated_at: time,
});
export type GroupRow = RowOf<typeof groups>;

export type GroupMemberRow = {
  user_id: string;
  email: string;
  display_name: string;
  status: string;
  created_at: string;
};

type Tables = {
  groups: GroupRow & { tenant_id: string };
  group_members: { tenant_id: string; group_id: string; user_id: string; created_at: string };
  users: { tenant_id: string; id: string; email: string; display_name: string; status: string };
};

const builder = queryBuilder<Tables>();

export const findGroup = rowById(groups);

/** The permission check stays valid for the change. */
export const lockGroup = lockById(groups, 'for update');

export const insertGroup = auditedWrite<GroupRow & AuditParams, GroupRow>((p) => {
  const change = builder
    .insertInto('groups')
    .values({
      tenant_id: p.tenantId,
      id: p.id,
      name: p.name,
      description: p.description,
      permissions: p.permissions,
      created_at: p.created_at,
      updated_at: p.updated_at,
    })
    .returning(groups.columns);
  return withAudit<GroupRow>(change, { action: 'group.created', resourceType: 'group' }, p);
});

export type GroupChanges = Partial<Pick<GroupRow, 'name' | 'description' | 'permissions' | 'updated_at'>>;

export const updateGroup: Update<GroupChanges, GroupRow> = updateRow(groups, {
  action: 'group.updated',
  resourceType: 'group',
});

export const deleteGroup = deleteById(groups);

export const recordDeletion = auditOfDone({ action: 'group.deleted', resourceType: 'group' });

type GroupSelect = SelectQueryBuilder<Tables, 'groups', object>;

export type GroupOrder = { column: 'name' | 'created_at'; descending: boolean };

export function listGroups(
  tenantId: string,
  search: string | undefined,
  page: { limit: number; offset: number; order: GroupOrder | undefined },
): ReadStatement<GroupRow> {
  const { column, descending } = page.order ?? { column: 'name', descending: false };
  const direction = descending ? 'desc' : 'asc';
  let query = matching(tenantId, search).select(groups.columns);
  // Ids are UUIDv7, so their order is the order of creation.
  if (column === 'name') query = query.orderBy(sql`lower(name)`, direction);
  return toRead(query.orderBy('id', direction).limit(page.limit).offset(page.offset));
}

export function countGroups(tenantId: string, search: string | undefined): ReadStatement<{ total: number }> {
  return countMatches(matching(tenantId, search).select('id'));
}

function matching(tenantId: string, search: string | undefined): GroupSelect {
  let query: GroupSelect = builder.selectFrom('groups').where('tenant_id', '=', tenantId);
  for (const pattern of searchPatterns(search)) {
    query = query.where(sql`lower(name || ' ' || coalesce(description, ''))`, 'like', sql<string>`lower(${pattern})`);
  }
  return query;
}

export const findUser = rowById(tenantTable('users', { id: uuid }, ['status', '<>', 'deleted']));

export const findMember = read<{ tenantId: string; groupId: string; userId: string }, GroupMemberRow>((p) =>
  builder
    .selectFrom('group_members')
    .innerJoin('users', (join) =>
      join.onRef('users.tenant_id', '=', 'group_members.tenant_id').onRef('users.id', '=', 'group_members.user_id'),
    )
    .select(['users.id as user_id', 'users.email', 'users.display_name', 'users.status', 'group_members.created_at'])
    .where('group_members.tenant_id', '=', p.tenantId)
    .where('users.tenant_id', '=', p.tenantId)
    .where('group_members.group_id', '=', p.groupId)
    .where('group_members.user_id', '=', p.userId),
);

export const listMembers = read<{ tenantId: string; groupId: string; limit: number; offset: number }, GroupMemberRow>(
  (p) =>
    builder
      .selectFrom('group_members')
      .innerJoin('users', (join) =>
        join.onRef('users.tenant_id', '=', 'group_members.tenant_id').onRef('users.id', '=', 'group_members.user_id'),
      )
      .select(['users.id as user_id', 'users.email', 'users.display_name', 'users.status', 'group_members.created_at'])
      .where('group_members.tenant_id', '=', p.tenantId)
      .where('users.tenant_id', '=', p.tenantId)
      .where('group_members.group_id', '=', p.groupId)
      .orderBy(sql`lower(users.display_name)`)
      .orderBy('users.id')
      .limit(p.limit)
      .offset(p.offset),
);

export const countMembers = read<{ tenantId: string; groupId: string }, { total: number }>((p) =>
  builder
    .selectFrom('group_members')
    .select(sql<number>`count(*)`.as('total'))
    .where('tenant_id', '=', p.tenantId)
    .where('group_id', '=', p.groupId),
);

/** Inserts and records nothing if the user is a member already. */
export const insertMember = auditedWrite<{ groupId: string; userId: string; at: string } & AuditParams, { id: string }>(
  (p) => {
    const change = builder
      .insertInto('group_members')
      .values({ tenant_id: p.tenantId, group_id: p.groupId, user_id: p.userId, created_at: p.at })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'group_id', 'user_id']).doNothing())
      .returning('user_id as id');
    return withAudit<{ id: string }>(change, { action: 'group.member_added', resourceType: 'user' }, p);
  },
);

export const deleteMember = auditedWrite<{ groupId: string; userId: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .deleteFrom('group_members')
    .where('tenant_id', '=', p.tenantId)
    .where('group_id', '=', p.groupId)
    .where('user_id', '=', p.userId)
    .returning('user_id as id');
  return withAudit<{ id: string }>(change, { action: 'group.member_removed', resourceType: 'user' }, p);
});
