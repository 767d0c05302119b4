import cluster from 'node:cluster';
import type { AddressInfo } from 'node:net';

import { closeEach } from '#app/close-each';
import { readConfig, type Config } from '#app/config';
import { databaseAccess, openEmbeddedDatabase } from '#app/database-access';
import { announce, drainTimeoutMs, listenAt, startServing, type Serving } from '#app/serving';
import { startFailure } from '#app/start-errors';
import { serveAsWorker } from '#app/worker';
import { superviseWorkers } from '#app/workers';
import type { EmbeddedPostgres } from '#core/db/embedded/index';
import { createLogging } from '#core/log/log';

async function main(): Promise<void> {
  const config = readConfig(undefined, process.argv.slice(2));
  if (cluster.isWorker) await serveAsWorker(config);
  else if (config.WORKERS > 1) await superviseWorkers(config);
  else await serveAlone(config);
}

async function serveAlone(config: Config): Promise<void> {
  const logging = createLogging({ level: config.LOG_LEVEL });
  let embedded: EmbeddedPostgres | undefined;
  let serving: Serving | undefined;
  // From the first moment on: ended by a signal during the start, Node would leave the embedded PostgreSQL behind.
  const stop = stopOnce(() => closeEach([() => serving?.close(), () => embedded?.stop()]));
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
  try {
    embedded = await openEmbeddedDatabase(config, logging.log);
    const access = await databaseAccess(config, embedded);
    serving = await startServing({ config, logging, access, open: (http) => listenAt(http, config) });
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
  const { http, services, generatedPassword } = serving.service;
  const { port } = http.server.address() as AddressInfo;
  announce({ version: services.settings.version, port, generatedPassword }, config);
}

function stopOnce(close: () => Promise<void>): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  return () =>
    (stopping ??= (async () => {
      // A request that never ends must not keep the process from ending.
      setTimeout(() => process.exit(1), drainTimeoutMs).unref();
      await close().catch(fail);
      process.exit(0);
    })());
}

function fail(error: unknown): never {
  process.stderr.write(`atrium: ${startFailure(error)}\n`);
  process.exit(1);
}

main().catch(fail);
