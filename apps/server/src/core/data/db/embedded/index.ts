import { mkdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { atrium, locateCluster, prepareCluster } from './cluster.ts';
import { answers, chooseEndpoint, setPassword, socketPath } from './endpoint.ts';
import { EmbeddedPostgresError, systemError } from './errors.ts';
import { lockDataDir } from './lock.ts';
import { dropForeignPidFiles, findPostmaster, pidFile, stopOrphan } from './postmaster.ts';
import { findServiceUser } from './processes.ts';
import { provideRuntime, systemFolder } from './runtime.ts';
import { supervise } from './supervisor.ts';

export { EmbeddedPostgresError } from './errors.ts';

export type EmbeddedPostgres = {
  /** What `pg` needs to connect: a socket folder as host, or loopback with a password where sockets are impossible. */
  connection: { host: string; port: number; user: string; database: string; password?: string };
  /** Fast shutdown; resolves when the server process is gone. Idempotent. */
  stop(): Promise<void>;
  /** Last lines that the server wrote, for error messages. */
  stderrTail(): string;
};

export type EmbeddedPostgresOptions = {
  /** Atrium's DATA_DIR; made if missing. The cluster goes into `postgres` in it. */
  dataDir: string;
  /** Each line that the server or its supervisor says. */
  onLog?: (line: string) => void;
  /** The server kept dying and is not started again: nothing is left but to end the process. */
  onFatal?: (error: EmbeddedPostgresError) => void;
  /** Further server settings; they win over ours. */
  settings?: Record<string, string>;
  /** False gives up every promise about crashes for speed: tests only. */
  durable?: boolean;
};

const serverSettings = {
  shared_buffers: '128MB',
  max_connections: '60',
  wal_compression: 'on',
  log_destination: 'stderr',
  logging_collector: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
};
const throwawaySettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
const tailLines = 50;

/**
 * Starts PostgreSQL 18 on the data folder, creating database and superuser `atrium` at first, and keeps it running
 * at the same address until `stop`. Throws EmbeddedPostgresError only.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const folder = resolve(options.dataDir);
  try {
    // Root's PostgreSQL user has to pass through; what is in the folder has modes of its own.
    mkdirSync(folder, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
    const dataDir = realpathSync(folder);
    await assertUnserved(join(dataDir, 'postgres'));
    const lock = lockDataDir(dataDir);
    try {
      return await startLocked(dataDir, lock.release, options);
    } catch (error) {
      lock.release();
      throw error;
    }
  } catch (error) {
    throw systemError(folder, error);
  }
}

async function startLocked(
  dataDir: string,
  release: () => void,
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const { durable = true, onFatal = () => undefined } = options;
  const tail: string[] = [];
  const onLine = (line: string) => {
    tail.push(line);
    if (tail.length > tailLines) tail.shift();
    options.onLog?.(line);
  };

  const serviceUser = findServiceUser();
  const runtime = await provideRuntime(serviceUser, serviceUser ? systemFolder : dataDir);
  const cluster = await locateCluster(dataDir, serviceUser);
  await stopOrphan(cluster.dir, onLine);
  dropForeignPidFiles(cluster.dir, [pidFile(cluster.dir)]);
  await prepareCluster(cluster, runtime, durable);
  const endpoint = await chooseEndpoint(dataDir, cluster);
  await setPassword(cluster, endpoint.connection.password, runtime);

  const settings = {
    ...serverSettings,
    ...(durable ? {} : throwawaySettings),
    ...options.settings,
    ...endpoint.settings,
  };
  const pidFiles = [pidFile(cluster.dir), ...endpoint.pidFiles];
  const stop = await supervise({ postgres: runtime.postgres, cluster, settings, pidFiles, onLine, onFatal });
  let stopped: Promise<void> | undefined;
  return {
    connection: { ...endpoint.connection, user: atrium, database: atrium },
    stop: () => (stopped ??= stop().finally(release)),
    stderrTail: () => tail.join('\n'),
  };
}

/**
 * A server that answers though none of the processes we can see is it runs in another container on the same volume.
 * Asked before the lock is taken, which would look stale for the same reason.
 */
async function assertUnserved(dir: string): Promise<void> {
  for (const deadline = Date.now() + 2000; await answers(socketPath(dir)); await sleep(10)) {
    if (findPostmaster(realpathSync(dir)) !== undefined) return;
    if (Date.now() < deadline) continue;
    throw new EmbeddedPostgresError(
      'DATA_DIR_IN_USE',
      `The database in ${dir} is in use by a server in another container: stop that one or choose another DATA_DIR.`,
    );
  }
}
