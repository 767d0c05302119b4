import { addressFlow } from '#core/base/access/flows';
import { systemTenantId, type RequestFacts } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { newSecret } from '#core/base/crypto/secrets';
import { auditEvent } from '#core/data/audit/audit.queries';
import { announceRevocation } from '#core/data/db/revocation';
import type { Transaction } from '#core/data/db/scopes';
import { violatedConstraint } from '#core/data/db/sql-state';
import type { Services } from '#core/platform/services';
import {
  findAccountByAddress,
  insertAccount,
  insertAccountIfNew,
  insertMembership,
  insertUser,
  markEmailVerified,
  type AccountState,
} from '#modules/auth/accounts/accounts.queries';
import { normaliseEmail } from '#modules/auth/accounts/email-address';
import {
  findUserOfAccount,
  insertMembershipIfNew,
  makeActiveAdministrator,
  type UserState,
} from '#modules/auth/accounts/first-administrator.queries';
import { newTenant } from '#modules/auth/accounts/register.service';
import { accountPlace, sealPassword } from '#modules/auth/passwords/stored-password';
import { findTenantStatus } from '#modules/auth/sessions/sessions.queries';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'passwords' | 'principals' | 'log' | 'now'>;

/** Account to create if the address has none. */
type Fresh = { accountId: string; email: string; passwordHash: string; request: RequestFacts; at: string };

const displayName = 'System administrator';

/**
 * Ensures that the account of the address administers the system tenant, and creates both if they are missing. An
 * existing account keeps its password; an unverified account that is not a member remains unchanged.
 * @returns the generated password if the account is new and no password was given; it is not stored anywhere in plain
 * text.
 */
export async function ensureSystemAdministrator(
  services: Dependencies,
  given: { email: string; password: string | undefined },
): Promise<{ generatedPassword: string } | undefined> {
  const email = normaliseEmail(given.email);
  const db = services.database.credential(systemTenantId);
  const [[account], [tenant]] = await Promise.all([
    db.all(findAccountByAddress({ email })),
    services.database.platform().all(findTenantStatus({ tenantId: systemTenantId })),
  ]);
  const user = account && (await db.first(findUserOfAccount({ tenantId: systemTenantId, accountId: account.id })));
  if (tenant !== undefined && user !== undefined && isInPlace(account!, user)) return undefined;
  const password = given.password ?? newSecret().slice(0, 24);
  const fresh = await prepare(services, email, password);
  const isMade = tenant === undefined && (await createSystemTenant(services, fresh));
  const isNew = isMade || (await installAdministrator(services, fresh));
  return isNew && given.password === undefined ? { generatedPassword: password } : undefined;
}

function isInPlace(account: AccountState, user: UserState): boolean {
  return account.email_verified_at !== null && user.status === 'active' && user.is_tenant_admin;
}

async function prepare(services: Dependencies, email: string, password: string): Promise<Fresh> {
  const accountId = newId();
  const now = services.now();
  const request = { id: newId(now.getTime()), ip: 'internal', userAgent: null, receivedAt: now.getTime() };
  const passwordHash = await sealPassword(services, accountPlace(accountId), password, addressFlow(request.ip));
  return { accountId, email, passwordHash, request, at: now.toISOString() };
}

/** False if another process that started on the same empty database was faster. */
async function createSystemTenant(services: Dependencies, fresh: Fresh): Promise<boolean> {
  const { accountId: id, email, passwordHash, at } = fresh;
  const tenant = {
    ...fresh,
    tenantId: systemTenantId,
    userId: newId(),
    tenantName: 'System',
    domain: 'system',
    displayName,
    locale: 'en',
  };
  try {
    await services.database
      .credential(systemTenantId)
      .interactive.batch([insertAccount({ id, email, passwordHash, emailVerifiedAt: at, at }), ...newTenant(tenant)]);
    return true;
  } catch (error) {
    if (violatedConstraint(error) !== undefined) return false;
    throw error;
  }
}

/** Whether this process created the account. */
async function installAdministrator(services: Dependencies, fresh: Fresh): Promise<boolean> {
  const { accountId, email, passwordHash, at } = fresh;
  const outcome = await services.database.credential(systemTenantId).transaction(async (tx) => {
    // Held until the commit, so that processes that start together see each other's changes.
    const account = await tx.first(insertAccountIfNew({ id: accountId, email, passwordHash, emailVerifiedAt: at, at }));
    return placeAccount(tx, account!, fresh);
  });
  if (outcome === 'unproven') {
    const advice = 'the address of this account is not verified, so it does not become a system administrator';
    services.log.warn({ setting: 'SYSTEM_ADMIN_EMAIL' }, advice);
  } else services.principals.forget(`user:${outcome.userId}`);
  return outcome !== 'unproven' && outcome.isNew;
}

async function placeAccount(tx: Transaction, account: AccountState, fresh: Fresh) {
  const { request, at, email } = fresh;
  const tenantId = systemTenantId;
  const isNew = account.id === fresh.accountId;
  const user = await tx.first(findUserOfAccount({ tenantId, accountId: account.id }));
  if (user !== undefined && isInPlace(account, user)) return { userId: user.id, isNew };
  const isMember = user !== undefined && user.status !== 'invited';
  // A stranger can register the address before the operator names it here.
  if (!isMember && account.email_verified_at === null) return 'unproven' as const;
  const userId = user?.id ?? newId();
  if (user === undefined) {
    const names = { displayName, fullName: displayName, locale: 'en' };
    const row = { tenantId, id: userId, accountId: account.id, email, ...names, isTenantAdmin: true, at };
    await tx.all(insertUser({ ...row, status: 'active' }));
    await tx.all(insertMembership({ accountId: account.id, tenantId, userId }));
  } else if (user.status !== 'active' || !user.is_tenant_admin) {
    await tx.all(makeActiveAdministrator({ tenantId, id: userId, at }));
    await tx.all(insertMembershipIfNew({ accountId: account.id, tenantId, userId }));
  }
  await tx.all(markEmailVerified({ accountId: account.id, at }));
  const action = user === undefined ? 'user.created' : 'user.updated';
  const event = { action, resourceType: 'user', resourceId: userId, details: { by: 'SYSTEM_ADMIN_EMAIL' } };
  await tx.all(auditEvent({ tenantId, userId: null, request }, at, event));
  await tx.all(announceRevocation(`user:${userId}`));
  return { userId, isNew };
}
