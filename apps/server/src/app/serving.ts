import type { FastifyInstance } from 'fastify';

import { closeEach } from '#app/close-each';
import type { Config } from '#app/config';
import type { DatabaseAccess } from '#app/database-access';
import { createService, type ClosingService, type Service, type ServiceOptions } from '#app/service';
import { listenError } from '#app/start-errors';
import { startTicker } from '#core/platform/jobs/ticker';
import { workDrainMs } from '#core/platform/queue/terms';

/** Time for scheduled jobs to end, within the drain timeout; afterwards another process may start them again. */
const jobDrainMs = 8000;

/** A process that answers requests. */
export type Serving = {
  service: Service;
  /** A second call may only shorten the drain. */
  close(how?: ClosingService): Promise<void>;
};

type Options = Pick<ServiceOptions, 'config' | 'logging' | 'gatherMetrics'> & {
  access: DatabaseAccess;
  /** Begins to accept connections. */
  open(http: FastifyInstance): Promise<void>;
};

/** Opens the service, accepts connections and starts scheduled jobs; a failure closes everything again. */
export async function startServing({ config, access, open, ...options }: Options): Promise<Serving> {
  const service = await createService({ config, ...options, ...access });
  try {
    await open(service.http);
  } catch (error) {
    await service.close().catch(() => undefined);
    throw error;
  }
  const { dispatcher, log, queue } = service.services;
  const ticker = startTicker({ dispatcher, log: log.child({ service: 'dispatcher' }) });
  queue.start();
  let closed: Promise<void> | undefined;
  return {
    service,
    close: (how) => {
      const drained = service.drain(how);
      return (closed ??= closeEach([
        () => Promise.all([ticker.close(), dispatcher.close(jobDrainMs), queue.stop(workDrainMs), drained]),
        () => service.close(),
      ]));
    },
  };
}

/** @throws StartError if the address is not available. */
export async function listenAt(http: FastifyInstance, config: Config): Promise<void> {
  await http.listen({ host: config.HOST, port: config.PORT }).catch((error: unknown) => {
    throw listenError(error, config);
  });
}
