import { assertHolds } from '#core/base/access/granting';
import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import { announceRevocation } from '#core/data/db/revocation';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { parseSort, toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import { removeCategoryLinksOf } from '#modules/categories/index';
import { GroupNotFound, MemberNotFound, NotAMember } from '#modules/groups/groups.errors';
import {
  countGroups,
  countMembers,
  deleteGroup as deleteGroupRow,
  deleteMember,
  findGroup,
  findMember,
  findUser,
  insertGroup,
  insertMember,
  listGroups as listGroupRows,
  listMembers,
  lockGroup,
  recordDeletion,
  updateGroup as updateGroupRow,
  type GroupChanges,
  type GroupMemberRow,
  type GroupRow,
} from '#modules/groups/groups.queries';
import type {
  CreateGroupBody,
  ListGroupMembersQuery,
  ListGroupsQuery,
  UpdateGroupBody,
} from '#modules/groups/groups.schemas';

type Scope = { db: TenantDb; actor: Actor; services: Pick<Services, 'now' | 'principals'> };
type Reader = { db: TenantDb; setHeader: SetHeader };

export async function listGroups({ db, setHeader }: Reader, query: ListGroupsQuery) {
  const { limit = 50, offset = 0, sort, search } = query;
  const { rows, ...total } = await pageOfMatches(
    db,
    listGroupRows(db.tenantId, search, { limit, offset, order: parseSort(sort) }),
    countGroups(db.tenantId, search),
    { limit, offset },
  );
  return toPage(rows.map(presentGroup), { limit, offset }, total, setHeader);
}

/** @throws GroupNotFound */
export async function getGroup(db: TenantDb, id: string) {
  const row = await db.first(findGroup({ tenantId: db.tenantId, id }));
  if (row === undefined) throw GroupNotFound();
  return { data: presentGroup(row) };
}

/** @throws GroupNameTaken (through the constraint), PermissionsAboveOwn */
export async function createGroup({ db, actor, services }: Scope, body: CreateGroupBody) {
  const permissions = body.permissions ?? [];
  assertHolds(actor, permissions);
  const at = services.now().toISOString();
  const row = await db.interactive.first(
    insertGroup({
      id: newId(),
      name: body.name,
      description: body.description ?? null,
      permissions,
      created_at: at,
      updated_at: at,
      ...auditParams(actor, at),
    }),
  );
  return { data: presentGroup(row!) };
}

/** New permissions apply to the next request of each member. @throws GroupNotFound, GroupNameTaken, PermissionsAboveOwn */
export async function updateGroup({ db, actor, services }: Scope, id: string, body: UpdateGroupBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getGroup(db, id);
  const { tenantId } = db;
  const at = services.now().toISOString();
  const changes = { ...body, updated_at: at } as GroupChanges;
  const row = await db.transaction(async (tx) => {
    await lockChangeable(tx, actor, id);
    assertHolds(actor, body.permissions ?? []);
    await tx.all(announceRevocation(`tenant:${tenantId}`));
    return tx.first(updateGroupRow(id, changes, auditParams(actor, at, { fields })));
  });
  services.principals.forget(`tenant:${tenantId}`);
  return { data: presentGroup(row!) };
}

/** @throws GroupNotFound, PermissionsAboveOwn */
export async function deleteGroup({ db, actor, services }: Scope, id: string): Promise<void> {
  const { tenantId } = db;
  await db.transaction(async (tx) => {
    await lockChangeable(tx, actor, id);
    await removeCategoryLinksOf(tx, { tenantId, entityType: 'group', entityId: id });
    await tx.all(deleteGroupRow({ tenantId, id }));
    await tx.all(announceRevocation(`tenant:${tenantId}`));
    await tx.all(recordDeletion({ id, ...auditParams(actor, services.now().toISOString()) }));
  });
  services.principals.forget(`tenant:${tenantId}`);
}

/** @throws GroupNotFound */
export async function listGroupMembers({ db, setHeader }: Reader, groupId: string, query: ListGroupMembersQuery) {
  const { limit = 50, offset = 0 } = query;
  const { tenantId } = db;
  const [groups, rows, [counted]] = await db.interactive.batch([
    findGroup({ tenantId, id: groupId }),
    listMembers({ tenantId, groupId, limit, offset }),
    countMembers({ tenantId, groupId }),
  ]);
  if (groups.length === 0) throw GroupNotFound();
  const total = { total: counted!.total, isCapped: false };
  return toPage(rows.map(presentMember), { limit, offset }, total, setHeader);
}

/** Adding a member again changes nothing. @throws GroupNotFound, MemberNotFound, PermissionsAboveOwn */
export async function addGroupMember({ db, actor, services }: Scope, groupId: string, userId: string) {
  const { tenantId } = db;
  const at = services.now().toISOString();
  const member = await db.transaction(async (tx) => {
    const group = await lockChangeable(tx, actor, groupId);
    const user = await tx.first(findUser({ tenantId, id: userId }));
    if (user === undefined) throw MemberNotFound();
    await tx.all(insertMember({ groupId, userId, at, ...auditParams(actor, at, { groupId: group.id }) }));
    await tx.all(announceRevocation(`user:${user.id}`));
    return tx.first(findMember({ tenantId, groupId, userId }));
  });
  services.principals.forget(`user:${member!.user_id}`);
  return { data: presentMember(member!) };
}

/** @throws GroupNotFound, NotAMember, PermissionsAboveOwn */
export async function removeGroupMember({ db, actor, services }: Scope, groupId: string, userId: string) {
  const removed = await db.transaction(async (tx) => {
    const group = await lockChangeable(tx, actor, groupId);
    const at = services.now().toISOString();
    const row = await tx.first(deleteMember({ groupId, userId, ...auditParams(actor, at, { groupId: group.id }) }));
    if (row === undefined) throw NotAMember();
    await tx.all(announceRevocation(`user:${row.id}`));
    return row;
  });
  services.principals.forget(`user:${removed.id}`);
}

async function lockChangeable(tx: Transaction, actor: Actor, id: string): Promise<GroupRow> {
  const group = await tx.first(lockGroup({ tenantId: actor.tenantId, id }));
  if (group === undefined) throw GroupNotFound();
  assertHolds(actor, group.permissions);
  return group;
}

function presentGroup(row: GroupRow) {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    permissions: row.permissions,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

function presentMember(row: GroupMemberRow) {
  return {
    userId: row.user_id,
    email: row.email,
    displayName: row.display_name,
    status: row.status,
    created_at: row.created_at,
  };
}
