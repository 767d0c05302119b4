import { sameSecret } from '#core/crypto/secrets';
import type { Query } from '#core/db/query';
import type { Services } from '#core/services';
import { findOneTimeToken, newOneTimeToken, oneTimeTokenHash, useOneTimeToken } from '#modules/auth/index';
import type { CodeBody } from '#modules/identity-providers/identity-providers.schemas';
import { pkceChallenge } from '#modules/identity-providers/providers/conversation';
import type { ProviderId } from '#modules/identity-providers/providers/provider';

const codeMs = 60_000;
const purpose = 'provider_login';

type Common = {
  provider: ProviderId;
  configuredBy: string;
  /** PKCE challenge of the application that began: only its verifier redeems the code. */
  appChallenge: string;
};

/** What a code is good for: a login, or the link of an identity to the account that asked for it. */
export type Grant =
  | (Common & { kind: 'login'; tenantId: string | null; identityId: string })
  | (Common & { kind: 'link'; subject: string; email: string | null });

type Kind = Grant['kind'];
type GrantOf<Wanted extends Kind> = Extract<Grant, { kind: Wanted }>;

/** @returns the code that goes back to the application, good once and for a minute. */
export async function issueCode(services: Services, accountId: string, grant: Grant): Promise<string> {
  const { secret, insert } = newOneTimeToken(services, { purpose, accountId, payload: grant, lifetimeMs: codeMs });
  await services.database.credential().slow.all(insert);
  return secret;
}

export type Redeemable<Wanted extends Kind> = {
  accountId: string;
  grant: GrantOf<Wanted>;
  /** Finds its row once; it belongs into the transaction of what the code is redeemed for. */
  use: Query<{ account_id: string }>;
};

/** @returns undefined for a code that is unknown, used or expired, and for one that was shown wrongly, which is thereby spent. */
export async function readCode<Wanted extends Kind>(
  services: Services,
  wanted: Wanted,
  body: CodeBody,
): Promise<Redeemable<Wanted> | undefined> {
  const hash = oneTimeTokenHash(body.code);
  if (hash === undefined) return undefined;
  const now = services.now().toISOString();
  const db = services.database.credential();
  const token = await db.first(findOneTimeToken({ hash, purposes: [purpose], now }));
  if (token === undefined) return undefined;
  const grant = token.payload as Grant;
  const use = useOneTimeToken({ hash, purpose, now });
  if (grant.kind === wanted && sameSecret(pkceChallenge(body.code_verifier), grant.appChallenge))
    return { accountId: token.account_id, grant: grant as GrantOf<Wanted>, use };
  await db.slow.all(use);
  return undefined;
}
