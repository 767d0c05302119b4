import type pg from 'pg';

import type { Attributes, Within } from '#core/base/tracing/tracing';
import { describeDamage, faultOf, type Damage, type DatabaseFaults } from '#core/data/db/faults';
import { refusedText, sendCommit, sendFlight } from '#core/data/db/flight';
import type { LockWaits } from '#core/data/db/lock-waits';
import type { Pool } from '#core/data/db/pool';
import type { Query } from '#core/data/db/query';
import type { Statements, Transaction } from '#core/data/db/scopes';
import { isLockTimeout, isRetryable } from '#core/data/db/sql-state';

/** The ways of a role to the server. */
export type Pools = {
  /** For what certainly answers at once. */
  primary: Pool;
  /** For what may wait for the disk, and for transactions. */
  interactive: Pool;
  /** For what waits for a lock that others hold. */
  locks: Pool;
};

export type ScopeOptions = {
  preparedStatements: boolean;
  explicitTransactions: boolean;
  within: Within | undefined;
  lockWaits: LockWaits;
  faults: DatabaseFaults;
  onDamage(damage: Damage): void;
  onReadOnly(): void;
};

/** The statements with which transactions begin on a pool. */
type Prelude = (pool: keyof Pools) => readonly Query<unknown>[];

const begin: Query<never> = { kind: 'read', text: 'BEGIN', values: [], prepare: true };
const onePlan: Query<never> = { kind: 'read', text: 'select app_one_plan()', values: [], prepare: true };
const maxAttempts = 3;

/** A statement that is known to wait for a lock stands in a transaction on a shared connection. */
class WaitsForLockError extends Error {
  override name = 'WaitsForLockError';
}

export class Scope {
  readonly tenantId: string | undefined;
  readonly #pools: Pools;
  readonly #prelude: Prelude;
  readonly #options: ScopeOptions;

  constructor(pools: Pools, prelude: Prelude, options: ScopeOptions, tenantId: string | undefined) {
    this.#pools = pools;
    this.#prelude = prelude;
    this.#options = options;
    this.tenantId = tenantId;
  }

  async all(query: Query<unknown>): Promise<unknown[]> {
    return (await this.batch([query]))[0]!;
  }

  async first(query: Query<unknown>): Promise<unknown> {
    return (await this.batch([query]))[0]![0];
  }

  batch(queries: readonly Query<unknown>[]): Promise<unknown[][]> {
    return this.#fly('primary', queries);
  }

  get interactive(): Statements {
    const batch = (queries: readonly Query<unknown>[]) => this.#fly('interactive', queries);
    return {
      batch,
      all: async (query: Query<unknown>) => (await batch([query]))[0]!,
      first: async (query: Query<unknown>) => (await batch([query]))[0]![0],
    } as unknown as Statements;
  }

  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    const { within } = this.#options;
    const run = () => retried(() => this.#interactiveAside(work));
    return within === undefined ? run() : within({ name: 'TRANSACTION', attributes: ofPostgresql }, run);
  }

  #fly(pool: keyof Pools, queries: readonly Query<unknown>[]): Promise<unknown[][]> {
    const { within, lockWaits } = this.#options;
    const run = () => retried(() => this.#flyOn(lockWaits.areHeld(queries) ? 'locks' : pool, queries));
    return within === undefined ? run() : within(describeFlight(queries), run);
  }

  // A query that waits for a lock would block all queries behind it, so it runs on connections reserved for that.
  #flyOn(pool: keyof Pools, queries: readonly Query<unknown>[]): Promise<unknown[][]> {
    const prelude = this.#prelude(pool);
    const first = queries.some((query) => query.onePlan === true) ? [...prelude, onePlan] : prelude;
    const list = this.#wire([...first, ...queries]);
    return new Promise((resolve, reject) => {
      this.#pools[pool].submit(this.tenantId ?? '', {
        reject,
        run: (client, done) => {
          const sentAt = pool === 'locks' ? performance.now() : 0;
          const settle = (error: Error | null, rows: unknown[][]) => {
            if (error !== null) this.#note(error);
            else if (pool === 'locks') this.#options.lockWaits.passed(queries, performance.now() - sentAt);
            done();
            if (error === null) resolve(rows.slice(first.length));
            else if (pool !== 'locks' && isLockTimeout(error)) resolve(this.#flyOn('locks', queries));
            else reject(error);
          };
          if (this.#options.explicitTransactions) flyExplicitly(client, list, settle);
          else sendFlight(client, list, settle);
        },
      });
    });
  }

  #note(error: Error): void {
    const kind = faultOf(error);
    if (kind === undefined) return;
    const { faults, lockWaits, onDamage, onReadOnly } = this.#options;
    faults.note(kind);
    const text = refusedText(error);
    if (kind === 'read_only') onReadOnly();
    if (kind === 'lock_timeout' && text !== undefined) lockWaits.note(text);
    if (kind === 'damaged') onDamage(describeDamage(error, text ?? ''));
  }

  #wire(queries: readonly Query<unknown>[]): readonly Query<unknown>[] {
    if (this.#options.preparedStatements) return queries;
    return queries.map((query) => ({ ...query, prepare: false }));
  }

  async #interactiveAside<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    // Independent of how the work handles an error: what counts is that a statement did not get its lock.
    const state = { waits: false };
    try {
      return await this.#interactive('interactive', work, state);
    } catch (error) {
      if (!state.waits) throw error;
    }
    return this.#interactive('locks', work, { waits: false });
  }

  #interactive<Result>(
    pool: 'interactive' | 'locks',
    work: (tx: Transaction) => Promise<Result>,
    state: { waits: boolean },
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#pools[pool].submit(this.tenantId ?? '', {
        reject,
        run: (client, done) => {
          const run = this.#runner(client, pool, state);
          const tx = {
            all: async (query: Query<unknown>) => (await run([query]))[0]!,
            first: async (query: Query<unknown>) => (await run([query]))[0]![0],
          } as unknown as Transaction;
          run([begin, ...this.#prelude(pool)])
            .then(() => work(tx))
            .then(async (result) => {
              if (state.waits) throw new WaitsForLockError();
              await sendCommit(client);
              return result;
            })
            .catch(async (error: unknown) => {
              await client.query('ROLLBACK').catch(() => undefined);
              throw error;
            })
            .finally(done)
            .then(resolve, reject);
        },
      });
    });
  }

  /** Sends statements of a transaction, and notes where one cannot have its lock. */
  #runner(client: pg.Client, pool: 'interactive' | 'locks', state: { waits: boolean }) {
    const { lockWaits } = this.#options;
    return async (queries: readonly Query<unknown>[]): Promise<unknown[][]> => {
      if (pool === 'interactive' && lockWaits.areHeld(queries)) {
        state.waits = true;
        throw new WaitsForLockError();
      }
      const sentAt = pool === 'locks' ? performance.now() : 0;
      try {
        const rows = await send(client, this.#wire(queries));
        if (pool === 'locks') lockWaits.passed(queries, performance.now() - sentAt);
        return rows;
      } catch (error) {
        this.#note(error as Error);
        state.waits ||= isLockTimeout(error);
        throw error;
      }
    };
  }
}

const ofPostgresql: Attributes = { 'db.system.name': 'postgresql' };

/** Verbs only: texts hold no values, but they are long. */
function describeFlight(queries: readonly Query<unknown>[]): { name: string; attributes: Attributes } {
  const verbs = new Set(queries.map(({ text }) => /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'UNKNOWN'));
  const words = verbs.size === 1 ? ` ${[...verbs][0]}` : '';
  const name = queries.length > 1 ? `BATCH${words}` : words.trim();
  const size = queries.length > 1 ? { 'db.operation.batch.size': queries.length } : {};
  return { name, attributes: { ...ofPostgresql, 'db.operation.name': name, ...size } };
}

function send(client: pg.Client, queries: readonly Query<unknown>[]): Promise<unknown[][]> {
  return new Promise((resolve, reject) => {
    sendFlight(client, queries, (error, rows) => (error === null ? resolve(rows) : reject(error)));
  });
}

// Two submissions in one tick: COMMIT has a Sync of its own, so that after an error it acts as ROLLBACK.
function flyExplicitly(
  client: pg.Client,
  queries: readonly Query<unknown>[],
  settle: (error: Error | null, results: unknown[][]) => void,
): void {
  const flown = send(client, [begin, ...queries]);
  void Promise.allSettled([flown, sendCommit(client)]).then(([work, end]) => {
    if (work.status === 'rejected') settle(work.reason as Error, []);
    else if (end.status === 'rejected') settle(end.reason as Error, []);
    else settle(null, work.value.slice(1));
  });
}

async function retried<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let count = 1; ; count++) {
    try {
      return await attempt();
    } catch (error) {
      if (count >= maxAttempts || !isRetryable(error)) throw error;
    }
  }
}
