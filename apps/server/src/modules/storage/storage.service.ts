import type { Actor, Person } from '#core/base/access/principal';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import { figuresOf, type StorageState } from '#modules/storage/files.rules';
import { findStorage, saveStorage, sumStorage } from '#modules/storage/storage.queries';
import type { UpdateStorageBody } from '#modules/storage/storage.schemas';
import { TenantNotFound, reachTenant } from '#modules/tenants/index';

type Dependencies = Pick<Services, 'database' | 'now' | 'principals' | 'settings'>;

/** Statistics of all tenants of the installation. */
export async function getStorageStats({ database, settings }: Dependencies) {
  const { defaultQuotaBytes } = settings;
  return { data: (await database.platform().interactive.first(sumStorage({ defaultQuotaBytes })))! };
}

/** For administrators of this tenant. @throws TenantNotFound for any other tenant */
export async function getTenantStorage({ db, services }: { db: TenantDb; services: Dependencies }, id: string) {
  const { tenantId } = db;
  if (id !== tenantId) throw TenantNotFound();
  const state = await db.first(findStorage({ tenantId }));
  return { data: presentStorage(tenantId, state, services) };
}

/** Changes any tenant that `reachTenant` finds, recorded in its audit trail; an empty patch changes nothing. @throws TenantNotFound */
export async function updateTenantStorage(
  scope: { db: TenantDb; actor: Actor<Person>; services: Dependencies },
  id: string,
  body: UpdateStorageBody,
) {
  const { actor, services } = scope;
  const { db } = await reachTenant(scope, id);
  const fields = Object.keys(body);
  if (fields.length === 0) {
    return { data: presentStorage(id, await db.first(findStorage({ tenantId: id })), services) };
  }
  const at = services.now().toISOString();
  const { enabled = null, quota_bytes: quota } = body;
  const setting = { enabled, quotaBytes: quota === undefined ? null : Math.floor(quota), at };
  const row = await db.interactive.first(
    saveStorage({ ...setting, ...auditParams({ ...actor, tenantId: id }, at, { fields }) }),
  );
  return { data: presentStorage(id, row, services) };
}

function presentStorage(tenantId: string, state: StorageState | undefined, { settings }: Dependencies) {
  return { tenantId, tenant_id: tenantId, ...figuresOf(state, settings.defaultQuotaBytes) };
}
