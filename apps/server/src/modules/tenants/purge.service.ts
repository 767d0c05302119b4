import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import type { AuditParams } from '#core/data/audit/audit.queries';
import { enterTenant } from '#core/data/db/database';
import type { Query } from '#core/data/db/query';
import type { Statements } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import {
  beginPurge,
  deleteIdentities,
  deleteRows,
  findFile,
  finishPurge,
  listDueTenants,
  listPurgedTables,
  releaseFiles,
  type PurgedTable,
} from '#modules/tenants/purge.queries';
import { inPurgeOrder } from '#modules/tenants/purge.rules';

type Dependencies = Pick<Services, 'database' | 'log' | 'now'> & { signal: AbortSignal };

// Requests that were admitted before the end of the grace period are finished by then and write nothing after the
// purge.
const settleMs = 60_000;
const batchSize = 1000;
const maxTenants = 1000;

/** Purges tenants after their grace period, until the signal. A failed purge is retried in the next run. */
export async function purgeTenants(services: Dependencies): Promise<void> {
  const before = new Date(services.now().getTime() - settleMs).toISOString();
  const due = await services.database.platform().interactive.all(listDueTenants({ before, limit: maxTenants }));
  for (const { id: tenantId } of due) {
    services.signal.throwIfAborted();
    try {
      if (!(await purgeTenant(services, tenantId, before)))
        services.log.info({ tenantId }, 'the purge of the tenant waits for its files');
    } catch (error) {
      services.signal.throwIfAborted();
      services.log.warn({ err: error, tenantId }, 'the purge of a tenant failed; a job will retry');
    }
  }
}

/**
 * Every step may be the last one of a run: the next run continues with the remaining rows.
 * @returns false while objects of files remain, whose rows must outlive them
 */
async function purgeTenant(services: Dependencies, tenantId: string, before: string): Promise<boolean> {
  if (tenantId === systemTenantId) throw new Error('the system tenant is never purged');
  const { database, signal } = services;
  const at = services.now().toISOString();
  if ((await database.platform().interactive.first(beginPurge({ tenantId, before, at }))) === undefined) return true;
  const db = database.purge(tenantId);
  // Counters are deleted before the counted files, so that they need no update.
  signal.throwIfAborted();
  const tables = inPurgeOrder(await db.interactive.all(listPurgedTables));
  const purgeTable = (table: PurgedTable) =>
    repeat(db.interactive, (limit) => deleteRows(table, { tenantId, limit }), signal);
  for (const table of tables.filter(({ name }) => name === 'tenant_storage')) await purgeTable(table);
  await repeat(db.interactive, (limit) => releaseFiles({ tenantId, limit }), signal);
  signal.throwIfAborted();
  if ((await db.interactive.first(findFile({ tenantId }))) !== undefined) return false;
  await repeat(database.credential().interactive, (limit) => deleteIdentities({ tenantId, limit }), signal);
  for (const table of tables) await purgeTable(table);
  const finish = finishPurge({ purgedId: tenantId, at, ...purgeAudit(at) });
  await database.platform().interactive.batch([enterTenant(systemTenantId), finish]);
  return true;
}

/** Repeats until a statement finds no rows: in a tree, each statement deletes only the leaves. */
async function repeat(db: Statements, next: (limit: number) => Query<unknown>, signal: AbortSignal): Promise<void> {
  do signal.throwIfAborted();
  while ((await db.all(next(batchSize))).length > 0);
}

/** The actor is the system; the administrators of the installation see the audit event. */
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
