import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

import type { Config } from '#app/config';
import { drainTimeoutMs } from '#app/announcement';
import { startServing, type Serving } from '#app/serving';
import type { ClosingService } from '#app/service';
import { StartError, startFailure } from '#app/start-errors';
import { adoptConnections, type Adopt } from '#app/worker-adoption';
import { decodeAccess, protocol, type FromWorker, type ToWorker } from '#app/worker-messages';
import { askForAll } from '#app/worker-metrics';
import { createLogging } from '#core/log/log';

/** Whoever still uploads or downloads through a replaced worker has so long to finish. */
const retirementMs = 5 * 60_000;

/**
 * Serves the connections that the supervising process gives it. Once the channel to that process breaks, node:cluster ends
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
    if (message.protocol !== protocol) {
      throw new StartError('The supervising process runs another release: stop the service and start it anew.');
    }
    const access = decodeAccess(message.access);
    const serving = await startServing({ config, logging, access, open: takeConnections, gatherMetrics: askForAll });
    const { services, generatedPassword } = serving.service;
    await tell({ kind: 'serving', version: services.settings.version, generatedPassword });
    return serving;
  } catch (error) {
    await tell({ kind: 'failed', reason: startFailure(error) });
    process.exit(1);
  }
}

async function takeConnections(http: FastifyInstance): Promise<void> {
  await http.ready();
  const adopt = adoptConnections(http.server);
  process.on('message', (told: ToWorker, socket?: Socket) => {
    if (told.kind === 'connection') void take(told.id, { socket, adopt });
  });
}

async function take(id: number, { socket, adopt }: { socket: Socket | undefined; adopt: Adopt }): Promise<void> {
  const begin = socket === undefined ? () => undefined : adopt(socket);
  if (begin === undefined) {
    socket?.destroy();
    await tell({ kind: 'declined', id });
    return;
  }
  // Before a byte of it is read: what is not known to be taken is given to another when this process ends.
  await tell({ kind: 'taken', id });
  begin();
}

async function tellMetrics(serving: Serving | undefined): Promise<void> {
  await tell({ kind: 'collected', metrics: (await serving?.service.services.metrics.collect()) ?? [] });
}

function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    process.send!(message, () => resolve());
  });
}
