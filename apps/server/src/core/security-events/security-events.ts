import { createFlusher } from '#core/background/flusher';
import { newId } from '#core/crypto/ids';
import type { Database } from '#core/db/database';
import { isRefusedForGood } from '#core/db/sql-state';
import type { Log } from '#core/log/log';
import {
  insertSecurityEvents,
  type SecurityEventRow,
  type SecurityEventType,
} from '#core/security-events/security-events.queries';

/** What happened (specification, "Security audit event"); `details` never hold a secret or an address that was typed in. */
export type SecurityEvent = {
  type: SecurityEventType;
  tenantId: string | null;
  userId: string | null;
  details: Record<string, unknown>;
};

/** Keeps the trail that system administrators watch; written in batches beside the requests. */
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

  async function write(): Promise<void> {
    if (dropped > 0) log.warn({ dropped }, 'security events came faster than they could be written');
    dropped = 0;
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchSize);
      await insert(batch);
      waiting.splice(0, batch.length);
    }
  }

  /** One that is refused for good is given up alone; what a failure in between leaves is tried again, and is there once. */
  async function insert(batch: readonly SecurityEventRow[]): Promise<void> {
    try {
      await database.platform().slow.all(insertSecurityEvents({ rows: JSON.stringify(batch, storable) }));
    } catch (error) {
      if (!isRefusedForGood(error)) throw error;
      if (batch.length === 1) {
        log.error({ err: error, eventId: batch[0]!.id }, 'the database refused a security event');
        return;
      }
      const middle = Math.ceil(batch.length / 2);
      await insert(batch.slice(0, middle));
      await insert(batch.slice(middle));
    }
  }

  const onError = (error: unknown) => {
    log.warn({ err: error, waiting: waiting.length }, 'security events could not be written and will be tried again');
  };
  const flusher = createFlusher({ delayMs, write, onError });

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
      flusher.wake();
    },
    close: () => flusher.close(),
  };
}

// One text that PostgreSQL refuses would keep the whole trail from being written, again and again.
function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '') : value;
}
