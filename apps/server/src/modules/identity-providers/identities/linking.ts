import { systemTenantId, type RequestFacts } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import type { Transaction } from '#core/db/scopes';
import type { Services } from '#core/services';
import { auditInEach, listMemberships, normaliseEmail } from '#modules/auth/index';
import {
  findIdentity,
  insertIdentity,
  lockProvenAccount,
  lockProvenUser,
  touchIdentity,
  type IdentityRow,
} from '#modules/identity-providers/identities/identities.queries';
import type { ProviderId, Vouched } from '#modules/identity-providers/providers/provider';

/** An identity as one registration vouches for it. */
type Presented = Vouched & { provider: ProviderId; configuredBy: string };

type Occasion = { request: RequestFacts; at: string };

/**
 * Whose identity it is. One that is not linked yet is linked now, if both sides have proven the same address and the
 * person is at home where the login leads; nobody gets an account or a membership this way.
 */
export async function recogniseIdentity(
  services: Services,
  presented: Presented,
  { tenantId, request }: { tenantId: string | null; request: RequestFacts },
): Promise<IdentityRow | undefined> {
  const at = services.now().toISOString();
  const name = nameOf(presented);
  const touch = () => services.database.credential().slow.first(touchIdentity({ ...name, email: presented.email, at }));
  const known = await touch();
  const address = presented.isEmailVerified ? provenAddress(presented.email) : undefined;
  if (known !== undefined || address === undefined) return known;
  await linkByAddress(services, { presented, address, tenantId }, { request, at });
  return touch();
}

async function linkByAddress(
  services: Services,
  { presented, address, tenantId }: { presented: Presented; address: string; tenantId: string | null },
  occasion: Occasion,
): Promise<void> {
  await services.database.credential(tenantId ?? undefined).transaction(async (tx) => {
    const email = address;
    const account = await tx.first(
      tenantId === null ? lockProvenAccount({ email }) : lockProvenUser({ tenantId, email }),
    );
    if (account !== undefined) await linkIdentity(tx, account.id, presented, occasion);
  });
}

/** @returns undefined when the identity is another account's. */
export async function linkIdentity(
  tx: Transaction,
  accountId: string,
  presented: Presented,
  { request, at }: Occasion,
): Promise<IdentityRow | undefined> {
  const name = nameOf(presented);
  const row = await tx.first(insertIdentity({ ...name, id: newId(), accountId, email: presented.email, at }));
  if (row === undefined) {
    const existing = await tx.first(findIdentity(name));
    return existing?.account_id === accountId ? existing : undefined;
  }
  await auditIdentity(tx, row, { action: 'auth.identity_linked', request, at });
  return row;
}

/** What happens to an identity concerns the tenants that it leads to. */
export async function auditIdentity(
  tx: Transaction,
  identity: IdentityRow,
  { action, request, at }: Occasion & { action: string },
): Promise<void> {
  const { account_id: accountId, configured_by: configuredBy, provider } = identity;
  const memberships = await tx.all(listMemberships({ accountId }));
  const concerned = memberships.filter(
    ({ tenant_id: tenantId }) => configuredBy === systemTenantId || configuredBy === tenantId,
  );
  await auditInEach(tx, concerned, request, { action, at, details: { provider, identityId: identity.id } });
}

export function nameOf({ configuredBy, provider, subject }: Presented) {
  return { configuredBy, provider, subject };
}

/**
 * The address in the form in which accounts have it; undefined where only that form makes it one that we know:
 * somebody may own the look-alike alone.
 */
function provenAddress(email: string | null): string | undefined {
  if (email === null) return undefined;
  const plain = email.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  try {
    return normaliseEmail(email) === plain ? plain : undefined;
  } catch {
    return undefined;
  }
}
