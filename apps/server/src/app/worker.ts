import type { Config } from '#app/config';
import { drainTimeoutMs, startServing, type Serving } from '#app/serving';
import type { ClosingService } from '#app/service';
import { startFailure } from '#app/start-errors';
import { decodeAccess, type FromWorker, type ToWorker } from '#app/worker-messages';
import { askForAll } from '#app/worker-metrics';
import { createLogging } from '#core/log/log';

/** Whoever still uploads or downloads through a replaced worker has so long to finish. */
const retirementMs = 5 * 60_000;

/**
 * Serves on the socket that the supervising process holds. Once the channel to that process breaks, node:cluster ends
 * this one: nobody would replace it, and its database may be stopped at any time.
 */
export async function serveAsWorker(config: Config): Promise<void> {
  let serving: Serving | undefined;
  const stop = async (how: ClosingService) => {
    setTimeout(() => process.exit(1), how.replaced ? retirementMs : drainTimeoutMs).unref();
    await serving?.close(how);
    process.exit(0);
  };
  process.on('SIGTERM', () => void stop({ replaced: false }));
  // A terminal sends these to all processes of the group; the supervising one decides.
  process.on('SIGINT', () => undefined);
  process.on('SIGHUP', () => undefined);
  const message = await new Promise<Extract<ToWorker, { kind: 'start' }>>((resolve) => {
    process.on('message', (told: ToWorker) => {
      if (told.kind === 'retire') void stop({ replaced: true });
      if (told.kind === 'stop') void stop({ replaced: false });
      if (told.kind === 'start') resolve(told);
      if (told.kind === 'collect') void tellMetrics(serving);
    });
  });
  serving = await start(message, config);
}

async function start(message: Extract<ToWorker, { kind: 'start' }>, config: Config): Promise<Serving> {
  const logging = createLogging({ level: config.LOG_LEVEL, sharesOutput: true });
  try {
    const { port, access } = message;
    const gatherMetrics = askForAll;
    const serving = await startServing({ config, logging, access: decodeAccess(access), port, gatherMetrics });
    const { http, services, generatedPassword } = serving.service;
    // Beyond its limit a worker would hand connections back for ever while the others are full too.
    Object.assign(http.server, { dropMaxConnection: true });
    await tell({ kind: 'serving', version: services.settings.version, port: serving.port, generatedPassword });
    return serving;
  } catch (error) {
    await tell({ kind: 'failed', reason: startFailure(error) });
    process.exit(1);
  }
}

async function tellMetrics(serving: Serving | undefined): Promise<void> {
  await tell({ kind: 'collected', metrics: (await serving?.service.services.metrics.collect()) ?? [] });
}

function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    process.send!(message, () => resolve());
  });
}
