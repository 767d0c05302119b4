import { coalesce } from '#core/base/concurrency/coalesce';
import { newId } from '#core/base/crypto/ids';
import { createRangeTable, clientNetwork, type RangeEntry, type RangeTable } from '#core/base/net/ranges';
import { createBatchWriter } from '#core/data/background/batch-writer';
import { createRetry } from '#core/data/background/retry';
import type { Database } from '#core/data/db/database';
import type { Log } from '#core/data/log/log';
import {
  announceRules,
  blockAutomatically,
  listRulesInEffect,
  type IpRuleRow,
} from '#core/platform/limits/address-rules.queries';

/** The rules for addresses as this process knows them. */
export type AddressRules = {
  isAllowed(address: string): boolean;
  isBlocked(address: string): boolean;
  /** Blocks the network of the address: at once in this process; in others, and in the list for administrators, a moment later. */
  block(address: string, durationMs: number): void;
  /** Reads the rules again, and retries in the background. Resolves after the first attempt. */
  reload(): Promise<void>;
  close(): Promise<void>;
};

type Options = { database: Database; log: Log; now(): Date; retryMs?: number };

const maxRules = 100_000;
const maxWaiting = 10_000;
const batchSize = 1000;

export function createAddressRules({ database, log, now, retryMs = 1000 }: Options): AddressRules {
  let tables = toTables([]);
  /** Blocked here, and not yet read back from the database. */
  const localBlocks = new Map<string, RangeEntry>();
  const retry = createRetry(() => reload(), retryMs);
  const clock = () => now().getTime();
  /** A block that was set again meanwhile stays. */
  function forget(batch: readonly RangeEntry[]): void {
    for (const entry of batch) if (localBlocks.get(entry.range) === entry) localBlocks.delete(entry.range);
  }

  async function read(): Promise<void> {
    try {
      const rows = await database
        .platform()
        .interactive.all(listRulesInEffect({ now: now().toISOString(), max: maxRules }));
      if (rows.length === maxRules) log.warn({ maxRules }, 'not all address rules are applied: there are too many');
      tables = toTables(rows);
    } catch (error) {
      if (retry.later()) log.warn({ err: error }, 'address rules could not be read; the current ones stay in effect');
    }
  }

  // One at a time, so that an older answer never replaces a newer one.
  const reload = coalesce(read);
  const writer = createBatchWriter<readonly RangeEntry[]>({
    delayMs: 100,
    take: () => (localBlocks.size === 0 ? undefined : [...localBlocks.values()].slice(0, batchSize)),
    // A stored block stays in effect here until it was read back.
    write: async (batch) => {
      await store(database, batch, now().toISOString());
      await reload();
      forget(batch);
    },
    onRefused(err, batch) {
      log.error({ err }, 'the database refused blocked addresses');
      forget(batch);
    },
    onFailing: (err) => log.warn({ err }, 'blocked addresses could not be written; retrying'),
  });

  return {
    isAllowed: (address) => tables.allow.covers(address, clock),
    isBlocked: (address) => {
      const local = localBlocks.size > 0 ? localBlocks.get(clientNetwork(address)) : undefined;
      return (local?.expiresAt ?? 0) > clock() || tables.block.covers(address, clock);
    },
    block(address, durationMs) {
      if (localBlocks.size >= maxWaiting) return;
      const range = clientNetwork(address);
      localBlocks.set(range, { range, expiresAt: clock() + durationMs });
      writer.wake();
    },
    reload,
    close: () => {
      retry.close();
      return writer.close();
    },
  };
}

type Rule = Pick<IpRuleRow, 'range' | 'action' | 'expires_at'>;

function toTables(rules: readonly Rule[]): Record<IpRuleRow['action'], RangeTable> {
  return { allow: tableOf(rules, 'allow'), block: tableOf(rules, 'block') };
}

function tableOf(rows: readonly Rule[], action: IpRuleRow['action']): RangeTable {
  const entries = rows
    .filter((row) => row.action === action)
    .map((row) => ({ range: row.range, expiresAt: row.expires_at === null ? Infinity : Date.parse(row.expires_at) }));
  return createRangeTable(entries);
}

function store(database: Database, entries: readonly RangeEntry[], at: string): Promise<unknown> {
  const rows = JSON.stringify(entries.map((entry) => automaticRule(entry, at)));
  return database.platform().interactive.batch([blockAutomatically({ rows }), announceRules()]);
}

function automaticRule({ range, expiresAt }: RangeEntry, at: string) {
  return {
    id: newId(),
    range,
    action: 'block',
    source: 'automatic',
    reason: 'Too many requests, again and again.',
    expires_at: new Date(expiresAt).toISOString(),
    created_at: at,
    updated_at: at,
  };
}
