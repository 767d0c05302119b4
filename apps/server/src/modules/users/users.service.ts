import { assertHolds } from '#core/base/access/granting';
import { systemTenantId, type Actor } from '#core/base/access/principal';
import { auditParams } from '#core/data/audit/audit.queries';
import { announceRevocation } from '#core/data/db/revocation';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { parseSort, toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import {
  addPerson,
  normaliseEmail,
  sendInvitationAgain,
  withdrawInvitation,
  type Leftovers,
} from '#modules/auth/index';
import { releaseTimeOf } from '#modules/calendar/index';
import { removeContactsOfUser } from '#modules/contacts/index';
import { removePreferencesOf, removeSubscriptionsOf } from '#modules/notifications/index';
import { removeObjects, retireFilesOf } from '#modules/storage/index';
import {
  BootstrapOnly,
  GroupNotFound,
  LastAdministrator,
  UserAlreadyJoined,
  UserNotJoined,
  RoleAboveOwn,
  UserExists,
  UserNotFound,
} from '#modules/users/users.errors';
import {
  countUsers,
  deleteGroupMemberships,
  deleteMembership,
  deleteUser as deleteUserRow,
  endSessions,
  findGroups,
  findOtherAdministrator,
  findTenant,
  findUser,
  findUserByEmail,
  listHeldPermissions,
  listUsers as listUserRows,
  lockTenant,
  lockUser,
  updateUser as updateUserRow,
  type UserChanges,
  type UserRow,
} from '#modules/users/users.queries';
import { assertLocaleOffered, readPhone } from '#modules/users/users.rules';
import type { CreateUserBody, InviteUserBody, ListUsersQuery, UpdateUserBody } from '#modules/users/users.schemas';

type Dependencies = Pick<
  Services,
  'database' | 'encryption' | 'files' | 'log' | 'mail' | 'now' | 'passwords' | 'principals' | 'queue' | 'settings'
>;

type Scope = { db: TenantDb; actor: Actor; services: Dependencies };

export async function listUsers({ db, setHeader }: { db: TenantDb; setHeader: SetHeader }, query: ListUsersQuery) {
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

/** @throws UserExists, RoleAboveOwn, BootstrapOnly, LocaleNotOffered, TooManyInvitations */
export async function createUser(scope: Scope, body: CreateUserBody) {
  return addUser(scope, { ...body, groupIds: [] }, 'user.created');
}

/** @throws UserExists, RoleAboveOwn, BootstrapOnly, LocaleNotOffered, GroupNotFound, PermissionsAboveOwn, TooManyInvitations */
export async function inviteUser(scope: Scope, body: InviteUserBody) {
  const groupIds = [...new Set(body.groupIds)];
  await assertGrantable(scope, groupIds);
  return addUser(scope, { ...body, groupIds }, 'user.invited');
}

type NewUser = CreateUserBody & { groupIds: readonly string[] };

async function addUser({ db, actor, services }: Scope, body: NewUser, action: 'user.created' | 'user.invited') {
  const { tenantId } = db;
  const isTenantAdmin = body.isTenantAdmin ?? false;
  if (isTenantAdmin) assertMayAppoint(actor);
  const email = normaliseEmail(body.email);
  const [users, [tenant]] = await db.batch([findUserByEmail({ tenantId, email }), findTenant({ tenantId })]);
  if (users.length > 0) throw UserExists();
  assertLocaleOffered(body.locale, tenant!.languages);
  const id = await addPerson(services, actor, {
    email,
    password: body.password,
    displayName: body.displayName,
    fullName: body.fullName,
    locale: body.locale ?? 'en',
    isTenantAdmin,
    groupIds: body.groupIds,
    tenantName: tenant!.name,
    action,
  });
  return getUser(db, id);
}

async function assertGrantable({ db, actor }: Scope, groupIds: readonly string[]): Promise<void> {
  const groups = await db.all(findGroups({ tenantId: db.tenantId, ids: groupIds }));
  if (groups.length < groupIds.length) throw GroupNotFound();
  assertHolds(
    actor,
    groups.flatMap((group) => group.permissions),
  );
}

/**
 * Sends a new link and revokes the older one.
 * @throws UserNotFound, RoleAboveOwn, UserAlreadyJoined, TooManyInvitations
 */
export async function resendInvitation({ db, actor, services }: Scope, id: string) {
  const user = await db.transaction((tx) => findChangeable(tx, { tenantId: db.tenantId, id, actor }));
  if (user.status !== 'invited') throw UserAlreadyJoined();
  const isSent = await sendInvitationAgain(services, actor, { userId: user.id, email: user.email });
  if (!isSent) throw UserAlreadyJoined();
  return getUser(db, id);
}

/**
 * Suspension and demotion apply from the next request of the user.
 * @throws UserNotFound, LastAdministrator, RoleAboveOwn, BootstrapOnly, UserNotJoined, LocaleNotOffered
 */
export async function updateUser({ db, actor, services }: Scope, id: string, body: UpdateUserBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getUser(db, id);
  const { tenantId } = db;
  const at = services.now().toISOString();
  const losesAdministration = body.isTenantAdmin === false || body.status === 'suspended';
  const row = await db.transaction(async (tx) => {
    const user = await findChangeable(tx, { tenantId, id, actor, losesAdministration });
    if (body.isTenantAdmin === true) assertMayAppoint(actor);
    if (user.status === 'invited' && body.status !== undefined) throw UserNotJoined();
    if (body.locale !== undefined) {
      const tenant = (await tx.first(findTenant({ tenantId })))!;
      assertLocaleOffered(body.locale, tenant.languages, user.locale);
    }
    if (body.status === 'suspended') await tx.all(endSessions({ tenantId, id, at }));
    await tx.all(announceRevocation(`user:${user.id}`));
    await tx.all(updateUserRow(user.id, { ...toColumns(body), updated_at: at }, auditParams(actor, at, { fields })));
    return tx.first(findUser({ tenantId, id }));
  });
  services.principals.forget(`user:${row!.id}`);
  return { data: presentUser(row!) };
}

/** @throws UserNotFound, LastAdministrator, RoleAboveOwn */
export async function deleteUser({ db, actor, services }: Scope, id: string): Promise<void> {
  const { tenantId } = db;
  const at = services.now().toISOString();
  const { found: user, fileIds } = await db.transaction(async (tx) => {
    const found = await findChangeable(tx, { tenantId, id, actor, losesAdministration: true });
    await tx.all(deleteMembership({ tenantId, id }));
    await tx.all(deleteGroupMemberships({ tenantId, id }));
    const retired = await removeBelongings(tx, { tenantId, id });
    await tx.all(endSessions({ tenantId, id, at }));
    await tx.all(announceRevocation(`user:${found.id}`));
    await tx.all(deleteUserRow({ id, at, ...auditParams(actor, at) }));
    return { found, fileIds: retired };
  });
  services.principals.forget(`user:${user.id}`);
  if (user.status === 'invited') await withdrawInvitation(services, { userId: user.id, email: user.email });
  void removeObjects(services, tenantId, fileIds);
}

/**
 * Removes the records of a user within the tenant, except credentials.
 * @returns files whose objects are deleted after the commit
 */
async function removeBelongings(
  tx: Transaction,
  { tenantId, id }: { tenantId: string; id: string },
): Promise<string[]> {
  await releaseTimeOf(tx, { tenantId, id });
  await removeContactsOfUser(tx, tenantId, id);
  await removePreferencesOf(tx, tenantId, id);
  await removeSubscriptionsOf(tx, tenantId, id);
  return retireFilesOf(tx, { tenantId, owner: { type: 'avatar', id } });
}

/** For a user who was not removed by `deleteUser`; it does nothing for an existing user. */
export async function removeLeftovers(services: Dependencies, { tenantId, userId: id }: Leftovers): Promise<void> {
  const fileIds = await services.database.tenant(tenantId).transaction(async (tx) => {
    await tx.all(lockUser({ tenantId, id }));
    if ((await tx.first(findUser({ tenantId, id }))) !== undefined) return [];
    return removeBelongings(tx, { tenantId, id });
  });
  await removeObjects(services, tenantId, fileIds);
}

type Change = { tenantId: string; id: string; actor: Actor; losesAdministration?: boolean };

/**
 * The user, if the actor holds all permissions of the user.
 * @throws UserNotFound, RoleAboveOwn, LastAdministrator
 */
async function findChangeable(tx: Transaction, change: Change): Promise<UserRow> {
  const { tenantId, id, actor } = change;
  await tx.all(lockTenant({ tenantId }));
  // Locked before the sessions, in the same order as a login.
  await tx.all(lockUser({ tenantId, id }));
  const user = await tx.first(findUser({ tenantId, id }));
  if (user === undefined) throw UserNotFound();
  await assertMayChangeUser(tx, actor, user);
  if (change.losesAdministration !== true || !user.is_tenant_admin || user.status !== 'active') return user;
  if ((await tx.first(findOtherAdministrator({ tenantId, id }))) === undefined) throw LastAdministrator();
  return user;
}

/** Refuses to change a user with more permissions than the actor. @throws RoleAboveOwn */
export async function assertMayChangeUser(
  tx: Transaction,
  actor: Actor,
  user: Pick<UserRow, 'id' | 'is_tenant_admin'>,
): Promise<void> {
  if (actor.isTenantAdmin) return;
  if (user.is_tenant_admin) throw RoleAboveOwn();
  const held = await tx.all(listHeldPermissions({ tenantId: actor.tenantId, id: user.id }));
  const missing = held.map(({ permission }) => permission).filter((permission) => !actor.permissions.has(permission));
  if (missing.length > 0) throw RoleAboveOwn({ details: { missing } });
}

/** @throws RoleAboveOwn, BootstrapOnly */
function assertMayAppoint(actor: Actor): void {
  if (!actor.isTenantAdmin) throw RoleAboveOwn();
  if (actor.tenantId === systemTenantId) throw BootstrapOnly();
}

function toColumns(body: UpdateUserBody): UserChanges {
  const columns = {
    display_name: body.displayName,
    full_name: body.fullName,
    locale: body.locale,
    phone: readPhone(body.phone),
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
    phone: row.phone,
    status: row.status,
    isTenantAdmin: row.is_tenant_admin,
    groups: row.groups,
    last_login_at: row.last_login_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
