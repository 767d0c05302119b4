import { setTimeout as sleep } from 'node:timers/promises';

import type { RequestFacts } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { insertGroup, openChain } from '#core/data/audit/audit-groups.queries';
import { chainSlot, toAuditRow, type AuditEvent, type Who } from '#core/data/audit/audit.queries';
import type { Database } from '#core/data/db/database';
import { isRefusedForGood, isUnavailable, violatedConstraint } from '#core/data/db/sql-state';
import type { Log } from '#core/data/log/log';

type By = Who & { request: RequestFacts };

/**
 * Audit rows of events that change nothing else: those of a tenant that come while others of it are being written share the
 * next statement and its commit, so that a row costs a fraction of one.
 */
export type AuditGroups = {
  /** Resolves once the row is committed. */
  record(who: By, at: string, event: AuditEvent): Promise<void>;
  /**
   * For rows that no request waits for: the row is written soon, with retries until the database accepts it. Resolves at
   * once; if very many rows wait already, once it is stored. Under load, rows that differ only in time and request
   * become one, whose `details.furtherRequestIds` names the other requests.
   * @throws the errors of `record`, if very many rows wait already
   */
  follow(who: By, at: string, event: AuditEvent): Promise<void>;
  /** Resolves once all rows of a tenant that this process has taken so far are stored: for readers of its trail. */
  settled(tenantId: string): Promise<void>;
  close(): Promise<void>;
};

type Row = ReturnType<typeof toAuditRow>;
type Waiting = { row: Row; resolve(): void; reject(error: unknown): void };

/** Of one tenant, in the order of their arrival; `alike` has rows of these that others may join, by what they have in common. */
type Group = { waiting: Waiting[]; last: Promise<void>; hurry(): void; alike: Map<string, Joined> };
type Joined = { row: Row; further: unknown[] };

type Options = {
  database: Pick<Database, 'tenant'>;
  log: Pick<Log, 'error'>;
  retryMs?: number;
  maxFollowing?: number;
};

/** Few enough that a transaction holds the end of its chain only for a moment. */
const maxAtOnce = 200;
/** Pause between two statements for rows that no request waits for. */
const paceMs = 25;
/** With this many rows waiting, the caller waits too: one call after the other then adds one row each. */
const crowd = 20;
/** Maximum number of requests that join one row. */
const maxFurther = 50;

/** The same for all, because most calls of a tool end with it. */
const taken = Promise.resolve();

export function createAuditGroups({ database, log, retryMs = 1000, maxFollowing = 10_000 }: Options): AuditGroups {
  const insert = createInsertion(database);
  const awaited = createGroupWriter(insert, 0);
  const following = createGroupWriter(insert, paceMs);
  const pending = new Set<Promise<void>>();
  const closing = new AbortController();

  async function keep(tenantId: string, row: Row): Promise<void> {
    for (;;) {
      try {
        return await following.add(tenantId, row);
      } catch (error) {
        // It had been written after all.
        if (violatedConstraint(error)?.endsWith('_pkey') === true) return;
        if (!isUnavailable(error) || closing.signal.aborted)
          return log.error({ err: error, row }, 'an audit event was lost');
        await sleep(retryMs, undefined, { signal: closing.signal }).catch(() => undefined);
      }
    }
  }

  return {
    record: (who, at, event) => awaited.add(who.tenantId, toAuditRow(who, at, event)),
    follow(who, at, event) {
      const row = toAuditRow(who, at, event);
      if (following.join(row)) return taken;
      if (pending.size >= maxFollowing) return awaited.add(who.tenantId, row);
      const stored = keep(who.tenantId, row).finally(() => pending.delete(stored));
      pending.add(stored);
      return taken;
    },
    settled: (tenantId) => following.settled(tenantId),
    async close() {
      closing.abort();
      await Promise.all(pending);
    },
  };
}

type Insert = (tenantId: string, group: readonly Waiting[]) => Promise<void>;

function createInsertion(database: Pick<Database, 'tenant'>): Insert {
  return async function insert(tenantId, group) {
    // One chain for all of them: transactions that locked several could wait for each other in a circle.
    const chain = { tenantId, slot: chainSlot(newId()) };
    const insertion = insertGroup({ ...chain, rows: JSON.stringify(group.map(({ row }) => row)) });
    const { interactive } = database.tenant(tenantId);
    try {
      const [written] = await interactive.all(insertion);
      if (written === undefined) await interactive.batch([openChain(chain), insertion]);
      for (const { resolve } of group) resolve();
    } catch (error) {
      // One that is refused must not take the others along.
      if (group.length > 1 && isRefusedForGood(error)) await Promise.all(group.map((one) => insert(tenantId, [one])));
      else for (const { reject } of group) reject(error);
    }
  };
}

function createGroupWriter(insert: Insert, pauseMs: number) {
  const groups = new Map<string, Group>();

  async function write(tenantId: string, group: Group): Promise<void> {
    while (group.waiting.length > 0) {
      const { promise: hurried, resolve: hurry } = Promise.withResolvers<void>();
      group.hurry = hurry;
      group.alike.clear();
      await insert(tenantId, group.waiting.splice(0, maxAtOnce));
      if (pauseMs > 0 && group.waiting.length < maxAtOnce) await Promise.race([sleep(pauseMs), hurried]);
    }
    groups.delete(tenantId);
  }

  return {
    add(tenantId: string, row: Row): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const one = { row, resolve, reject };
      const group = groups.get(tenantId);
      if (group === undefined) {
        const begun: Group = { waiting: [one], last: promise, hurry: () => undefined, alike: new Map() };
        groups.set(tenantId, begun);
        // Entries that arrive in the same turn of the event loop join the group.
        setImmediate(() => void write(tenantId, begun));
      } else {
        group.waiting.push(one);
        group.last = promise;
      }
      return promise;
    },
    /** @returns whether another row that waits names the request of this one, which then is not to be added */
    join(row: Row): boolean {
      const group = groups.get(row.tenant_id);
      if (group === undefined || group.waiting.length < crowd) return false;
      const details = { ...row.details, requestId: undefined };
      const key = JSON.stringify({ ...row, id: undefined, created_at: undefined, details });
      const alike = group.alike.get(key);
      if (alike === undefined || alike.further.length === maxFurther) {
        group.alike.set(key, { row, further: [] });
        return false;
      }
      alike.further.push(row.details?.requestId);
      alike.row.details = { ...alike.row.details, furtherRequestIds: alike.further };
      return true;
    },
    async settled(tenantId: string): Promise<void> {
      const group = groups.get(tenantId);
      group?.hurry();
      await group?.last.catch(() => undefined);
    },
  };
}
