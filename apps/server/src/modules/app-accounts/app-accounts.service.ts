import { flagsOf, mergePermissions, neededToGrant, type AppAccountPermissions } from '#core/base/access/flags';
import { flowOf } from '#core/base/access/flows';
import { assertHolds } from '#core/base/access/granting';
import type { Actor, Person } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { newSecret } from '#core/base/crypto/secrets';
import { auditParams } from '#core/data/audit/audit.queries';
import { announceRevocation } from '#core/data/db/revocation';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { createLimitedAttempt, type LimitedAttempt } from '#core/data/rate-limit/limited-attempts';
import { usageOf } from '#core/data/usage/usage.queries';
import type { Services } from '#core/platform/services';
import {
  AppAccountNotFound,
  AppAccountRevoked,
  ExpiresInThePast,
  TooManyPasswords,
} from '#modules/app-accounts/app-accounts.errors';
import {
  clearPassword,
  deleteAppAccount as deleteAppAccountRow,
  deleteDirectoryEntry,
  endSessions,
  findAppAccount,
  insertAppAccount,
  insertDirectoryEntry,
  listAppAccounts as listAppAccountRows,
  lockAppAccount,
  storePassword,
  storeRegeneratedPassword,
  updateAppAccount as updateAppAccountRow,
  type AppAccountChanges,
  type AppAccountRow,
  type LockedAppAccount,
} from '#modules/app-accounts/app-accounts.queries';
import type {
  CreateAppAccountBody,
  ListAppAccountsQuery,
  UpdateAppAccountBody,
} from '#modules/app-accounts/app-accounts.schemas';
import { appAccountPlace, normaliseEmail, sealPassword } from '#modules/auth/index';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'now' | 'passwords' | 'principals'>;

type Scope = { db: TenantDb; actor: Actor<Person>; services: Dependencies };

export async function listAppAccounts(db: TenantDb, { limit, offset = 0 }: ListAppAccountsQuery) {
  // Without a limit the list can be long, so it does not use the shared connections.
  const rows = await db.interactive.all(listAppAccountRows({ tenantId: db.tenantId, limit: limit ?? null, offset }));
  return { data: rows.map(presentAppAccount) };
}

/** @throws AppAccountNotFound */
export async function getAppAccount(db: TenantDb, id: string) {
  const row = await db.first(findAppAccount({ tenantId: db.tenantId, id }));
  if (row === undefined) throw AppAccountNotFound();
  return { data: presentAppAccount(row) };
}

/** @throws AppAccountNotFound */
export async function getUsageStats({ db, now }: { db: TenantDb; now: Date }, id: string) {
  const { tenantId } = db;
  const [[account], [usage]] = await db.interactive.batch([
    findAppAccount({ tenantId, id }),
    usageOf({ tenantId, credentialId: id }, now),
  ]);
  if (account === undefined) throw AppAccountNotFound();
  return { data: usage! };
}

/** @throws AppAccountEmailTaken (through the constraint), ExpiresInThePast, PermissionsAboveOwn, EmailRefused */
export async function createAppAccount({ db, actor, services }: Scope, body: CreateAppAccountBody) {
  const { tenantId } = db;
  const { permissions = {} } = body;
  assertMayHandle(actor, permissions);
  const email = normaliseEmail(body.email);
  const now = services.now();
  const expiresAt = body.expires_at === undefined ? null : instantOf(body.expires_at);
  if (expiresAt !== null && expiresAt <= now) throw ExpiresInThePast();
  const id = newId();
  const passwordHash = await sealPassword(services, appAccountPlace(id), body.password, flowOf(actor));
  const at = now.toISOString();
  const account = {
    id,
    email,
    name: body.name,
    description: body.description ?? null,
    permissions,
    expires_at: expiresAt?.toISOString() ?? null,
    password_hash: passwordHash,
    created_by: actor.userId,
    created_at: at,
  };
  const [, , [row]] = await db.interactive.batch([
    insertDirectoryEntry({ tenantId, id, email }),
    insertAppAccount({ ...account, ...auditParams(actor, at, { fields: Object.keys(body) }) }),
    findAppAccount({ tenantId, id }),
  ]);
  return { data: presentAppAccount(row!) };
}

/**
 * Status, expiry and permissions apply from the next request of every active session.
 * @throws AppAccountNotFound, PermissionsAboveOwn
 */
export async function updateAppAccount(scope: Scope, id: string, body: UpdateAppAccountBody) {
  const { db, actor, services } = scope;
  const fields = Object.keys(body);
  if (fields.length === 0) return getAppAccount(db, id);
  const { tenantId } = db;
  const row = await db.transaction(async (tx) => {
    const account = await lockChangeable(tx, actor, id);
    const now = services.now();
    const at = now.toISOString();
    const changes = toChanges(account, body, now);
    assertMayHandle(actor, changes.permissions ?? {});
    if (changes.status === 'revoked') await tx.all(clearPassword({ tenantId, id, at }));
    // Sessions from before a suspension do not return after it.
    if (!isUsable(account, now) || !isUsable({ ...account, ...changes }, now))
      await tx.all(endSessions({ tenantId, id, at }));
    const audit = auditParams(actor, at, { fields });
    await tx.all(updateAppAccountRow(id, { ...changes, updated_at: at }, audit));
    await tx.all(announceRevocation(`app_account:${id}`));
    return tx.first(findAppAccount({ tenantId, id }));
  });
  services.principals.forget(`app_account:${id}`);
  return { data: presentAppAccount(row!) };
}

/**
 * Sets a password and revokes all sessions and tokens of the old one.
 * @throws TooManyPasswords, AppAccountNotFound, AppAccountRevoked, PermissionsAboveOwn
 */
export async function setAppAccountPassword(scope: Scope, id: string, password: string) {
  const { updated_at } = await replacePassword(scope, { id, password, store: storePassword });
  return { data: { id, updated_at }, message: 'The password is set. All sessions of the app account are revoked.' };
}

/**
 * The same with a generated password.
 * @throws TooManyPasswords, AppAccountNotFound, AppAccountRevoked, PermissionsAboveOwn
 */
export async function regenerateAppAccountPassword(scope: Scope, id: string) {
  const password = newSecret();
  await replacePassword(scope, { id, password, store: storeRegeneratedPassword });
  return { data: { password } };
}

type Replacement = { id: string; password: string; store: typeof storePassword };

async function replacePassword({ db, actor, services }: Scope, { id, password, store }: Replacement) {
  const { tenantId } = db;
  // Also checked before the hash, which runs outside the transaction.
  assertGetsPassword(actor, await db.first(findAppAccount({ tenantId, id })));
  await passwordAttempt(services, { tenantId, id }).admit();
  const passwordHash = await sealPassword(services, appAccountPlace(id), password, flowOf(actor));
  const row = await db.transaction(async (tx) => {
    assertGetsPassword(actor, await tx.first(lockAppAccount({ tenantId, id })));
    const at = services.now().toISOString();
    await tx.all(endSessions({ tenantId, id, at }));
    await tx.all(announceRevocation(`app_account:${id}`));
    return (await tx.first(store({ id, passwordHash, at, ...auditParams(actor, at) })))!;
  });
  services.principals.forget(`app_account:${id}`);
  return row;
}

/** Maximum number of password changes per window, for one app account and for a tenant: each costs a hash. */
const passwordLimits = {
  account: { max: 100, windowMs: 10 * 60_000 },
  tenant: { max: 600, windowMs: 10 * 60_000 },
};

function passwordAttempt(services: Dependencies, { tenantId, id }: { tenantId: string; id: string }): LimitedAttempt {
  const account = { key: `app-account-password:${id}`, ...passwordLimits.account };
  const tenant = { key: `app-account-passwords-of:${tenantId}`, ...passwordLimits.tenant };
  return createLimitedAttempt(services, [account, tenant], TooManyPasswords);
}

/** @throws AppAccountNotFound, PermissionsAboveOwn */
export async function deleteAppAccount({ db, actor, services }: Scope, id: string): Promise<void> {
  const { tenantId } = db;
  await db.transaction(async (tx) => {
    const { email } = await lockChangeable(tx, actor, id);
    const at = services.now().toISOString();
    await tx.all(deleteDirectoryEntry({ tenantId, email }));
    await tx.all(endSessions({ tenantId, id, at }));
    await tx.all(announceRevocation(`app_account:${id}`));
    await tx.all(deleteAppAccountRow({ id, ...auditParams(actor, at) }));
  });
  services.principals.forget(`app_account:${id}`);
}

async function lockChangeable(tx: Transaction, actor: Actor<Person>, id: string): Promise<LockedAppAccount> {
  const account = await tx.first(lockAppAccount({ tenantId: actor.tenantId, id }));
  if (account === undefined) throw AppAccountNotFound();
  assertMayHandle(actor, account.permissions);
  return account;
}

function assertGetsPassword(
  actor: Actor<Person>,
  account: Pick<LockedAppAccount, 'permissions' | 'status'> | undefined,
): void {
  if (account === undefined) throw AppAccountNotFound();
  assertMayHandle(actor, account.permissions);
  if (account.status === 'revoked') throw AppAccountRevoked();
}

/**
 * A caller who can set the password can use the account, so the caller must hold its permissions.
 * @throws PermissionsAboveOwn
 */
function assertMayHandle(actor: Actor<Person>, permissions: AppAccountPermissions): void {
  assertHolds(actor, neededToGrant(flagsOf(permissions)));
}

function toChanges(account: LockedAppAccount, body: UpdateAppAccountBody, now: Date): AppAccountChanges {
  const { permissions, expires_at: expiresAt, ...rest } = body;
  const changes = {
    ...rest,
    permissions: permissions === undefined ? undefined : mergePermissions(account.permissions, permissions),
    expires_at: expiresAt === undefined || expiresAt === null ? expiresAt : expiryOf(expiresAt, now),
  };
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as AppAccountChanges;
}

/** A time in the past means now. */
function expiryOf(text: string, now: Date): string {
  const instant = instantOf(text);
  return (instant < now ? now : instant).toISOString();
}

/** RFC 3339 allows lower case, which not every parser accepts. */
function instantOf(text: string): Date {
  return new Date(text.toUpperCase());
}

function isUsable({ status, expires_at }: Pick<LockedAppAccount, 'status' | 'expires_at'>, now: Date): boolean {
  return status === 'active' && (expires_at === null || Date.parse(expires_at) > now.getTime());
}

function presentAppAccount(row: AppAccountRow) {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    auth_user_id: row.auth_user_id,
    name: row.name,
    email: row.email,
    description: row.description,
    permissions: row.permissions,
    status: row.status,
    expires_at: row.expires_at,
    last_used_at: row.last_used_at,
    created_by: row.created_by,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
