import { systemTenantId, type Actor, type Person } from '#core/base/access/principal';
import type { Services } from '#core/platform/services';
import { lockAccountState, lockForChange } from '#modules/auth/index';
import {
  deleteReleasedIdentity,
  listIdentities as listIdentityRows,
  releaseIdentity,
  type IdentityRow,
} from '#modules/identity-providers/identities/identities.queries';
import { auditIdentity, linkIdentity, nameOf } from '#modules/identity-providers/identities/linking';
import {
  IdentityNotFound,
  IdentityTaken,
  LastLoginMethod,
  LinkRefused,
  ProviderFailed,
  ProviderNotAvailable,
} from '#modules/identity-providers/identity-providers.errors';
import type { CodeBody, LinkBody } from '#modules/identity-providers/identity-providers.schemas';
import { readCode } from '#modules/identity-providers/logins/codes';
import { reportFailure } from '#modules/identity-providers/logins/failures';
import { assertRedirect, beginFlow } from '#modules/identity-providers/logins/flows';
import type { ProviderId } from '#modules/identity-providers/providers/provider';
import { findUsableRegistration } from '#modules/identity-providers/registrations/usable';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'log' | 'now' | 'outbound' | 'settings'>;

type Self = Actor<Person>;

export async function listIdentities(services: Dependencies, { accountId }: Self) {
  const rows = await services.database.credential().all(listIdentityRows({ accountId }));
  return { data: rows.map(presentIdentity) };
}

/**
 * Starts a link at the provider that serves the tenant of the user.
 * @throws ProviderNotAvailable, RedirectRefused, ProviderFailed
 */
export async function beginLink(services: Dependencies, actor: Self, provider: ProviderId, body: LinkBody) {
  const { accountId, homeTenantId: tenantId, request } = actor;
  const usable = await findUsableRegistration(services, provider, tenantId);
  if (usable === undefined) throw ProviderNotAvailable();
  assertRedirect(usable, body.redirect_uri);
  const wish = {
    tenantId,
    redirectUri: body.redirect_uri,
    appState: body.state,
    appChallenge: body.code_challenge,
    linkTo: accountId,
  };
  const url = await beginFlow(services, usable, wish).catch((error: unknown) => {
    reportFailure(services, { usable, request }, error);
    throw ProviderFailed();
  });
  return { data: { authorization_url: url.href } };
}

/**
 * Links the identity to the account that requested the link. The code alone is not enough, because another person may
 * have sent the user to the provider. A repeated link succeeds.
 * @throws LinkRefused, IdentityTaken, AssuranceLimitedToTenant
 */
export async function confirmLink(services: Dependencies, actor: Self, body: CodeBody) {
  const { accountId, request } = actor;
  const redeemable = await readCode(services, 'link', body);
  if (redeemable === undefined || redeemable.accountId !== accountId) throw LinkRefused();
  const { provider, configuredBy, subject, email } = redeemable.grant;
  const presented = { provider, configuredBy, subject, email, isEmailVerified: false };
  const at = services.now().toISOString();
  const row = await services.database.credential().transaction(async (tx) => {
    await lockForChange(tx, actor);
    if ((await tx.first(redeemable.use)) === undefined) throw LinkRefused();
    await tx.all(deleteReleasedIdentity(nameOf(presented)));
    return linkIdentity(tx, accountId, presented, { request, at });
  });
  if (row === undefined) throw IdentityTaken();
  return { data: presentIdentity(row) };
}

/** Unlinks the identity until the user links it again. @throws IdentityNotFound, LastLoginMethod, AssuranceLimitedToTenant */
export async function unlinkIdentity(services: Dependencies, actor: Self, id: string): Promise<void> {
  const { accountId, request } = actor;
  const at = services.now().toISOString();
  await services.database.credential().transaction(async (tx) => {
    await lockForChange(tx, actor);
    const account = await tx.first(lockAccountState({ accountId }));
    const identities = await tx.all(listIdentityRows({ accountId }));
    const identity = identities.find((row) => row.id === id);
    if (identity === undefined) throw IdentityNotFound();
    const leavesWayIn = account?.has_password === true || identities.some((row) => row.id !== id && isAccountWide(row));
    if (!leavesWayIn) throw LastLoginMethod();
    await tx.all(releaseIdentity({ id, accountId }));
    await auditIdentity(tx, identity, { action: 'auth.identity_unlinked', request, at });
  });
}

/** A registration of one tenant gives access to that tenant only, and not to the account. */
function isAccountWide(row: IdentityRow): boolean {
  return row.configured_by === systemTenantId;
}

function presentIdentity(row: IdentityRow) {
  return {
    id: row.id,
    provider: row.provider,
    email: row.email,
    tenantId: isAccountWide(row) ? null : row.configured_by,
    created_at: row.created_at,
    last_used_at: row.last_used_at,
  };
}
