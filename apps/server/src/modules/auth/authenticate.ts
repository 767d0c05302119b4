import type { Principal } from '#core/access/principal';
import type { CachedPrincipal } from '#core/access/principal-cache';
import { InvalidToken } from '#core/errors/common-errors';
import { formats } from '#core/http/formats';
import type { Services } from '#core/services';
import { ForeignTenantNamed, TenantNotNamed } from '#modules/auth/auth.errors';
import { isSystemAdmin } from '#modules/auth/session-start';
import { findPrincipal, findTenantStatus } from '#modules/auth/sessions.queries';

type Credentials = { authorization: string | undefined; tenantId: string | undefined };

/** Turns the Authorization header into a principal; synchronous when the credential was seen before. */
export function createAuthenticator(services: Services) {
  const { principals } = services;
  return (credentials: Credentials): Principal | undefined | Promise<Principal | undefined> => {
    const { authorization, tenantId } = credentials;
    if (authorization === undefined) return undefined;
    const token = bearerToken(authorization);
    if (token === undefined) return Promise.reject(InvalidToken());
    const known = principals.find(token) ?? principals.load(token, () => loadPrincipal(services, token));
    if (tenantId === undefined) return known;
    return Promise.resolve(known).then((principal) => actFor(services, principal, tenantId));
  };
}

function bearerToken(authorization: string): string | undefined {
  return /^Bearer +([\w.~+/-]+=*)$/i.exec(authorization)?.[1];
}

async function loadPrincipal(services: Services, token: string): Promise<CachedPrincipal> {
  const { tenantId, sessionId, expiresAt } = await services.tokens.verify(token);
  const now = services.now().toISOString();
  const row = await services.database.credential(tenantId).first(findPrincipal({ tenantId, sessionId, now }));
  if (row === undefined) throw InvalidToken();
  const principal: Principal = {
    kind: 'user',
    tenantId,
    homeTenantId: tenantId,
    userId: row.user_id,
    accountId: row.account_id,
    sessionId,
    email: row.email,
    isTenantAdmin: row.is_tenant_admin,
    isSystemAdmin: isSystemAdmin({ tenant_id: tenantId, is_tenant_admin: row.is_tenant_admin }),
    permissions: new Set(row.permissions),
  };
  return {
    principal,
    subjects: [`session:${sessionId}`, `user:${row.user_id}`, `account:${row.account_id}`, `tenant:${tenantId}`],
    expiresAt: Math.min(expiresAt, Date.parse(row.expires_at)),
  };
}

/** A system administrator reaches another tenant only by naming it, and is its administrator there. */
async function actFor(services: Services, principal: Principal, tenantId: string): Promise<Principal> {
  if (tenantId.toLowerCase() === principal.tenantId) return principal;
  if (!principal.isSystemAdmin) throw ForeignTenantNamed();
  const isUuid = formats.uuid!(tenantId);
  const tenant = isUuid ? await services.database.platform().first(findTenantStatus({ tenantId })) : undefined;
  if (tenant === undefined) throw TenantNotNamed();
  return { ...principal, tenantId: tenantId.toLowerCase() };
}
