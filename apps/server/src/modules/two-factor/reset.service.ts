import type { Actor, Person } from '#core/base/access/principal';
import { auditEvent } from '#core/data/audit/audit.queries';
import { enterTenant } from '#core/data/db/database';
import { announceRevocation } from '#core/data/db/revocation';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import { clearFactors, endAccountSessions, listMemberships, lockAccount } from '#modules/auth/index';
import { securityNotice, wakeNotices } from '#modules/notifications/index';
import {
  AccountInOtherTenants,
  MemberNotActive,
  MemberNotFound,
  SelfResetNotAllowed,
} from '#modules/two-factor/two-factor.errors';
import { findMember, lockMember, type MemberRow } from '#modules/two-factor/two-factor.queries';
import { assertMayChangeUser } from '#modules/users/index';

type Dependencies = Pick<Services, 'database' | 'log' | 'mail' | 'now' | 'principals' | 'queue'>;

/**
 * Removes all second factors of a user who lost them, revokes the sessions of the user and notifies the user. Factors
 * belong to the account, so a tenant may reset them only if the account has no other tenant.
 * @throws MemberNotFound, MemberNotActive, RoleAboveOwn, SelfResetNotAllowed, AccountInOtherTenants
 */
export async function resetMember(services: Dependencies, actor: Actor<Person>, id: string): Promise<void> {
  const { tenantId } = actor;
  const db = services.database.credential(tenantId);
  const found = await db.first(findMember({ tenantId, id }));
  if (found === undefined) throw MemberNotFound();
  const { account_id: accountId } = found;
  const wasReset = await db.transaction(async (tx) => {
    // The account is locked first, as everywhere: different lock orders would deadlock.
    await tx.all(lockAccount({ accountId, provenAt: null }));
    const member = await tx.first(lockMember({ tenantId, id }));
    if (member === undefined) throw MemberNotFound();
    await assertMayReset(tx, actor, member);
    const memberships = await tx.all(listMemberships({ accountId }));
    const isShared = memberships.some((membership) => membership.tenant_id !== tenantId);
    if (isShared && !actor.isSystemAdmin) throw AccountInOtherTenants();
    if (!(await clearFactors(tx, accountId))) return false;
    await tx.all(services.mail.compose({ to: member.email, tenantId, ...resetMail }, services.now()));
    // The mail above ignores the notification preferences of the user.
    const alert = { tenantId, userId: id, event: 'factors_reset', channels: ['in_app', 'push'] } as const;
    await tx.all(securityNotice({ ...alert, request: actor.request }, services.now().toISOString()));
    await recordReset(services, tx, actor, { accountId, memberships });
    return true;
  });
  if (!wasReset) return;
  services.principals.forget(`account:${accountId}`);
  services.mail.wake();
  await wakeNotices(services, tenantId);
}

async function assertMayReset(tx: Transaction, actor: Actor<Person>, member: MemberRow): Promise<void> {
  if (member.account_id === actor.accountId) throw SelfResetNotAllowed();
  await assertMayChangeUser(tx, actor, member);
  if (member.status !== 'active') throw MemberNotActive();
}

/** Records the reset in every tenant of the account, with the actor of that tenant. */
async function recordReset(
  services: Dependencies,
  tx: Transaction,
  actor: Actor<Person>,
  { accountId, memberships }: { accountId: string; memberships: readonly { tenant_id: string; user_id: string }[] },
): Promise<void> {
  const at = services.now().toISOString();
  for (const { tenant_id: tenantId } of memberships) {
    await tx.all(endAccountSessions({ tenantId, accountId, exceptSessionId: null, at }));
  }
  for (const { tenant_id: tenantId, user_id: resourceId } of memberships) {
    await tx.all(enterTenant(tenantId));
    const event = { action: 'two_factor.reset', resourceType: 'user', resourceId };
    await tx.all(auditEvent({ ...actor, tenantId }, at, event));
  }
  await tx.all(announceRevocation(`account:${accountId}`));
}

const resetMail = {
  subject: 'Your second factors were reset',
  text: 'An administrator has removed all second factors from your account and revoked your sessions.\n\nLog in with your password and set up a new one. If you did not request this, contact your administrator.\n',
};
