import path from 'node:path';
import type pg from 'pg';

import { startHousekeeping, type Housekeeping } from '#app/housekeeping';
import { ConfigError, parseKey, readConfig, type Config } from '#app/config';
import { readOrCreateKey } from '#app/secrets-file';
import { createService, publicUrlOf, type Service } from '#app/service';
import { EmbeddedPostgresError, startEmbeddedPostgres, type EmbeddedPostgres } from '#core/db/embedded/index';
import { MigrationError } from '#core/db/migrate';
import { isUnavailable } from '#core/db/sql-state';
import { createLogging, type Log } from '#core/log/log';

const drainTimeoutMs = 15_000;

/** A start that cannot succeed; the message is one line that says what to do. */
class StartError extends Error {
  override name = 'StartError';
}

async function main(): Promise<void> {
  const config = readConfig();
  const logging = createLogging({ level: config.LOG_LEVEL });
  const { log } = logging;
  const dataDir = path.resolve(config.DATA_DIR);
  let embedded: EmbeddedPostgres | undefined;
  let service: Service | undefined;
  let housekeeping: Housekeeping | undefined;
  // From the first moment on: ended by a signal during the start, Node would leave the embedded PostgreSQL behind.
  const stop = stopOnce(async () => {
    await housekeeping?.close();
    await service?.close();
    await embedded?.stop();
  });
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
  try {
    if (config.DATABASE_URL === undefined) embedded = await startEmbedded(dataDir, log);
    const access = await databaseAccess(config, dataDir, embedded);
    service = await createService({ config, logging, ...access });
    await service.http.listen({ host: config.HOST, port: config.PORT }).catch((error: unknown) => {
      throw listenError(error, config);
    });
    housekeeping = startHousekeeping(service.services, access.connection);
  } catch (error) {
    await service?.close().catch(() => undefined);
    await embedded?.stop();
    throw error;
  }
  announce(service, config, embedded === undefined ? undefined : dataDir);
}

function startEmbedded(dataDir: string, log: Log): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({
    dataDir,
    onLog: (line) => log.child({ service: 'database' }).debug({ postgres: line }, 'PostgreSQL'),
    onFatal: (error) => {
      process.stderr.write(`atrium: ${error.message}\n`);
      process.exit(1);
    },
  });
}

async function databaseAccess(config: Config, dataDir: string, embedded: EmbeddedPostgres | undefined) {
  if (embedded !== undefined) {
    const key = config.ENCRYPTION_KEY ?? (await readOrCreateKey(dataDir));
    return { connection: embedded.connection, encryptionKeys: keysOf(key, config) };
  }
  if (config.ENCRYPTION_KEY === undefined) {
    throw new StartError(
      'ENCRYPTION_KEY is required together with DATABASE_URL. Make one with: openssl rand -base64 32',
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

function announce(service: Service, config: Config, dataDir: string | undefined): void {
  const address = service.http.server.address();
  const port = typeof address === 'object' ? (address?.port ?? config.PORT) : config.PORT;
  const base = publicUrlOf({ ...config, PORT: port });
  const lines = [
    `Atrium ${service.services.settings.version} serves on ${base}`,
    `API reference  ${base}/docs`,
    dataDir === undefined ? 'Database       DATABASE_URL' : `Data folder    ${dataDir}`,
  ];
  if (service.generatedPassword !== undefined) {
    lines.push(`System admin   ${config.SYSTEM_ADMIN_EMAIL}  password ${service.generatedPassword}  (shown this once)`);
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}

function stopOnce(close: () => Promise<void>): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  return () =>
    (stopping ??= (async () => {
      // A request that never ends must not keep the process from ending.
      setTimeout(() => process.exit(1), drainTimeoutMs).unref();
      await close();
      process.exit(0);
    })());
}

function listenError(error: unknown, config: Config): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new StartError(`Port ${config.PORT} on ${config.HOST} is taken: stop what uses it or set PORT to another.`);
  if (code === 'EACCES')
    return new StartError(`Port ${config.PORT} needs more rights than this user has: set PORT to 1024 or above.`);
  if (code === 'EADDRNOTAVAIL') return new StartError(`HOST ${config.HOST} is no address of this machine.`);
  return error as Error;
}

function startFailure(error: unknown): string {
  const foreseen = [ConfigError, StartError, MigrationError, EmbeddedPostgresError].some(
    (type) => error instanceof type,
  );
  if (foreseen) return (error as Error).message;
  const { code, message } = error as NodeJS.ErrnoException;
  if (isUnavailable(error) || /^(28|3D)/.test(code ?? '')) {
    return `Cannot use the database of DATABASE_URL or DATABASE_DIRECT_URL: ${message}`;
  }
  return (error as Error).stack ?? String(error);
}

main().catch((error: unknown) => {
  process.stderr.write(`atrium: ${startFailure(error)}\n`);
  process.exit(1);
});
