import type { RequestFacts } from '#core/base/access/principal';
import type { Query } from '#core/data/db/query';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import { accountChanged } from '#modules/auth/accounts/account-events';
import {
  markEmailVerified,
  revokeOneTimeTokens,
  updatePasswordHash,
  type AccountState,
} from '#modules/auth/accounts/accounts.queries';
import { clearUnproven } from '#modules/auth/accounts/take-over';
import { forgetFailedLogins } from '#modules/auth/login/rate-limits';
import { listOrigins } from '#modules/auth/sessions/known-logins.queries';

type Replacement = {
  accountId: string;
  /** Time at which the verified password was set; null if none was required. */
  provenAt: string | null;
  passwordHash: string;
  keepSessionId: string | null;
  action: string;
  request: RequestFacts;
  at: string;
  /** Statements of the same transaction. */
  also: readonly Query<never>[];
};

/**
 * Sets the password, revokes all other sessions and deletes all mailed tokens of the old one. Forget `account:<id>`
 * afterwards.
 * @returns false if the verified password is no longer current
 */
export async function replacePassword(tx: Transaction, replacement: Replacement): Promise<boolean> {
  const { accountId, passwordHash, provenAt, at, also } = replacement;
  // The account is locked first, as everywhere: different lock orders would deadlock.
  if ((await tx.first(updatePasswordHash({ accountId, passwordHash, provenAt, at }))) === undefined) return false;
  await tx.all(revokeOneTimeTokens({ accountId, now: at }));
  for (const query of also) await tx.all(query);
  await accountChanged(tx, accountId, replacement);
  return true;
}

/**
 * The same for a user with a mailed link, which verifies the address and removes the login lock. If the account has
 * factors from before the verification, it remains unverified: they may belong to another person, and the owner of the
 * address can still disown the account.
 */
export async function replaceByMail(
  services: Pick<Services, 'database' | 'encryption' | 'now'>,
  tx: Transaction,
  account: AccountState,
  change: { passwordHash: string; request: RequestFacts; at: string },
): Promise<void> {
  const { id: accountId, email } = account;
  const origins = await tx.all(listOrigins({ accountId }));
  const isDoubtful = account.email_verified_at === null && (await clearUnproven(tx, accountId, change.at));
  const proven = isDoubtful ? [] : [markEmailVerified({ accountId, at: change.at })];
  await replacePassword(tx, {
    ...change,
    accountId,
    provenAt: null,
    keepSessionId: null,
    action: 'auth.password_reset',
    also: [...proven, ...forgetFailedLogins(services, email, origins)],
  });
}
