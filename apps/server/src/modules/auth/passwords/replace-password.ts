import type { RequestFacts } from '#core/access/principal';
import type { Query } from '#core/db/query';
import type { Transaction } from '#core/db/scopes';
import type { Services } from '#core/services';
import { accountChanged } from '#modules/auth/accounts/account-events';
import {
  markEmailVerified,
  revokeOneTimeTokens,
  updatePasswordHash,
  type AccountState,
} from '#modules/auth/accounts/accounts.queries';
import { liftLoginLock } from '#modules/auth/login/throttle';

type Replacement = {
  accountId: string;
  /** When the password that was proven had been set; null where none was asked for. */
  provenAt: string | null;
  passwordHash: string;
  keepSessionId: string | null;
  action: string;
  request: RequestFacts;
  at: string;
  /** What else changes if it does. */
  also: readonly Query<never>[];
};

/**
 * Sets the password, ends all other sessions and whatever was mailed about the old one. Forget `account:<id>` afterwards.
 * @returns false when the proven password is not the current one any more.
 */
export async function replacePassword(tx: Transaction, replacement: Replacement): Promise<boolean> {
  const { accountId, passwordHash, provenAt, at, also } = replacement;
  // The account first, as everywhere: two that lock in different orders would block each other.
  if ((await tx.first(updatePasswordHash({ accountId, passwordHash, provenAt, at }))) === undefined) return false;
  await tx.all(revokeOneTimeTokens({ accountId, now: at }));
  for (const query of also) await tx.all(query);
  await accountChanged(tx, accountId, replacement);
  return true;
}

/** The same for who came with a mailed link: the address is theirs, and who guessed at the password does not lock them out. */
export async function replaceByMail(
  services: Services,
  tx: Transaction,
  account: AccountState,
  change: { passwordHash: string; request: RequestFacts; at: string },
): Promise<void> {
  const { id: accountId, email } = account;
  await replacePassword(tx, {
    ...change,
    accountId,
    provenAt: null,
    keepSessionId: null,
    action: 'auth.password_reset',
    also: [markEmailVerified({ accountId, at: change.at }), liftLoginLock(services, email)],
  });
}
