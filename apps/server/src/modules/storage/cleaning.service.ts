import { nilId } from '#core/data/db/nil-id';
import type { Transaction } from '#core/data/db/scopes';
import { addToTotal } from '#core/data/db/totals';
import type { Services } from '#core/platform/services';
import {
  claim,
  compareSums,
  deleteRow,
  listStorages,
  listUnsettled,
  lockStorage,
  lockUnsettled,
  setCounters,
  type Sums,
} from '#modules/storage/cleaning.queries';
import { retireOwned, type Retired } from '#modules/storage/files.queries';
import { columnOf, type Owner } from '#modules/storage/files.rules';
import { settle } from '#modules/storage/storage.queries';

type Dependencies = Pick<Services, 'database' | 'files' | 'log'>;

const batchSize = 500;

export function objectKey(tenantId: string, id: string): string {
  return `${tenantId}/${id}`;
}

/** Removes the object of a row with the status 'deleting', then the row. */
async function removeObject(services: Dependencies, tenantId: string, id: string): Promise<void> {
  await services.files.delete(objectKey(tenantId, id));
  await services.database.tenant(tenantId).interactive.all(deleteRow({ tenantId, id }));
}

/**
 * Removes objects after the transaction that retired their files; `sweepFiles` repeats failures. It never rejects and no request
 * waits for it, because there may be thousands and the store may hang.
 */
export async function removeObjects(services: Dependencies, tenantId: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    try {
      await removeObject(services, tenantId, id);
    } catch (error) {
      services.log.warn({ err: error, fileId: id }, 'a deleted file is left to the clean-up job');
    }
  }
}

/**
 * Retires the files of a record or user before its deletion, and removes them from the usage, in the transaction of the caller.
 * @returns the ids for `removeObjects`, after the transaction is committed.
 */
export async function retireFilesOf(
  tx: Transaction,
  { tenantId, owner }: { tenantId: string; owner: Owner },
): Promise<string[]> {
  const { stored, unfinished } = retireOwned[columnOf(owner.type)];
  // In this order, so that an upload that completes in between is among the files.
  const uploads = await tx.all(unfinished({ tenantId, id: owner.id }));
  const files = await tx.all(stored({ tenantId, id: owner.id }));
  if (files.length + uploads.length > 0)
    await tx.all(settle({ tenantId, usage: -sumOf(files), reserved: -sumOf(uploads) }));
  // One slot is enough: every change of file counts first locks the single counter row of the storage.
  if (files.length > 0 && owner.type !== 'avatar')
    await tx.all(addToTotal({ tenantId, table: 'files', slot: 0, amount: -files.length }));
  return files.map(({ id }) => id);
}

function sumOf(files: readonly Retired[]): number {
  return files.reduce((sum, file) => sum + file.size_bytes, 0);
}

/**
 * Removes interrupted uploads and deletions of all tenants: objects first, then their rows. A failure is retried after its new
 * lease ends. The signal stops the sweep before the next file.
 * @returns the number of removed files.
 */
export async function sweepFiles(services: Dependencies, signal: AbortSignal): Promise<number> {
  let removed = 0;
  for (;;) {
    const batch = await services.database.platform().interactive.all(listUnsettled({ max: batchSize }));
    const removedBefore = removed;
    for (const { tenant_id: tenantId, id } of batch) {
      signal.throwIfAborted();
      if (await sweepOne(services, { tenantId, id })) removed += 1;
    }
    // Rows that could not be claimed would come again in the next batch.
    if (batch.length < batchSize || removed === removedBefore) return removed;
  }
}

async function sweepOne(services: Dependencies, { tenantId, id }: { tenantId: string; id: string }): Promise<boolean> {
  try {
    const claimed = await services.database.tenant(tenantId).transaction(async (tx) => {
      const row = await tx.first(lockUnsettled({ tenantId, id }));
      if (row === undefined) return false;
      await tx.all(claim({ tenantId, id }));
      if (row.status === 'uploading') await tx.all(settle({ tenantId, usage: 0, reserved: -row.size_bytes }));
      return true;
    });
    if (claimed) await removeObject(services, tenantId, id);
    return claimed;
  } catch (error) {
    services.log.warn({ err: error, tenantId, fileId: id }, 'a file could not be removed; a job will retry');
    return false;
  }
}

/**
 * Compares the counters of every tenant with its rows and corrects differences. A failure for one tenant, such as a timeout for many
 * rows, does not stop the others. The signal stops the comparison before the next tenant.
 * @returns the tenants whose counters were wrong.
 */
export async function reconcileStorage(services: Dependencies, signal: AbortSignal): Promise<string[]> {
  const wrong: string[] = [];
  let after = nilId;
  for (;;) {
    const batch = await services.database.platform().interactive.all(listStorages({ after, max: batchSize }));
    for (const { tenant_id: tenantId } of batch) {
      signal.throwIfAborted();
      if (await reconcileOne(services, tenantId)) wrong.push(tenantId);
    }
    if (batch.length < batchSize) return wrong;
    after = batch.at(-1)!.tenant_id;
  }
}

async function reconcileOne(services: Dependencies, tenantId: string): Promise<boolean> {
  try {
    return await repairCounters(services, tenantId);
  } catch (error) {
    services.log.warn({ err: error, tenantId }, 'the storage counters of a tenant could not be compared');
    return false;
  }
}

async function repairCounters(services: Dependencies, tenantId: string): Promise<boolean> {
  const db = services.database.tenant(tenantId);
  const seen = await db.interactive.first(compareSums({ tenantId }));
  if (seen === undefined || !isDrifted(seen)) return false;
  return db.transaction(async (tx) => {
    await tx.all(lockStorage({ tenantId }));
    const sums = await tx.first(compareSums({ tenantId }));
    if (sums === undefined || !isDrifted(sums)) return false;
    await tx.all(setCounters({ tenantId, usage: sums.stored, reserved: sums.uploading }));
    services.log.error({ tenantId, ...sums }, 'the storage counters of a tenant were wrong');
    return true;
  });
}

function isDrifted(sums: Sums): boolean {
  return sums.usage_bytes !== sums.stored || sums.reserved_bytes !== sums.uploading;
}
