import type { Actor, Person } from '#core/base/access/principal';
import { InvalidToken } from '#core/base/errors/common-errors';
import { enterTenant } from '#core/data/db/database';
import type { ReadStatement } from '#core/data/db/query';
import type { Services } from '#core/platform/services';
import { listMemberships, lockAccount, type TenantChoice } from '#modules/auth/accounts/accounts.queries';
import { findOpenTenant, lockLiveSession } from '#modules/auth/accounts/own-tenants.queries';
import { TenantNotFound } from '#modules/auth/auth.errors';
import { startSession, type StartedSession } from '#modules/auth/sessions/session-start';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'log' | 'now' | 'principals' | 'queue' | 'tokens'>;

/**
 * The tenants that the account has access to, by name; a membership alone does not show whether the user is suspended.
 */
export async function findOpenTenants(services: Dependencies, accountId: string): Promise<TenantChoice[]> {
  const db = services.database.credential();
  const memberships = await db.all(listMemberships({ accountId }));
  const rows = await db.batch(
    // Each tenant is entered before its user is read, all in one pipelined batch.
    memberships.flatMap(({ tenant_id: tenantId }): ReadStatement<TenantChoice>[] => [
      enterTenant(tenantId),
      findOpenTenant({ tenantId, accountId }),
    ]),
  );
  return memberships.flatMap((_, at) => rows[2 * at + 1]!).toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

export async function listOwnTenants(services: Dependencies, { accountId, homeTenantId }: Actor<Person>) {
  const tenants = await findOpenTenants(services, accountId);
  return { data: tenants.map(({ id, name, domain }) => ({ id, name, domain, current: id === homeTenantId })) };
}

/**
 * Starts a session in another tenant of the caller, which ends no later than this one; this one remains. A second
 * factor counts there too, unless a connector of this tenant delivered its code.
 * @throws TenantNotFound for tenants that do not exist, are suspended or refuse the caller, with the same answer.
 */
export async function switchTenant(
  services: Dependencies,
  actor: Actor<Person>,
  tenantId: string,
): Promise<StartedSession> {
  const { accountId, homeTenantId, sessionId, request } = actor;
  const now = services.now().toISOString();
  const lock = lockLiveSession({ tenantId: homeTenantId, sessionId, now });
  const current = await services.database.credential(homeTenantId).interactive.first(lock);
  if (current === undefined) throw InvalidToken();
  const { assurance_account_wide: isAssuranceAccountWide } = current;
  const started = await startSession(services, {
    accountId,
    tenantId,
    remembered: current.remembered,
    isAssured: current.assurance === 2 && (isAssuranceAccountWide || tenantId === homeTenantId),
    isAssuranceAccountWide,
    expiresBy: current.expires_at,
    request,
    // The account is locked first, as everywhere: different lock orders would deadlock.
    proof: [lockAccount({ accountId, provenAt: null }), lock],
    also: [],
  });
  if (started === undefined) throw TenantNotFound();
  return started;
}
