import { sameSecret } from '#core/base/crypto/secrets';
import type { Query } from '#core/data/db/query';
import type { Services } from '#core/platform/services';
import { findOneTimeToken, newOneTimeToken, oneTimeTokenHash, useOneTimeToken } from '#modules/auth/index';
import type { CodeBody } from '#modules/identity-providers/identity-providers.schemas';
import { pkceChallenge } from '#modules/identity-providers/providers/conversation';
import type { ProviderId } from '#modules/identity-providers/providers/provider';

type Dependencies = Pick<Services, 'database' | 'now'>;

const codeMs = 60_000;
const purpose = 'provider_login';

type Common = {
  provider: ProviderId;
  configuredBy: string;
  /** PKCE challenge of the application: only its verifier redeems the code. */
  appChallenge: string;
};

/** Purpose of a code: a login, or the link of an identity to the account that requested it. */
export type Grant =
  | (Common & { kind: 'login'; tenantId: string | null; identityId: string })
  | (Common & { kind: 'link'; subject: string; email: string | null });

type Kind = Grant['kind'];
type GrantOf<Purpose extends Kind> = Extract<Grant, { kind: Purpose }>;

/** @returns the code for the application, valid once and for a minute */
export async function issueCode(services: Dependencies, accountId: string, grant: Grant): Promise<string> {
  const { secret, insert } = newOneTimeToken(services, { purpose, accountId, payload: grant, lifetimeMs: codeMs });
  await services.database.credential().interactive.all(insert);
  return secret;
}

export type Redeemable<Purpose extends Kind> = {
  accountId: string;
  grant: GrantOf<Purpose>;
  /** Consumes the code; run it in the transaction of the login or link. */
  use: Query<{ account_id: string }>;
};

/**
 * @returns undefined for a code that is unknown, used or expired, and for a wrong verifier, which also consumes the
 * code
 */
export async function readCode<Purpose extends Kind>(
  services: Dependencies,
  kind: Purpose,
  body: CodeBody,
): Promise<Redeemable<Purpose> | undefined> {
  const hash = oneTimeTokenHash(body.code);
  if (hash === undefined) return undefined;
  const now = services.now().toISOString();
  const db = services.database.credential();
  const token = await db.first(findOneTimeToken({ hash, purposes: [purpose], now }));
  if (token === undefined) return undefined;
  const grant = token.payload as Grant;
  const use = useOneTimeToken({ hash, purpose, now });
  if (grant.kind === kind && sameSecret(pkceChallenge(body.code_verifier), grant.appChallenge))
    return { accountId: token.account_id, grant: grant as GrantOf<Purpose>, use };
  await db.interactive.all(use);
  return undefined;
}
