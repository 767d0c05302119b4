import { realpathSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';

/** The embedded database of a service, as its owner. */
export function embeddedIn(dataDir: string): pg.ClientConfig {
  return { host: realpathSync(path.join(dataDir, 'postgres')), user: 'atrium', database: 'atrium' };
}

/** One statement on a connection of its own. */
export async function onDatabase(connection: pg.ClientConfig, statement: string, values?: unknown[]): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await client.query(statement, values);
  } finally {
    await client.end();
  }
}
