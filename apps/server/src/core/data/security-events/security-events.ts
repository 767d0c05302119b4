import { newId } from '#core/base/crypto/ids';
import { createBatchWriter } from '#core/data/background/batch-writer';
import type { Database } from '#core/data/db/database';
import type { Log } from '#core/data/log/log';
import {
  insertSecurityEvents,
  type SecurityEventRow,
  type SecurityEventType,
} from '#core/data/security-events/security-events.queries';

/** A security event (specification, "Security audit event"); `details` never hold a secret or an entered e-mail address. */
export type SecurityEvent = {
  type: SecurityEventType;
  tenantId: string | null;
  userId: string | null;
  details: Record<string, unknown>;
};

/** Writes the trail that system administrators watch, in batches independent of the requests. */
export type SecurityEvents = {
  record(event: SecurityEvent): void;
  close(): Promise<void>;
};

type Options = { database: Database; log: Log; now(): Date; delayMs?: number };

/** Beyond this, events are dropped and counted: an attack must not fill the memory. */
const maxWaiting = 10_000;
const batchSize = 1000;

export function createSecurityEvents({ database, log, now, delayMs = 250 }: Options): SecurityEvents {
  const waiting: SecurityEventRow[] = [];
  let dropped = 0;

  const writer = createBatchWriter<SecurityEventRow[]>({
    delayMs,
    take: () => (waiting.length === 0 ? undefined : waiting.splice(0, batchSize)),
    write: (batch) =>
      database.platform().interactive.all(insertSecurityEvents({ rows: JSON.stringify(batch, storable) })),
    split: halves,
    onRefused: (err, [event]) => log.error({ err, eventId: event!.id }, 'the database refused a security event'),
    onFailing: (err) => log.warn({ err }, 'security events could not be written; retrying'),
    onFlushed() {
      if (dropped > 0) log.warn({ dropped }, 'security events came faster than they could be written; some are lost');
      dropped = 0;
    },
  });

  return {
    record({ type, tenantId, userId, details }) {
      if (waiting.length >= maxWaiting) dropped += 1;
      else {
        const at = now();
        waiting.push({
          id: newId(),
          created_at: at.toISOString(),
          event_type: type,
          concerned_tenant_id: tenantId,
          user_id: userId,
          details,
        });
      }
      writer.wake();
    },
    close: () => writer.close(),
  };
}

function halves(batch: SecurityEventRow[]): SecurityEventRow[][] {
  const middle = Math.ceil(batch.length / 2);
  return batch.length === 1 ? [] : [batch.slice(0, middle), batch.slice(middle)];
}

// One text that PostgreSQL refuses would keep the whole trail from being written, again and again.
function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '') : value;
}
