import type { AddressInfo } from 'node:net';

import { announce, drainTimeoutMs } from '#app/announcement';
import { closeEach } from '#app/close-each';
import type { Config } from '#app/config';
import { databaseAccess, openEmbeddedDatabase } from '#app/database-access';
import { listenAt, startServing, type Serving } from '#app/serving';
import { endWith } from '#app/start-errors';
import type { EmbeddedPostgres } from '#core/data/db/embedded/index';
import { createLogging } from '#core/data/log/log';

/** Serves with one process. */
export async function serveAlone(config: Config): Promise<void> {
  const logging = createLogging({ level: config.LOG_LEVEL });
  let embedded: EmbeddedPostgres | undefined;
  let serving: Serving | undefined;
  // Handles signals before the start, because a signal during the start would leave the embedded PostgreSQL running.
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
      // A request that never ends must not keep the process alive.
      setTimeout(() => process.exit(1), drainTimeoutMs).unref();
      await close().catch(endWith);
      process.exit(0);
    })());
}
