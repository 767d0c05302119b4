import type { Query } from '#core/db/query';

declare const scope: unique symbol;

/** Statements inside one interactive transaction, on a connection of its own. */
export type Transaction = {
  all<Row>(query: Query<Row>): Promise<Row[]>;
  first<Row>(query: Query<Row>): Promise<Row | undefined>;
};

/** The rows of a flight, statement by statement. */
export type FlightRows<Queries extends readonly Query<unknown>[]> = {
  [At in keyof Queries]: Queries[At] extends Query<infer Row> ? Row[] : never;
};

/** One network flight = one transaction: all statements take effect or none does. */
export type Statements = {
  /** All rows of one statement. */
  all<Row>(query: Query<Row>): Promise<Row[]>;
  /** The first row of one statement, if there is one. */
  first<Row>(query: Query<Row>): Promise<Row | undefined>;
  /** Several statements, atomic, in one round trip. */
  flight<const Queries extends readonly Query<unknown>[]>(queries: Queries): Promise<FlightRows<Queries>>;
};

type Access = Statements & {
  /** The same on connections of their own: writes, which wait for disk and locks, and reads of unknown length. */
  readonly slow: Statements;
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

/** What is left of ONE tenant whose time is over: may look at its rows and delete them, the audit trail included. */
export type PurgeDb = Access & { readonly tenantId: string; readonly [scope]: 'purge' };
