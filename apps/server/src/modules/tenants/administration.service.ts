import { systemTenantId, type Actor, type Person } from '#core/access/principal';
import { announceRevocation } from '#core/access/revocation';
import { auditParams } from '#core/audit/audit.queries';
import { enterTenant } from '#core/db/database';
import { pageOfMatches } from '#core/db/totals';
import { parseSort, toPage } from '#core/http/paging';
import type { Services } from '#core/services';
import {
  countTenants,
  listTenants as listTenantRows,
  lockStanding,
  moveTenant as moveTenantRow,
} from '#modules/tenants/administration.queries';
import { SystemTenantKept, TenantNotFound, TenantStatusRefused } from '#modules/tenants/tenants.errors';
import { isThere, moved, tenantActions, type Move } from '#modules/tenants/tenants.rules';
import type { ListTenantsQuery } from '#modules/tenants/tenants.schemas';
import { assertNamed, presentTenant } from '#modules/tenants/tenants.service';

type Scope = { services: Services; actor: Actor<Person> };

/** The tenants of the installation, whichever of them the caller acts for. */
export async function listTenants(
  { services, setHeader }: { services: Services; setHeader(name: string, value: string): void },
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
 * Suspends, activates, deletes or restores a tenant. Whoever it keeps out is out on their next request; sessions and keys
 * stay, so that those it lets in again go on as before. The audit row goes into the trail of the tenant.
 * @throws TenantNotFound, SystemTenantKept, TenantStatusRefused
 */
export async function moveTenant({ services, actor }: Scope, id: string, move: Move) {
  assertNamed(actor, id);
  if (id === systemTenantId) throw SystemTenantKept();
  const now = services.now();
  const { tenantDeletionGraceDays: graceDays } = services.settings;
  const row = await services.database.platform().transaction(async (tx) => {
    await tx.all(enterTenant(id));
    const current = await tx.first(lockStanding({ tenantId: id }));
    if (current === undefined || !isThere(current, now)) throw TenantNotFound();
    const next = moved(current, move, { now, graceDays });
    if (next === undefined) throw TenantStatusRefused({ details: { status: current.status } });
    await tx.all(announceRevocation(`tenant:${id}`));
    return tx.first(
      moveTenantRow(tenantActions[move], next, auditParams({ ...actor, tenantId: id }, now.toISOString())),
    );
  });
  services.principals.forget(`tenant:${id}`);
  return { data: presentTenant(row!) };
}
