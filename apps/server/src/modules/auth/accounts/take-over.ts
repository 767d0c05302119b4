import type { Transaction } from '#core/data/db/scopes';
import { forgetAttempts } from '#core/data/rate-limit/postgres-store.queries';
import { listMemberships } from '#modules/auth/accounts/accounts.queries';
import {
  deleteBackupCodes,
  deleteFactorCodes,
  deleteFactors,
  deleteIdentities,
  deleteKnownLogins,
  voidOneTimeTokens,
} from '#modules/auth/accounts/take-over.queries';
import { secondFactorLimitKeys, secondFactorLimitOwner } from '#modules/auth/auth.rules';
import { findActiveFactor } from '#modules/auth/sessions/sessions.queries';

/**
 * Removes everything from an account without a tenant that its former holder could still log in with, or could use to
 * lock the new holder out.
 */
export async function clearAccount(tx: Transaction, accountId: string, at: string): Promise<void> {
  await clearFactors(tx, accountId);
  await clearWaysIn(tx, { accountId, keepsDisowning: false, at });
}

/**
 * Removes the other login methods of an account with an unverified address: they may belong to a person who only
 * claimed it. Second factors of an account with a tenant remain, because a reader of the mail need not be the owner;
 * without a tenant they protect nothing.
 * @returns whether factors remain, so that a mailed link alone does not verify the owner
 */
export async function clearUnproven(tx: Transaction, accountId: string, at: string): Promise<boolean> {
  const memberships = await tx.all(listMemberships({ accountId }));
  if (memberships.length === 0) await clearAccount(tx, accountId, at);
  else await clearWaysIn(tx, { accountId, keepsDisowning: true, at });
  return (await tx.first(findActiveFactor({ accountId }))) !== undefined;
}

async function clearWaysIn(
  tx: Transaction,
  { accountId, keepsDisowning, at }: { accountId: string; keepsDisowning: boolean; at: string },
): Promise<void> {
  await tx.all(deleteIdentities({ accountId }));
  await tx.all(voidOneTimeTokens({ accountId, keepsDisowning, at }));
  await tx.all(deleteKnownLogins({ accountId }));
}

/** Removes all second factors of an account. False if it had none. */
export async function clearFactors(tx: Transaction, accountId: string): Promise<boolean> {
  const factors = await tx.all(deleteFactors({ accountId }));
  await tx.all(deleteFactorCodes({ accountId }));
  await tx.all(deleteBackupCodes({ accountId }));
  await forgetGuesses(tx, accountId);
  return factors.length > 0;
}

/** Failed attempts against removed factors must not block attempts against new ones. */
async function forgetGuesses(tx: Transaction, accountId: string): Promise<void> {
  const memberships = await tx.all(listMemberships({ accountId }));
  for (const tenantId of [undefined, ...memberships.map((row) => row.tenant_id)]) {
    // The order of the keys is that of an attempt: different lock orders would deadlock.
    const keys = Object.values(secondFactorLimitKeys(secondFactorLimitOwner(accountId, tenantId)));
    for (const key of keys) await tx.all(forgetAttempts({ key }));
  }
}
