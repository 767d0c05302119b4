import { newId } from '#core/base/crypto/ids';
import { createBatchWriter, type BatchWriter } from '#core/data/background/batch-writer';
import type { Database } from '#core/data/db/database';
import type { Query } from '#core/data/db/query';
import type { Log } from '#core/data/log/log';
import { addUsage } from '#core/data/usage/usage.queries';

/** One request that an API key or an app account made. */
export type UsedCredential = {
  tenantId: string;
  credentialId: string;
  operation: string;
  isError: boolean;
  ip: string;
};

/** Counts the requests of credentials in memory and writes the sums in the background: no request waits for its own count. */
export type Usage = {
  record(used: UsedCredential): void;
  close(): Promise<void>;
};

type Count = { requests: number; errors: number };
type TenantCounts = {
  byHour: Map<string, Count & { id: string; hour: string; operation: string }>;
  totals: Map<string, Count & { usedAt: string; ip: string }>;
};

type Batch = { tenantId: string; counts: TenantCounts; number: number };

type Options = { database: Database; log: Log; now(): Date; delayMs?: number };

const hourMs = 3_600_000;

export function createUsage({ database, log, now, delayMs = 500 }: Options): Usage {
  const waiting = new Map<string, TenantCounts>();
  const writerId = newId();
  let lastBatch = 0;

  function countsOf(tenantId: string): TenantCounts {
    let counts = waiting.get(tenantId);
    if (counts === undefined) waiting.set(tenantId, (counts = { byHour: new Map(), totals: new Map() }));
    return counts;
  }

  /** While counts of a tenant cannot be written, new ones are added to them. */
  function take(): Batch | undefined {
    const failing = new Set(writer.begun().map(({ tenantId }) => tenantId));
    for (const [tenantId, counts] of waiting) {
      if (failing.has(tenantId)) continue;
      waiting.delete(tenantId);
      // The clock may stand still or go back; the numbers must not.
      lastBatch = Math.max(now().getTime(), lastBatch + 1);
      return { tenantId, counts, number: lastBatch };
    }
    return undefined;
  }

  const writer: BatchWriter<Batch> = createBatchWriter<Batch>({
    delayMs,
    isIndependent: true,
    take,
    write: (batch) => database.tenant(batch.tenantId).interactive.all(statementOf(writerId, batch)),
    onRefused: (err, { tenantId }) => log.error({ err, tenantId }, 'the database refused the usage of credentials'),
    onFailing: (err) => log.warn({ err }, 'the usage of credentials could not be written; retrying'),
  });

  return {
    record({ tenantId, credentialId: id, operation, isError, ip }) {
      const at = now();
      const hour = new Date(Math.floor(at.getTime() / hourMs) * hourMs).toISOString();
      const { byHour, totals } = countsOf(tenantId);
      const errors = isError ? 1 : 0;
      add(byHour, `${id} ${hour} ${operation}`, { id, hour, operation, requests: 1, errors });
      add(totals, id, { requests: 1, errors, usedAt: at.toISOString(), ip });
      writer.wake();
    },
    close: () => writer.close(),
  };
}

/** Counts are added; the time and address of the last use come from the newer value. */
function add<Counted extends Count>(map: Map<string, Counted>, key: string, value: Counted): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, value);
  else {
    const sum = { requests: known.requests + value.requests, errors: known.errors + value.errors };
    map.set(key, { ...value, ...sum });
  }
}

function statementOf(writer: string, { tenantId, counts: { byHour, totals }, number }: Batch): Query<never> {
  const hours = [...byHour.entries()].toSorted(byKey).map(([, row]) => row);
  const sums = [...totals.entries()].toSorted(byKey);
  return addUsage({
    tenantId,
    writer,
    batch: number,
    totals: {
      ids: sums.map(([id]) => id),
      requests: sums.map(([, sum]) => sum.requests),
      errors: sums.map(([, sum]) => sum.errors),
      usedAt: sums.map(([, sum]) => sum.usedAt),
      usedIps: sums.map(([, sum]) => sum.ip),
    },
    hours: {
      ids: hours.map((row) => row.id),
      hours: hours.map((row) => row.hour),
      operations: hours.map((row) => row.operation),
      requests: hours.map((row) => row.requests),
      errors: hours.map((row) => row.errors),
    },
  });
}

function byKey([left]: [string, unknown], [right]: [string, unknown]): number {
  return left < right ? -1 : 1;
}
