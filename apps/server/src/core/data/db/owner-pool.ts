import pg from 'pg';

import { ConnectionLostError } from '#core/data/db/connection';

/** A few connections as the owner of the database, for a library that brings statements of its own. */
export type OwnerPool = {
  /** @throws ConnectionLostError when the database cannot be reached, or does not answer */
  run(text: string, values?: unknown[]): Promise<pg.QueryResult>;
  close(): Promise<void>;
};

/** Connection of the owner to the database itself, without a pooler. */
export type OwnerConnection = pg.ClientConfig;

type Options = { connection: OwnerConnection; name: string; size: number };

const timeoutMs = 60_000;
// What the library says without a code.
const noConnection = /^(timeout exceeded when trying to connect|Query read timeout)/;

/** Opens connections on demand, and closes idle ones. */
export function openOwnerPool({ connection, name, size }: Options): OwnerPool {
  const pool = new pg.Pool({
    ...connection,
    application_name: name,
    max: size,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
    statement_timeout: timeoutMs,
    // A frozen server never answers: without this timeout the caller would wait for ever.
    query_timeout: timeoutMs + 5000,
  });
  // A connection that breaks is told of by the statement under way; without a listener Node would exit first.
  pool.on('error', () => undefined);
  const run = (text: string, values?: unknown[]) =>
    pool.query(text, values).catch((error: Error) => {
      if (!noConnection.test(error.message)) throw error;
      throw new ConnectionLostError('cannot connect', { cause: error });
    });
  return { run, close: () => pool.end() };
}
