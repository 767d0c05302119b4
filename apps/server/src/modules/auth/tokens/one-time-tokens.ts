import { newSecret } from '#core/base/crypto/secrets';
import type { Query } from '#core/data/db/query';
import type { Services } from '#core/platform/services';
import { insertOneTimeToken } from '#modules/auth/accounts/accounts.queries';
import { oneTimeTokenHash } from '#modules/auth/auth.rules';

type Wanted = Omit<Parameters<typeof insertOneTimeToken>[0], 'hash' | 'payload' | 'at' | 'expiresAt'> & {
  payload?: Record<string, unknown>;
  lifetimeMs: number;
};

/** A secret that is valid once until its expiry, and the statement that stores its hash. */
export function newOneTimeToken(
  { now }: Pick<Services, 'now'>,
  { purpose, accountId, payload = {}, lifetimeMs }: Wanted,
): { secret: string; insert: Query<never> } {
  const secret = newSecret();
  const begins = now();
  const insert = insertOneTimeToken({
    hash: oneTimeTokenHash(secret)!,
    purpose,
    accountId,
    payload,
    at: begins.toISOString(),
    expiresAt: new Date(begins.getTime() + lifetimeMs).toISOString(),
  });
  return { secret, insert };
}
