import { auditParams } from '#core/audit/audit.queries';
import type { Actor } from '#core/access/principal';
import { announceRevocation } from '#core/access/revocation';
import type { TenantDb, Transaction } from '#core/db/scopes';
import { pageOfMatches } from '#core/db/totals';
import { parseSort, toPage } from '#core/http/paging';
import type { Services } from '#core/services';
import { addPerson } from '#modules/auth/index';
import { LastAdministrator, NotJoinedYet, RoleAboveOwn, UserNotFound } from '#modules/users/users.errors';
import {
  countUsers,
  deleteGroupMemberships,
  deleteMembership,
  deleteUser as deleteUserRow,
  endSessions,
  findOtherAdministrator,
  findTenantName,
  findUser,
  listUsers as listUserRows,
  lockTenant,
  updateUser as updateUserRow,
  type UserChanges,
  type UserRow,
} from '#modules/users/users.queries';
import type { CreateUserBody, ListUsersQuery, UpdateUserBody } from '#modules/users/users.schemas';

type Scope = { db: TenantDb; actor: Actor; services: Services };

export async function listUsers(
  { db, setHeader }: { db: TenantDb; setHeader(name: string, value: string): void },
  query: ListUsersQuery,
) {
  const { limit = 50, offset = 0, sort, search, email, status, isTenantAdmin } = query;
  const filters = { search, email, status, isTenantAdmin };
  const order = parseSort(sort);
  const { rows, ...total } = await pageOfMatches(
    db,
    listUserRows(db.tenantId, filters, { limit, offset, order }),
    countUsers(db.tenantId, filters),
    { limit, offset },
  );
  return toPage(rows.map(presentUser), { limit, offset }, total, setHeader);
}

/** @throws UserNotFound */
export async function getUser(db: TenantDb, id: string) {
  const row = await db.first(findUser({ tenantId: db.tenantId, id }));
  if (row === undefined) throw UserNotFound();
  return { data: presentUser(row) };
}

/** @throws UserExists (through the constraint), RoleAboveOwn */
export async function createUser({ db, actor, services }: Scope, body: CreateUserBody) {
  const isTenantAdmin = body.isTenantAdmin ?? false;
  if (isTenantAdmin && !actor.isTenantAdmin) throw RoleAboveOwn();
  const tenant = await db.first(findTenantName({ tenantId: db.tenantId }));
  const id = await addPerson(services, actor, {
    email: body.email,
    password: body.password,
    displayName: body.displayName,
    fullName: body.fullName,
    locale: body.locale ?? 'en',
    isTenantAdmin,
    tenantName: tenant!.name,
  });
  return getUser(db, id);
}

/** Suspending or demoting somebody acts on their next request. @throws UserNotFound, LastAdministrator, RoleAboveOwn, NotJoinedYet */
export async function updateUser({ db, actor, services }: Scope, id: string, body: UpdateUserBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getUser(db, id);
  const { tenantId } = db;
  const at = services.now().toISOString();
  const losesAdministration = body.isTenantAdmin === false || body.status === 'suspended';
  const row = await db.transaction(async (tx) => {
    const user = await findChangeable(tx, {
      tenantId,
      id,
      actor,
      losesAdministration,
      grantsAdministration: body.isTenantAdmin === true,
    });
    if (user.status === 'invited' && body.status !== undefined) throw NotJoinedYet();
    await tx.all(updateUserRow(user.id, { ...toColumns(body), updated_at: at }, auditParams(actor, at, { fields })));
    if (body.status === 'suspended') await tx.all(endSessions({ tenantId, id, at }));
    await tx.all(announceRevocation(`user:${user.id}`));
    return tx.first(findUser({ tenantId, id }));
  });
  services.principals.forget(`user:${row!.id}`);
  return { data: presentUser(row!) };
}

/** @throws UserNotFound, LastAdministrator, RoleAboveOwn */
export async function deleteUser({ db, actor, services }: Scope, id: string): Promise<void> {
  const { tenantId } = db;
  const at = services.now().toISOString();
  const user = await db.transaction(async (tx) => {
    const found = await findChangeable(tx, {
      tenantId,
      id,
      actor,
      losesAdministration: true,
      grantsAdministration: false,
    });
    await tx.all(deleteUserRow({ id, at, ...auditParams(actor, at) }));
    await tx.all(deleteMembership({ tenantId, id }));
    await tx.all(deleteGroupMemberships({ tenantId, id }));
    await tx.all(endSessions({ tenantId, id, at }));
    await tx.all(announceRevocation(`user:${found.id}`));
    return found;
  });
  services.principals.forget(`user:${user.id}`);
}

type Change = {
  tenantId: string;
  id: string;
  actor: Actor;
  losesAdministration: boolean;
  grantsAdministration: boolean;
};

/** The user, with its id as the principals know it: a path may spell a uuid in capitals. */
async function findChangeable(tx: Transaction, change: Change): Promise<UserRow> {
  const { tenantId, id, actor } = change;
  await tx.all(lockTenant({ tenantId }));
  const user = await tx.first(findUser({ tenantId, id }));
  if (user === undefined) throw UserNotFound();
  if ((user.is_tenant_admin || change.grantsAdministration) && !actor.isTenantAdmin) throw RoleAboveOwn();
  if (!change.losesAdministration || !user.is_tenant_admin || user.status !== 'active') return user;
  if ((await tx.first(findOtherAdministrator({ tenantId, id }))) === undefined) throw LastAdministrator();
  return user;
}

function toColumns(body: UpdateUserBody): UserChanges {
  const columns = {
    display_name: body.displayName,
    full_name: body.fullName,
    locale: body.locale,
    status: body.status,
    is_tenant_admin: body.isTenantAdmin,
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined)) as UserChanges;
}

function presentUser(row: UserRow) {
  return {
    id: row.id,
    email: row.email,
    displayName: row.display_name,
    fullName: row.full_name,
    locale: row.locale,
    status: row.status,
    isTenantAdmin: row.is_tenant_admin,
    groups: row.groups,
    last_login_at: row.last_login_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
