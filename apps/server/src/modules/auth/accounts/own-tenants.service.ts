import type { Actor, Person } from '#core/access/principal';
import { enterTenant } from '#core/db/database';
import type { Query } from '#core/db/query';
import { InvalidToken } from '#core/errors/common-errors';
import type { Services } from '#core/services';
import { listMemberships, lockAccount, type TenantChoice } from '#modules/auth/accounts/accounts.queries';
import { findOpenTenant, lockLiveSession } from '#modules/auth/accounts/own-tenants.queries';
import { TenantNotFound } from '#modules/auth/auth.errors';
import { startSession, type StartedSession } from '#modules/auth/sessions/session-start';

/** The tenants that the account can get into, by name: a membership alone does not say whether the user is suspended. */
export async function findOpenTenants(services: Services, accountId: string): Promise<TenantChoice[]> {
  const db = services.database.credential();
  const memberships = await db.all(listMemberships({ accountId }));
  const rows = await db.flight(
    // Each tenant is entered before its user is looked for, all in one flight.
    memberships.flatMap(({ tenant_id: tenantId }): Query<TenantChoice>[] => [
      enterTenant(tenantId),
      findOpenTenant({ tenantId, accountId }),
    ]),
  );
  return memberships.flatMap((_, at) => rows[2 * at + 1]!).toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

export async function listOwnTenants(services: Services, { accountId, homeTenantId }: Actor<Person>) {
  const tenants = await findOpenTenants(services, accountId);
  return { data: tenants.map(({ id, name, domain }) => ({ id, name, domain, current: id === homeTenantId })) };
}

/**
 * Begins a session in another tenant of the caller, with what was proven for this one and no longer than this one may last.
 * This one stays.
 * @throws TenantNotFound for tenants that do not exist, are suspended or keep the caller out, alike.
 */
export async function switchTenant(
  services: Services,
  actor: Actor<Person>,
  tenantId: string,
): Promise<StartedSession> {
  const { accountId, homeTenantId, sessionId, isAssured, request } = actor;
  const now = services.now().toISOString();
  const lock = lockLiveSession({ tenantId: homeTenantId, sessionId, now });
  const current = await services.database.credential(homeTenantId).slow.first(lock);
  if (current === undefined) throw InvalidToken();
  const started = await startSession(services, {
    accountId,
    tenantId,
    remembered: current.remembered,
    isAssured,
    expiresBy: current.expires_at,
    request,
    // The account first, as everywhere: two that lock in different orders would block each other.
    proof: [lockAccount({ accountId, provenAt: null }), lock],
    also: [],
  });
  if (started === undefined) throw TenantNotFound();
  return started;
}
