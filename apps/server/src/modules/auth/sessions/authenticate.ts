import { allowedProperties, flagsOf } from '#core/base/access/flags';
import { isSystemAdmin, type Person, type Principal, type RequestFacts } from '#core/base/access/principal';
import type { CachedPrincipal } from '#core/base/access/principal-cache';
import { InvalidToken, TwoCredentials } from '#core/base/errors/common-errors';
import { bearerToken, type Credentials } from '#core/http/credentials';
import { formats } from '#core/http/formats';
import type { Services } from '#core/platform/services';
import { ForeignTenantNamed, TenantIdRefused, TenantNotNamed } from '#modules/auth/auth.errors';
import { missingAssurance } from '#modules/auth/auth.rules';
import {
  findActiveFactor,
  findAppAccountPrincipal,
  findPrincipal,
  findEnterableTenant,
  type AppAccountSessionRow,
  type PrincipalRow,
} from '#modules/auth/sessions/sessions.queries';

type Dependencies = Pick<Services, 'database' | 'now' | 'principals' | 'securityEvents' | 'tokens'>;

type Found = Principal | Promise<Principal>;

/** Resolves an API key to its principal for this request. */
export type KeyAuthenticator = (key: string, credentials: Credentials, request: RequestFacts) => Found;

/** Resolves credentials to a principal; synchronously if they are cached. */
export function createAuthenticator(services: Dependencies, authenticateKey: KeyAuthenticator) {
  return (credentials: Credentials, request: RequestFacts): Found | undefined => {
    const { authorization, apiKey, tenantId } = credentials;
    if (authorization === undefined && apiKey === undefined) return undefined;
    if (authorization !== undefined && apiKey !== undefined) throw TwoCredentials();
    const known =
      apiKey === undefined
        ? authenticateToken(services, authorization!, credentials.acceptsExpired ?? false)
        : authenticateKey(apiKey, credentials, request);
    if (tenantId === undefined) return known;
    return Promise.resolve(known).then((principal) => actFor(services, principal, { tenantId, request }));
  };
}

function authenticateToken(services: Dependencies, authorization: string, acceptExpired: boolean): Found {
  const { principals } = services;
  const token = bearerToken(authorization);
  if (token === undefined) throw InvalidToken();
  const known = principals.find(token);
  if (known !== undefined) return known;
  // Not cached, because every route would accept a cached principal.
  if (acceptExpired) return loadExpired(services, token);
  return principals.load(token, () => loadPrincipal(services, token));
}

async function loadExpired(services: Dependencies, token: string): Promise<Principal> {
  const { principal, expiresAt } = await loadPrincipal(services, token, { acceptExpired: true });
  return principal.kind === 'api_key' ? principal : { ...principal, isExpired: expiresAt <= services.now().getTime() };
}

async function loadPrincipal(
  services: Dependencies,
  token: string,
  options: { acceptExpired?: boolean } = {},
): Promise<CachedPrincipal> {
  const { tenantId, sessionId, accountId, expiresAt } = await services.tokens.verify(token, options);
  const at = services.now();
  const now = at.toISOString();
  const [people, appAccounts, factors] = await services.database
    .credential(tenantId)
    .batch([
      findPrincipal({ tenantId, sessionId, now }),
      findAppAccountPrincipal({ tenantId, sessionId, now }),
      findActiveFactor({ accountId }),
    ]);
  const [person] = people;
  const [appAccount] = appAccounts;
  if (person?.account_id === accountId) {
    const principal = toPerson(tenantId, person, { hasFactor: factors.length > 0, at });
    return {
      principal,
      subjects: [`session:${sessionId}`, `user:${person.user_id}`, `account:${accountId}`, `tenant:${tenantId}`],
      expiresAt: Math.min(expiresAt, Date.parse(person.expires_at), graceEnd(person, at)),
    };
  }
  if (appAccount === undefined) throw InvalidToken();
  return {
    principal: toAppAccount(tenantId, sessionId, appAccount),
    subjects: [`session:${sessionId}`, `app_account:${appAccount.id}`, `tenant:${tenantId}`],
    expiresAt: Math.min(expiresAt, Date.parse(appAccount.expires_at)),
  };
}

/** Time at which the grace period of the tenant ends; from then a factor may be missing. */
function graceEnd({ two_factor_required_from: requiredFrom }: PrincipalRow, now: Date): number {
  const end = requiredFrom === null ? Infinity : Date.parse(requiredFrom);
  return end > now.getTime() ? end : Infinity;
}

function toPerson(tenantId: string, row: PrincipalRow, factor: { hasFactor: boolean; at: Date }): Person {
  const isAssured = row.assurance === 2;
  return {
    kind: 'user',
    id: row.user_id,
    tenantId,
    homeTenantId: tenantId,
    userId: row.user_id,
    accountId: row.account_id,
    sessionId: row.session_id,
    email: row.email,
    isTenantAdmin: row.is_tenant_admin,
    isSystemAdmin: isSystemAdmin({ tenant_id: tenantId, is_tenant_admin: row.is_tenant_admin }),
    permissions: new Set(row.permissions),
    missingFactor: missingAssurance({ ...factor, isAssured, requiredFrom: row.two_factor_required_from }),
    isAssured,
    isAccountWide: row.account_wide,
  };
}

function toAppAccount(tenantId: string, sessionId: string, row: AppAccountSessionRow): Principal {
  return {
    kind: 'app_account',
    id: row.id,
    tenantId,
    homeTenantId: tenantId,
    userId: null,
    sessionId,
    name: row.name,
    email: row.email,
    isTenantAdmin: false,
    isSystemAdmin: false,
    permissions: new Set(),
    flags: flagsOf(row.permissions),
    properties: allowedProperties(row.permissions),
  };
}

/** A system administrator enters another tenant only by naming it, and has administrator permissions there. */
async function actFor(
  services: Dependencies,
  principal: Principal,
  { tenantId, request }: { tenantId: string; request: RequestFacts },
): Promise<Principal> {
  if (tenantId.toLowerCase() === principal.tenantId) return principal;
  if (!principal.isSystemAdmin) throw foreignTenant(services, principal, request);
  if (!formats.uuid!(tenantId)) throw TenantIdRefused();
  const now = services.now().toISOString();
  const tenant = await services.database.platform().first(findEnterableTenant({ tenantId, now }));
  if (tenant === undefined) throw TenantNotNamed();
  return { ...principal, tenantId: tenantId.toLowerCase() };
}

// The HTTP layer gets no principal here, so it cannot record the refusal itself.
function foreignTenant(
  { securityEvents }: Dependencies,
  { kind, id, tenantId, userId }: Principal,
  request: RequestFacts,
): Error {
  const actor = { type: kind, id };
  const details = { reason: 'FOREIGN_TENANT_NAMED', actor, ip: request.ip, requestId: request.id };
  securityEvents.record({ type: 'permission_denied', tenantId, userId, details });
  return ForeignTenantNamed();
}
