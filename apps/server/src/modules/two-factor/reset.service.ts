import { auditEvent } from '#core/audit/audit.queries';
import type { Actor, Person } from '#core/access/principal';
import { announceRevocation } from '#core/access/revocation';
import { enterTenant } from '#core/db/database';
import type { Transaction } from '#core/db/scopes';
import type { Services } from '#core/services';
import { clearFactors, endAccountSessions, listMemberships, lockAccount } from '#modules/auth/index';
import { securityNotice, wakeNotices } from '#modules/notifications/index';
import {
  AccountOfOtherTenants,
  MemberNotActive,
  MemberNotFound,
  OwnFactors,
} from '#modules/two-factor/two-factor.errors';
import { findMember, lockMember, type MemberRow } from '#modules/two-factor/two-factor.queries';
import { assertMayChangeUser } from '#modules/users/index';

/**
 * Takes all second factors from a member who lost them, ends the member's sessions and tells the member. Factors belong
 * to the account, so a tenant decides about them alone only while the account is in no other.
 * @throws MemberNotFound, MemberNotActive, RoleAboveOwn, OwnFactors, AccountOfOtherTenants
 */
export async function resetMember(services: Services, actor: Actor<Person>, id: string): Promise<void> {
  const { tenantId } = actor;
  const db = services.database.credential(tenantId);
  const found = await db.first(findMember({ tenantId, id }));
  if (found === undefined) throw MemberNotFound();
  const { account_id: accountId } = found;
  const wasReset = await db.transaction(async (tx) => {
    // The account first, as everywhere: two that lock in different orders would block each other.
    await tx.all(lockAccount({ accountId, provenAt: null }));
    const member = await tx.first(lockMember({ tenantId, id }));
    if (member === undefined) throw MemberNotFound();
    await assertMayReset(tx, actor, member);
    const memberships = await tx.all(listMemberships({ accountId }));
    const isShared = memberships.some((membership) => membership.tenant_id !== tenantId);
    if (isShared && !actor.isSystemAdmin) throw AccountOfOtherTenants();
    if (!(await clearFactors(tx, accountId))) return false;
    await tx.all(services.mail.compose({ to: member.email, ...notice }, services.now()));
    // The mail above goes out whatever the member wants to be told.
    const told = { tenantId, userId: id, event: 'factors_reset', channels: ['in_app', 'push'] } as const;
    await tx.all(securityNotice({ ...told, request: actor.request }, services.now().toISOString()));
    await recordReset(services, tx, actor, { accountId, memberships });
    return true;
  });
  if (!wasReset) return;
  services.principals.forget(`account:${accountId}`);
  services.mail.wake();
  await wakeNotices(services, tenantId);
}

async function assertMayReset(tx: Transaction, actor: Actor<Person>, member: MemberRow): Promise<void> {
  if (member.account_id === actor.accountId) throw OwnFactors();
  await assertMayChangeUser(tx, actor, member);
  if (member.status !== 'active') throw MemberNotActive();
}

/** In every tenant of the account, as the act of who did it there. */
async function recordReset(
  services: Services,
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

const notice = {
  subject: 'Your second factors were reset',
  text: 'An administrator has removed all second factors from your account and ended your sessions.\n\nLog in with your password and set up a new one. If you did not ask for this, talk to your administrator.\n',
};
