import path from 'node:path';
import type pg from 'pg';

import { parseKey, type Config } from '#app/config';
import { readOrCreateKey } from '#app/secrets-file';
import { StartError } from '#app/start-errors';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#core/data/db/embedded/index';
import type { Log } from '#core/data/log/log';

/** Connections and keys to use the database and to read encrypted values. */
export type DatabaseAccess = {
  connection: pg.ClientConfig;
  pooledConnection?: pg.ClientConfig | undefined;
  encryptionKeys: [Buffer, ...Buffer[]];
};

/** Enough for a worker, with a reserve for tasks that open a separate connection. */
const connectionsPerProcess = 40;

/** The server in DATA_DIR; undefined if DATABASE_URL names another one. */
export async function openEmbeddedDatabase(config: Config, log: Log): Promise<EmbeddedPostgres | undefined> {
  if (config.DATABASE_URL !== undefined) return undefined;
  // While workers are replaced, there may be twice as many.
  const connections = connectionsPerProcess * (2 * config.WORKERS + 1);
  return startEmbeddedPostgres({
    dataDir: path.resolve(config.DATA_DIR),
    ...(config.WORKERS === 1 ? {} : { settings: { max_connections: String(connections) } }),
    onLog: (line) => log.child({ service: 'database' }).debug({ postgres: line }, 'PostgreSQL'),
    onFatal: (error) => {
      process.stderr.write(`atrium: ${error.message}\n`);
      process.exit(1);
    },
  });
}

/** @throws StartError when a key is missing or damaged. */
export async function databaseAccess(config: Config, embedded: EmbeddedPostgres | undefined): Promise<DatabaseAccess> {
  if (embedded !== undefined) {
    const key = config.ENCRYPTION_KEY ?? (await readOrCreateKey(path.resolve(config.DATA_DIR)));
    return { connection: embedded.connection, encryptionKeys: keysOf(key, config) };
  }
  if (config.ENCRYPTION_KEY === undefined) {
    throw new StartError(
      'ENCRYPTION_KEY is required together with DATABASE_URL. Create one with: openssl rand -base64 32',
    );
  }
  const pooled: pg.ClientConfig = { connectionString: config.DATABASE_URL! };
  const direct = config.DATABASE_DIRECT_URL;
  return {
    connection: direct === undefined ? pooled : { connectionString: direct },
    pooledConnection: direct === undefined ? undefined : pooled,
    encryptionKeys: keysOf(config.ENCRYPTION_KEY, config),
  };
}

function keysOf(current: string | undefined, config: Config): [Buffer, ...Buffer[]] {
  const previous = config.ENCRYPTION_KEY_PREVIOUS === undefined ? undefined : parseKey(config.ENCRYPTION_KEY_PREVIOUS);
  const key = current === undefined ? undefined : parseKey(current);
  if (key === undefined) {
    throw new StartError('The encryption key in DATA_DIR/secrets.json is damaged: restore the file from a backup.');
  }
  return previous === undefined ? [key] : [key, previous];
}
