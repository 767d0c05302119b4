import { systemTenantId, type RequestFacts } from '#core/base/access/principal';
import type { Services } from '#core/platform/services';
import {
  findOpenTenants,
  lockAccount,
  offerTenants,
  startSession,
  type StartedSession,
  type TenantSelection,
} from '#modules/auth/index';
import { holdIdentity } from '#modules/identity-providers/identities/identities.queries';
import { CodeRefused } from '#modules/identity-providers/identity-providers.errors';
import type { CodeBody } from '#modules/identity-providers/identity-providers.schemas';
import { readCode, type Redeemable } from '#modules/identity-providers/logins/codes';
import { findUsableRegistration } from '#modules/identity-providers/registrations/usable';

type Dependencies = Pick<
  Services,
  | 'database'
  | 'encryption'
  | 'log'
  | 'now'
  | 'passwords'
  | 'principals'
  | 'queue'
  | 'securityEvents'
  | 'settings'
  | 'tokens'
>;

/**
 * Exchanges the code for a session or a tenant selection, like a login with a password.
 * @throws CodeRefused
 */
export async function exchangeCode(
  services: Dependencies,
  body: CodeBody,
  request: RequestFacts,
): Promise<StartedSession | TenantSelection> {
  const redeemable = await readCode(services, 'login', body);
  const started = redeemable === undefined ? undefined : await enter(services, redeemable, request);
  if (started === undefined) throw CodeRefused();
  return started;
}

async function enter(
  services: Dependencies,
  { accountId, grant, use }: Redeemable<'login'>,
  request: RequestFacts,
): Promise<StartedSession | TenantSelection | undefined> {
  const { provider, configuredBy, identityId, tenantId } = grant;
  const usable = await findUsableRegistration(services, provider, tenantId);
  if (usable?.configuredBy !== configuredBy) return undefined;
  const login = {
    accountId,
    remembered: false,
    // The provider of a tenant may claim anything, so it gives access to that tenant only.
    isAccountWide: configuredBy === systemTenantId,
    details: { provider },
    request,
    // The account is locked first, as everywhere: different lock orders would deadlock.
    proof: [lockAccount({ accountId, provenAt: null }), holdIdentity({ id: identityId, accountId }), use],
    also: [],
  };
  if (tenantId !== null) return startSession(services, { ...login, tenantId });
  const tenants = await findOpenTenants(services, accountId);
  const [only, ...others] = tenants;
  if (only === undefined) return undefined;
  return others.length === 0
    ? startSession(services, { ...login, tenantId: only.id })
    : offerTenants(services, { ...login, tenants });
}
