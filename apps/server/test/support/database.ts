import pg from 'pg';
import { inject } from 'vitest';

import { newId } from '#core/crypto/ids';

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

/** The tables of the schema; of a partitioned one only the whole. */
export async function listTables(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
  );
  return rows.map((row) => row.name);
}
