import { systemTenantId } from '#core/access/principal';
import type { AuditParams } from '#core/audit/audit.queries';
import { newId } from '#core/crypto/ids';
import { enterTenant } from '#core/db/database';
import type { Query } from '#core/db/query';
import type { Statements } from '#core/db/scopes';
import type { Services } from '#core/services';
import {
  beginPurge,
  deleteIdentities,
  deleteRows,
  findFile,
  finishPurge,
  listDueTenants,
  purgedTables,
  releaseFiles,
  storageTable,
} from '#modules/tenants/purge.queries';

type Needed = Pick<Services, 'database' | 'log' | 'now'> & { signal: AbortSignal };

// What was let in before the time was over has been answered by then, and writes nothing behind the purge.
const settleMs = 60_000;
const batchSize = 1000;
const mostTenants = 1000;

/** Deletes what is left of tenants whose days of grace are over, until the signal. What fails is tried again the next time. */
export async function purgeTenants(services: Needed): Promise<void> {
  const before = new Date(services.now().getTime() - settleMs).toISOString();
  const due = await services.database.platform().slow.all(listDueTenants({ before, most: mostTenants }));
  for (const { id: tenantId } of due) {
    services.signal.throwIfAborted();
    try {
      if (!(await purgeTenant(services, tenantId, before)))
        services.log.info({ tenantId }, 'the purge of the tenant waits for its files');
    } catch (error) {
      services.signal.throwIfAborted();
      services.log.warn({ err: error, tenantId }, 'the purge of the tenant failed and will be tried again');
    }
  }
}

/**
 * Every step may be the last one: the next run goes on from what is still there.
 * @returns false while objects of files are left, whose rows have to outlive them.
 */
async function purgeTenant(services: Needed, tenantId: string, before: string): Promise<boolean> {
  if (tenantId === systemTenantId) throw new Error('the system tenant is never purged');
  const { database, signal } = services;
  const at = services.now().toISOString();
  if ((await database.platform().slow.first(beginPurge({ tenantId, before, at }))) === undefined) return true;
  const db = database.purge(tenantId);
  // The counters before what they count: nobody has to set them right for files that all go.
  await repeat(db.slow, (most) => deleteRows(storageTable, { tenantId, most }), signal);
  await repeat(db.slow, (most) => releaseFiles({ tenantId, at, most }), signal);
  if ((await db.slow.first(findFile({ tenantId }))) !== undefined) return false;
  await repeat(database.credential().slow, (most) => deleteIdentities({ tenantId, most }), signal);
  for (const table of purgedTables) await repeat(db.slow, (most) => deleteRows(table, { tenantId, most }), signal);
  const finish = finishPurge({ purgedId: tenantId, at, ...purgeAudit(at) });
  await database.platform().slow.flight([enterTenant(systemTenantId), finish]);
  return true;
}

/** Until a statement finds nothing: in a tree each one reaches the leaves only, however few they are. */
async function repeat(db: Statements, next: (most: number) => Query<unknown>, signal: AbortSignal): Promise<void> {
  do signal.throwIfAborted();
  while ((await db.all(next(batchSize))).length > 0);
}

/** Nobody did it, time did; it is told to whoever administers the installation. */
function purgeAudit(at: string): AuditParams {
  return {
    tenantId: systemTenantId,
    auditId: newId(),
    auditAt: at,
    auditUserId: null,
    auditDetails: { actor: { type: 'service', id: null } },
    auditIp: null,
    auditUserAgent: null,
    slot: 0,
  };
}
