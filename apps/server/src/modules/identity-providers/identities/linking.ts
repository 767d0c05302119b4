import { systemTenantId, type RequestFacts } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import { auditInEach, listMemberships, normaliseEmail } from '#modules/auth/index';
import {
  findIdentity,
  insertIdentity,
  lockProvenAccount,
  lockProvenUser,
  touchIdentity,
  type IdentityRow,
} from '#modules/identity-providers/identities/identities.queries';
import type { ProviderId, ProviderUser } from '#modules/identity-providers/providers/provider';

type Dependencies = Pick<Services, 'database' | 'now'>;

/** An identity that one registration has authenticated. */
type PresentedIdentity = ProviderUser & { provider: ProviderId; configuredBy: string };

type Occasion = { request: RequestFacts; at: string };

/**
 * Finds the account of an identity. An unlinked identity is linked now if provider and account have verified the same
 * address and the user is active where the login leads. This never creates an account or a membership.
 */
export async function recogniseIdentity(
  services: Dependencies,
  presented: PresentedIdentity,
  { tenantId, request }: { tenantId: string | null; request: RequestFacts },
): Promise<IdentityRow | undefined> {
  const at = services.now().toISOString();
  const name = nameOf(presented);
  const touch = () =>
    services.database.credential().interactive.first(touchIdentity({ ...name, email: presented.email, at }));
  const known = await touch();
  const address = presented.isEmailVerified ? provenAddress(presented.email) : undefined;
  if (known !== undefined || address === undefined) return known;
  await linkByAddress(services, { presented, address, tenantId }, { request, at });
  return touch();
}

async function linkByAddress(
  services: Dependencies,
  { presented, address, tenantId }: { presented: PresentedIdentity; address: string; tenantId: string | null },
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

/** @returns undefined if the identity belongs to another account */
export async function linkIdentity(
  tx: Transaction,
  accountId: string,
  presented: PresentedIdentity,
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

/** An event of an identity concerns the tenants that it gives access to. */
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

export function nameOf({ configuredBy, provider, subject }: PresentedIdentity) {
  return { configuredBy, provider, subject };
}

/**
 * The normalised address. Undefined if only normalisation produces a known address: a stranger may own the look-alike.
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
