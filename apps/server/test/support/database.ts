import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { Query } from '#core/data/db/query';

/** An empty database of its own on the shared server; the service migrates it when it starts. */
export async function createDatabase(): Promise<{ connection: pg.ClientConfig; drop: () => Promise<unknown> }> {
  const owner = inject('connection');
  const name = `atrium_${newId().replaceAll('-', '_')}`;
  await withClient(owner, (client) => client.query(`create database ${name}`));
  return {
    connection: { ...owner, database: name },
    drop: () => withClient(owner, (client) => client.query(`drop database if exists ${name} with (force)`)),
  };
}

/** Runs statements as the owner of the database, whom no policy holds back. */
export async function withClient<Result>(
  connection: pg.ClientConfig,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

type Asks = { all(query: Query<unknown>): Promise<unknown[]> };

/**
 * Until so many wait for the very transaction. `pg_locks`, because within a transaction `pg_stat_activity` stays as it was first
 * looked at; with an end, because who has waited too long is gone again.
 */
export async function untilBlocked(tx: Asks, count = 1): Promise<void> {
  const text = `select distinct pid from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))`;
  const deadline = Date.now() + 10_000;
  while ((await tx.all({ kind: 'write', text, values: [], prepare: false })).length < count) {
    if (Date.now() > deadline) throw new Error(`never did ${count} wait for this transaction`);
  }
}

/** The owner of the database for all tests of a file, so that the tests share one connection. */
export function useOwner(connection: () => pg.ClientConfig): () => pg.Client {
  let client: pg.Client | undefined;
  beforeAll(async () => {
    client = new pg.Client(connection());
    await client.connect();
  });
  afterAll(() => client?.end());
  return () => client!;
}

/** Ends the connection of what waits for a lock of the transaction; it may be on its way to another connection just now. */
export async function endBlocked(tx: Asks): Promise<void> {
  const text = `select pg_terminate_backend(pid) from (select distinct pid from pg_locks
    where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))) as blocked`;
  const deadline = Date.now() + 10_000;
  while ((await tx.all({ kind: 'write', text, values: [], prepare: false })).length === 0) {
    if (Date.now() > deadline) throw new Error('never did anything wait for this transaction');
  }
}

/** The tables of the schema; of a partitioned one only the whole. */
export async function listTables(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
  );
  return rows.map((row) => row.name);
}
