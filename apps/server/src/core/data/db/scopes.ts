import type { Query, ReadStatement } from '#core/data/db/query';

declare const scope: unique symbol;

// Properties, not methods: TypeScript compares the parameters of methods in both directions, so the read path would pass as the write path.

/** Statements inside one interactive transaction, on a connection of its own. */
export type Transaction = {
  readonly all: <Row>(query: Query<Row>) => Promise<Row[]>;
  readonly first: <Row>(query: Query<Row>) => Promise<Row | undefined>;
};

/** The rows of a batch, statement by statement. */
type BatchRows<Queries extends readonly Query<unknown>[]> = {
  [At in keyof Queries]: Queries[At] extends Query<infer Row> ? Row[] : never;
};

/** The write path. One pipelined batch is one transaction: all statements take effect or none does. */
export type Statements = {
  /** All rows of one statement. */
  readonly all: <Row>(query: Query<Row>) => Promise<Row[]>;
  /** The first row of one statement, if there is one. */
  readonly first: <Row>(query: Query<Row>) => Promise<Row | undefined>;
  /** Several statements, atomic, in one round trip. */
  readonly batch: <const Queries extends readonly Query<unknown>[]>(queries: Queries) => Promise<BatchRows<Queries>>;
};

/** The read path: only reads, because a statement that waits for a lock or the disk delays all others on its connection. */
export type Reads = {
  readonly all: <Row>(query: ReadStatement<Row>) => Promise<Row[]>;
  readonly first: <Row>(query: ReadStatement<Row>) => Promise<Row | undefined>;
  readonly batch: <const Queries extends readonly ReadStatement<unknown>[]>(
    queries: Queries,
  ) => Promise<BatchRows<Queries>>;
};

type Access = Reads & {
  /** The write path: writes and locks, which wait for the disk and for others, and reads of unknown length. */
  readonly interactive: Statements;
  /** For work that must look at a result before its next statement; retried when PostgreSQL asks for it. */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
};

/** Everything a request may touch of ONE tenant; the database itself hides the rest (row level security). */
export type TenantDb = Access & { readonly tenantId: string; readonly [scope]: 'tenant' };

/** Across tenants, for the modules that administer the installation. */
export type PlatformDb = Access & { readonly [scope]: 'platform' };

/**
 * Accounts, sessions and one-time tokens: what login needs before a tenant is known. With a tenant
 * given, that tenant's rows too, under row level security.
 */
export type CredentialDb = Access & { readonly [scope]: 'credential' };

/** Access to ONE tenant whose grace period has ended: reads and deletes its rows, including the audit trail. */
export type PurgeDb = Access & { readonly tenantId: string; readonly [scope]: 'purge' };
