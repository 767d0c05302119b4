import type { Person } from '#core/base/access/principal';
import { AssuranceLimitedToTenant, InvalidToken, SecondFactorRequired } from '#core/base/errors/common-errors';
import type { Transaction } from '#core/data/db/scopes';
import { listMemberships, lockAccount } from '#modules/auth/accounts/accounts.queries';
import { findAssurance } from '#modules/auth/accounts/own-tenants.queries';
import { findActiveFactor } from '#modules/auth/sessions/sessions.queries';

export type Assurance = {
  /** The session has verified a second factor of the account, for any set of tenants. */
  isAssured: boolean;
  /** That factor counts in all tenants of the account. */
  countsInAll: boolean;
};

/**
 * Locks the account, so that its changes are serialised, and reads the assurance of the session again: the request was
 * admitted with an earlier state.
 * @throws InvalidToken if the session has ended meanwhile
 */
export async function lockAssurance(
  tx: Transaction,
  { homeTenantId: tenantId, accountId, sessionId }: Person,
): Promise<Assurance> {
  await tx.all(lockAccount({ accountId, provenAt: null }));
  const session = await tx.first(findAssurance({ tenantId, sessionId }));
  if (session === undefined) throw InvalidToken();
  const memberships = session.assurance_account_wide ? [] : await tx.all(listMemberships({ accountId }));
  // If the account has no other tenant, the tenant decides about its factors anyway.
  const countsInAll = memberships.every((row) => row.tenant_id === tenantId);
  return { isAssured: session.assurance === 2, countsInAll };
}

/**
 * Locks the account for a change that concerns all its tenants.
 * @throws InvalidToken; SecondFactorRequired, AssuranceLimitedToTenant if the account has a factor
 */
export async function lockForChange(tx: Transaction, person: Person): Promise<void> {
  const { isAssured, countsInAll } = await lockAssurance(tx, person);
  if ((await tx.first(findActiveFactor({ accountId: person.accountId }))) === undefined) return;
  if (!isAssured) throw SecondFactorRequired();
  if (!countsInAll) throw AssuranceLimitedToTenant();
}
