import type { Person } from '#core/access/principal';
import type { Actor } from '#core/access/principal';
import { auditParams } from '#core/audit/audit.queries';
import type { TenantDb } from '#core/db/scopes';
import type { Services } from '#core/services';
import { TenantNotFound } from '#modules/storage/files.errors';
import { figuresOf, type StorageState } from '#modules/storage/files.rules';
import { findStorage, findTenant, saveStorage, sumStorage } from '#modules/storage/storage.queries';
import type { UpdateStorageBody } from '#modules/storage/storage.schemas';

/** Over all tenants of the installation. */
export async function getStorageStats({ database, settings }: Services) {
  const { defaultQuotaBytes } = settings;
  return { data: (await database.platform().slow.first(sumStorage({ defaultQuotaBytes })))! };
}

/** For administrators of the tenant itself. @throws TenantNotFound for every other one */
export async function getTenantStorage({ db, services }: { db: TenantDb; services: Services }, id: string) {
  const { tenantId } = db;
  if (id !== tenantId) throw TenantNotFound();
  const state = await db.first(findStorage({ tenantId }));
  return { data: presentStorage(tenantId, state, services) };
}

/** Of any tenant, recorded in its own trail. An empty patch changes nothing. @throws TenantNotFound */
export async function updateTenantStorage(
  { actor, services }: { actor: Actor<Person>; services: Services },
  id: string,
  body: UpdateStorageBody,
) {
  const { database, now } = services;
  if ((await database.platform().first(findTenant({ id }))) === undefined) throw TenantNotFound();
  const db = database.tenant(id);
  const fields = Object.keys(body);
  if (fields.length === 0) {
    return { data: presentStorage(id, await db.first(findStorage({ tenantId: id })), services) };
  }
  const at = now().toISOString();
  const { enabled = null, quota_bytes: quota } = body;
  const setting = { enabled, quotaBytes: quota === undefined ? null : Math.floor(quota), at };
  const row = await db.slow.first(
    saveStorage({ ...setting, ...auditParams({ ...actor, tenantId: id }, at, { fields }) }),
  );
  return { data: presentStorage(id, row, services) };
}

function presentStorage(tenantId: string, state: StorageState | undefined, { settings }: Services) {
  return { tenantId, tenant_id: tenantId, ...figuresOf(state, settings.defaultQuotaBytes) };
}
