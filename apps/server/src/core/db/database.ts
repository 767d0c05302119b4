import type pg from 'pg';

import { sendCommit, sendFlight } from '#core/db/flight';
import { Lane, type LaneLoad } from '#core/db/lane';
import type { Query } from '#core/db/query';
import type { CredentialDb, PlatformDb, PurgeDb, Statements, TenantDb, Transaction } from '#core/db/scopes';
import { isRetryable } from '#core/db/sql-state';
import type { Attributes, Within } from '#core/tracing/tracing';

export const databaseRoles = {
  tenant: 'atrium_tenant',
  platform: 'atrium_platform',
  credential: 'atrium_credential',
  purge: 'atrium_purge',
} as const;

type Kind = keyof typeof databaseRoles;

const slowConnections: Record<Kind, number> = { tenant: 8, platform: 2, credential: 8, purge: 1 };

export type DatabaseOptions = {
  /** The login that owns the schema; every lane steps down from it to its own role. */
  connection: pg.ClientConfig;
  /** A transaction pooler stands between: roles are taken per transaction, not per connection. */
  pooled?: boolean;
  /** Named statements; off for poolers that lose them. */
  preparedStatements?: boolean;
  /** Citus: the tenant reaches the workers only inside BEGIN … COMMIT. */
  explicitTransactions?: boolean;
  statementTimeoutMs?: number;
  /** Told of every flight and transaction of a request. */
  within?: Within | undefined;
};

/** One process's access to PostgreSQL. Only `core/db` can make the scoped types it hands out. */
export type Database = {
  tenant(tenantId: string): TenantDb;
  platform(): PlatformDb;
  /** Without a tenant: global identity tables only. With one: also that tenant's rows, under its policies. */
  credential(tenantId?: string): CredentialDb;
  /** For the end of a tenant and nothing else: its connections open when the first statement comes. */
  purge(tenantId: string): PurgeDb;
  /** How much of the connections is in use, by role. */
  pools(): PoolLoad[];
  close(): Promise<void>;
};

export type PoolLoad = LaneLoad & { role: Kind; lane: 'fast' | 'slow' };

const begin: Query<never> = { text: 'BEGIN', values: [], prepare: true };
const onePlan: Query<never> = { text: 'select app_one_plan()', values: [], prepare: true };
const maxAttempts = 3;

export function openDatabase(options: DatabaseOptions): Database {
  const lanes = {
    tenant: lanePair('tenant'),
    platform: lanePair('platform'),
    credential: lanePair('credential'),
    purge: lanePair('purge'),
  };

  function lanePair(kind: Kind): LanePair {
    const timeoutMs = options.statementTimeoutMs ?? 5000;
    const shared = {
      connection: connectionAs(databaseRoles[kind], options, timeoutMs),
      stallMs: timeoutMs + 5000,
      maxWaitMs: 2000,
      onConnect: options.pooled ? undefined : (client: pg.Client) => assertRole(client, databaseRoles[kind]),
    };
    return {
      fast: new Lane({
        ...shared,
        connection: withGenericPlans(shared.connection),
        size: 2,
        depth: 64,
        maxWaiting: 1000,
      }),
      slow: new Lane({ ...shared, size: slowConnections[kind], depth: 1, maxWaiting: 200 }),
    };
  }

  const scope = (kind: Kind, tenantId?: string) =>
    new Scope(lanes[kind], prelude(kind, tenantId, options), options, tenantId);
  const platform = scope('platform') as unknown as PlatformDb;
  const credential = scope('credential') as unknown as CredentialDb;
  return {
    tenant: (tenantId) => scope('tenant', tenantId) as unknown as TenantDb,
    platform: () => platform,
    credential: (tenantId) =>
      tenantId === undefined ? credential : (scope('credential', tenantId) as unknown as CredentialDb),
    purge: (tenantId) => scope('purge', tenantId) as unknown as PurgeDb,
    pools: () =>
      (Object.keys(lanes) as Kind[]).flatMap((role) => [
        { role, lane: 'fast', ...lanes[role].fast.load() } as const,
        { role, lane: 'slow', ...lanes[role].slow.load() } as const,
      ]),
    close: async () => {
      await Promise.all(Object.values(lanes).flatMap((pair) => [pair.fast.close(), pair.slow.close()]));
    },
  };
}

type LanePair = { fast: Lane; slow: Lane };

type FlightOptions = Pick<DatabaseOptions, 'preparedStatements' | 'explicitTransactions' | 'within'>;

class Scope {
  readonly tenantId: string | undefined;
  readonly #lanes: LanePair;
  readonly #prelude: readonly Query<unknown>[];
  readonly #options: FlightOptions;

  constructor(lanes: LanePair, entry: readonly Query<unknown>[], options: FlightOptions, tenantId: string | undefined) {
    this.#lanes = lanes;
    this.#prelude = entry;
    this.#options = options;
    this.tenantId = tenantId;
  }

  async all(query: Query<unknown>): Promise<unknown[]> {
    return (await this.flight([query]))[0]!;
  }

  async first(query: Query<unknown>): Promise<unknown> {
    return (await this.flight([query]))[0]![0];
  }

  flight(queries: readonly Query<unknown>[]): Promise<unknown[][]> {
    return this.#fly(this.#lanes.fast, queries);
  }

  get slow(): Statements {
    const flight = (queries: readonly Query<unknown>[]) => this.#fly(this.#lanes.slow, queries);
    return {
      flight,
      all: async (query: Query<unknown>) => (await flight([query]))[0]!,
      first: async (query: Query<unknown>) => (await flight([query]))[0]![0],
    } as unknown as Statements;
  }

  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    const { within } = this.#options;
    const run = () => retried(() => this.#interactive(work));
    return within === undefined ? run() : within({ name: 'TRANSACTION', attributes: ofPostgresql }, run);
  }

  async #fly(lane: Lane, queries: readonly Query<unknown>[]): Promise<unknown[][]> {
    const isPlannedOnce = queries.some((query) => query.onePlan === true);
    const first = isPlannedOnce ? [...this.#prelude, onePlan] : this.#prelude;
    const list = this.#wire([...first, ...queries]);
    const { explicitTransactions, within } = this.#options;
    const run = () => retried(() => (explicitTransactions ? flyExplicitly(lane, list) : fly(lane, list)));
    const rows = await (within === undefined ? run() : within(describeFlight(queries), run));
    return rows.slice(first.length);
  }

  #wire(queries: readonly Query<unknown>[]): readonly Query<unknown>[] {
    if (this.#options.preparedStatements ?? true) return queries;
    return queries.map((query) => ({ ...query, prepare: false }));
  }

  #interactive<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#lanes.slow.submit({
        reject,
        run: (client, done) => {
          const run = (queries: readonly Query<unknown>[]) => send(client, this.#wire(queries));
          const tx = {
            all: async (query: Query<unknown>) => (await run([query]))[0]!,
            first: async (query: Query<unknown>) => (await run([query]))[0]![0],
          } as unknown as Transaction;
          run([begin, ...this.#prelude])
            .then(() => work(tx))
            .then(async (result) => {
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

function fly(lane: Lane, queries: readonly Query<unknown>[]): Promise<unknown[][]> {
  return new Promise((resolve, reject) => {
    lane.submit({
      reject,
      run: (client, done) => {
        const settle = (error: Error | null, rows: unknown[][]) => {
          done();
          if (error === null) resolve(rows);
          else reject(error);
        };
        sendFlight(client, queries, settle);
      },
    });
  });
}

// Two submissions in one tick: COMMIT has a Sync of its own, so that after an error it acts as ROLLBACK.
function flyExplicitly(lane: Lane, queries: readonly Query<unknown>[]): Promise<unknown[][]> {
  return new Promise((resolve, reject) => {
    lane.submit({
      reject,
      run: (client, done) => {
        const flown = send(client, [begin, ...queries]);
        void Promise.allSettled([flown, sendCommit(client)]).then(([work, end]) => {
          done();
          if (work.status === 'rejected') reject(work.reason as Error);
          else if (end.status === 'rejected') reject(end.reason as Error);
          else resolve(work.value.slice(1));
        });
      },
    });
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

/** Enters a tenant in the middle of an interactive credential transaction that spans several of a person's tenants. */
export function enterTenant(tenantId: string): Query<never> {
  return { text: 'select app_tenant($1)', values: [tenantId], prepare: true };
}

function prelude(kind: Kind, tenantId: string | undefined, options: DatabaseOptions): readonly Query<unknown>[] {
  const role = options.pooled ? databaseRoles[kind] : undefined;
  if (tenantId !== undefined && role !== undefined) {
    return [{ text: 'select app_enter($1, $2)', values: [role, tenantId], prepare: true }];
  }
  if (tenantId !== undefined) return [enterTenant(tenantId)];
  if (role !== undefined) return [{ text: 'select app_enter($1, null)', values: [role], prepare: true }];
  return [];
}

function connectionAs(role: string, options: DatabaseOptions, timeoutMs: number): pg.ClientConfig {
  const settings = [
    'timezone=UTC',
    `statement_timeout=${timeoutMs}`,
    'lock_timeout=2000',
    'idle_in_transaction_session_timeout=10000',
    `role=${role}`,
  ];
  const base = { ...options.connection, application_name: role, keepAlive: true, connectionTimeoutMillis: 2000 };
  return options.pooled ? base : { ...base, options: settings.map((setting) => `-c ${setting}`).join(' ') };
}

// What flies here has a fixed text and leads with the tenant, so one plan serves all values; left to itself PostgreSQL
// plans a LIMIT parameter anew each time, which costs more than running it.
function withGenericPlans(connection: pg.ClientConfig): pg.ClientConfig {
  if (connection.options === undefined) return connection;
  return { ...connection, options: `${connection.options} -c plan_cache_mode=force_generic_plan` };
}

async function assertRole(client: pg.Client, role: string): Promise<void> {
  const { rows } = await client.query<{ role: string }>('select current_user as role');
  if (rows[0]?.role !== role) {
    throw new Error(
      `the connection came up as "${rows[0]?.role}" instead of "${role}": a pooler drops startup options; ` +
        'set DATABASE_DIRECT_URL to the database itself, then roles are taken per transaction',
    );
  }
}
