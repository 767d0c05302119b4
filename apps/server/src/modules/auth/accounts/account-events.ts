import type { RequestFacts } from '#core/base/access/principal';
import { auditEvent } from '#core/data/audit/audit.queries';
import { enterTenant } from '#core/data/db/database';
import { announceRevocation } from '#core/data/db/revocation';
import type { Transaction } from '#core/data/db/scopes';
import { listMemberships } from '#modules/auth/accounts/accounts.queries';
import { endAccountSessions } from '#modules/auth/sessions/sessions.queries';

type AccountEvent = { action: string; at: string; details?: Record<string, unknown> };

/** An event of an account concerns every tenant of the account. */
export async function auditInEach(
  tx: Transaction,
  memberships: readonly { tenant_id: string; user_id: string }[],
  request: RequestFacts,
  { action, at, details = {} }: AccountEvent,
): Promise<void> {
  for (const { tenant_id: tenantId, user_id: userId } of memberships) {
    await tx.all(enterTenant(tenantId));
    await tx.all(auditEvent({ tenantId, userId, request }, at, { action, resourceType: 'account', details }));
  }
}

/**
 * Records a change of an account in each of its tenants, and revokes all its sessions except the one that made the
 * change. Forget `account:<id>` after the commit.
 */
export async function accountChanged(
  tx: Transaction,
  accountId: string,
  event: AccountEvent & { request: RequestFacts; keepSessionId: string | null },
): Promise<void> {
  const { request, keepSessionId, at } = event;
  const memberships = await tx.all(listMemberships({ accountId }));
  for (const { tenant_id: tenantId } of memberships) {
    await tx.all(endAccountSessions({ tenantId, accountId, exceptSessionId: keepSessionId, at }));
  }
  await auditInEach(tx, memberships, request, event);
  await tx.all(announceRevocation(`account:${accountId}`));
}
