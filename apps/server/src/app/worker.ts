import type { FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';

import { drainTimeoutMs, retirementMs } from '#app/announcement';
import type { Config } from '#app/config';
import type { ClosingService } from '#app/service';
import { startServing, type Serving } from '#app/serving';
import { StartError, startFailure } from '#app/start-errors';
import { adoptConnections, type Adopt } from '#app/worker-adoption';
import { decodeAccess, protocol, type FromWorker, type ToWorker } from '#app/worker-messages';
import { askForAll } from '#app/worker-metrics';
import { createLogging } from '#core/data/log/log';

/**
 * Serves the connections that the supervising process hands over. If the channel to that process breaks, node:cluster ends this
 * process: it would not be replaced, and its database may stop at any time.
 */
export async function serveAsWorker(config: Config): Promise<void> {
  let serving: Serving | undefined;
  const stop = async (how: ClosingService) => {
    setTimeout(() => process.exit(1), how.replaced ? retirementMs : drainTimeoutMs).unref();
    await serving?.close(how);
    process.exit(0);
  };
  process.on('SIGTERM', () => void stop({ replaced: false }));
  // A terminal sends these signals to the whole process group; the supervising process decides.
  process.on('SIGINT', () => undefined);
  process.on('SIGHUP', () => undefined);
  const first = await new Promise<Extract<ToWorker, { kind: 'start' }>>((resolve) => {
    process.on('message', (message: ToWorker) => {
      if (message.kind === 'retire') void stop({ replaced: true });
      if (message.kind === 'stop') void stop({ replaced: false });
      if (message.kind === 'start') resolve(message);
      if (message.kind === 'collect') void tellMetrics(serving);
    });
  });
  serving = await start(first, config);
}

async function start(message: Extract<ToWorker, { kind: 'start' }>, config: Config): Promise<Serving> {
  const logging = createLogging({ level: config.LOG_LEVEL, sharesOutput: true });
  try {
    if (message.protocol !== protocol) {
      throw new StartError('The supervising process runs another release. Stop the service and start it again.');
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
  process.on('message', (message: ToWorker, socket?: Socket) => {
    if (message.kind === 'connection') void take(message.id, { socket, adopt });
  });
}

async function take(id: number, { socket, adopt }: { socket: Socket | undefined; adopt: Adopt }): Promise<void> {
  const begin = socket === undefined ? () => undefined : adopt(socket);
  if (begin === undefined) {
    socket?.destroy();
    await tell({ kind: 'declined', id });
    return;
  }
  // Confirm before reading: an unconfirmed connection goes to another worker if this process ends.
  const confirmed = tell({ kind: 'taken', id });
  if (socket === undefined) void tell({ kind: 'closed', id });
  else socket.once('close', () => void tell({ kind: 'closed', id }));
  await confirmed;
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
