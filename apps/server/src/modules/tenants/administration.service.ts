import { systemTenantId, type Actor, type Person } from '#core/base/access/principal';
import { auditParams } from '#core/data/audit/audit.queries';
import { enterTenant } from '#core/data/db/database';
import { announceRevocation } from '#core/data/db/revocation';
import { pageOfMatches } from '#core/data/db/totals';
import { parseSort, toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import {
  countTenants,
  listTenants as listTenantRows,
  lockStanding,
  changeTenantStatus as moveTenantRow,
} from '#modules/tenants/administration.queries';
import { SystemTenantProtected, TenantNotFound, TenantStatusConflict } from '#modules/tenants/tenants.errors';
import { isVisible, applyTransition, tenantActions, type Transition } from '#modules/tenants/tenants.rules';
import type { ListTenantsQuery } from '#modules/tenants/tenants.schemas';
import { assertNamed, presentTenant } from '#modules/tenants/tenants.service';

type Dependencies = Pick<Services, 'database' | 'now' | 'principals' | 'settings'>;

type Scope = { services: Dependencies; actor: Actor<Person> };

/** All tenants of the installation, independent of the tenant of the caller. */
export async function listTenants(
  { services, setHeader }: { services: Dependencies; setHeader: SetHeader },
  query: ListTenantsQuery,
) {
  const { limit = 50, offset = 0, sort, search, status } = query;
  const filters = { now: services.now().toISOString(), search, status };
  const order = parseSort(sort) ?? { column: 'name', descending: false };
  const { rows, ...total } = await pageOfMatches(
    services.database.platform(),
    listTenantRows(filters, { limit, offset, order }),
    countTenants(filters),
    { limit, offset },
  );
  return toPage(rows.map(presentTenant), { limit, offset }, total, setHeader);
}

/**
 * Suspends, activates, deletes or restores a tenant. The change applies from the next request. Sessions and keys
 * remain, so that they work again after activation. The audit event belongs to the tenant.
 * @throws TenantNotFound, SystemTenantProtected, TenantStatusConflict
 */
export async function changeTenantStatus({ services, actor }: Scope, id: string, move: Transition) {
  assertNamed(actor, id);
  if (id === systemTenantId) throw SystemTenantProtected();
  const now = services.now();
  const { tenantDeletionGraceDays: graceDays } = services.settings;
  const row = await services.database.platform().transaction(async (tx) => {
    await tx.all(enterTenant(id));
    const current = await tx.first(lockStanding({ tenantId: id }));
    if (current === undefined || !isVisible(current, now)) throw TenantNotFound();
    const next = applyTransition(current, move, { now, graceDays });
    if (next === undefined) throw TenantStatusConflict({ details: { status: current.status } });
    await tx.all(announceRevocation(`tenant:${id}`));
    return tx.first(
      moveTenantRow(tenantActions[move], next, auditParams({ ...actor, tenantId: id }, now.toISOString())),
    );
  });
  services.principals.forget(`tenant:${id}`);
  return { data: presentTenant(row!) };
}
