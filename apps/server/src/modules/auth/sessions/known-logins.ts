import type { RequestFacts } from '#core/base/access/principal';
import { keyedHash } from '#core/base/crypto/secrets';
import type { Services } from '#core/platform/services';
import { findProvenOrigin } from '#modules/auth/sessions/known-logins.queries';
import { browserKind, networkOf } from '#modules/auth/sessions/known-logins.rules';

/** The origin of a request of an account: recognisable, but not readable. */
export function originOf(
  { encryption }: Pick<Services, 'encryption'>,
  accountId: string,
  { ip, userAgent }: RequestFacts,
): string {
  const place = `${accountId}:${browserKind(userAgent)}:${networkOf(ip)}`;
  return keyedHash(encryption.keyFor('known-logins'), place);
}

/** The origin of the request, if the account has logged in from there. */
export async function findKnownOrigin(
  services: Pick<Services, 'database' | 'encryption'>,
  accountId: string,
  request: RequestFacts,
): Promise<string | undefined> {
  const origin = originOf(services, accountId, request);
  const row = await services.database.credential().first(findProvenOrigin({ accountId, origin }));
  return row?.origin;
}
