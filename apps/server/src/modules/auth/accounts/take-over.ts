import type { Transaction } from '#core/db/scopes';
import { forgetAttempts } from '#core/throttle/throttle.queries';
import {
  deleteBackupCodes,
  deleteFactorCodes,
  deleteFactors,
  deleteIdentities,
  deleteOneTimeTokens,
} from '#modules/auth/accounts/take-over.queries';
import { secondFactorBudget } from '#modules/auth/auth.rules';

/** Takes from an account whatever else its former holder could still get in with, or keep the new one out with. */
export async function clearAccount(tx: Transaction, accountId: string): Promise<void> {
  await clearFactors(tx, accountId);
  await tx.all(deleteIdentities({ accountId }));
  await tx.all(deleteOneTimeTokens({ accountId }));
}

/** Takes all second factors from an account. False when there were none. */
export async function clearFactors(tx: Transaction, accountId: string): Promise<boolean> {
  const factors = await tx.all(deleteFactors({ accountId }));
  await tx.all(deleteFactorCodes({ accountId }));
  await tx.all(deleteBackupCodes({ accountId }));
  // Guesses at what is gone must not keep anybody from what comes next.
  await tx.all(forgetAttempts({ key: secondFactorBudget(accountId) }));
  return factors.length > 0;
}
