import path from 'node:path';

import { closeEach } from '#app/close-each';
import type { Config } from '#app/config';
import type { DatabaseAccess } from '#app/database-access';
import { createService, publicUrlOf, type ClosingService, type Service, type ServiceOptions } from '#app/service';
import { listenError } from '#app/start-errors';
import { startTicker } from '#core/jobs/ticker';

/** How long what is under way may take once the process is told to stop. */
export const drainTimeoutMs = 15_000;

/** Of that, what scheduled jobs get to come to their end; then another process may begin them anew. */
const jobDrainMs = 8000;

/** One process that answers requests. */
export type Serving = {
  service: Service;
  /** The port in use, also where PORT is 0. */
  port: number;
  /** Called again, it may only become more urgent. */
  close(how?: ClosingService): Promise<void>;
};

type Options = Pick<ServiceOptions, 'config' | 'logging' | 'gatherMetrics'> & { access: DatabaseAccess; port: number };

/** Opens the service, listens and begins to look after the scheduled jobs; whatever fails is closed again. */
export async function startServing({ config, access, port, ...options }: Options): Promise<Serving> {
  const service = await createService({ config, ...options, ...access });
  try {
    await service.http.listen({ host: config.HOST, port }).catch((error: unknown) => {
      throw listenError(error, config);
    });
  } catch (error) {
    await service.close().catch(() => undefined);
    throw error;
  }
  const { dispatcher, log } = service.services;
  const ticker = startTicker({ dispatcher, log: log.child({ service: 'dispatcher' }) });
  const address = service.http.server.address();
  let closed: Promise<void> | undefined;
  return {
    service,
    port: typeof address === 'object' ? (address?.port ?? port) : port,
    close: (how) => {
      const drained = service.drain(how);
      return (closed ??= closeEach([
        () => Promise.all([ticker.close(), dispatcher.close(jobDrainMs), drained]),
        () => service.close(),
      ]));
    },
  };
}

export type Announced = { version: string; port: number; generatedPassword: string | undefined };

/** Says once where the service is found. */
export function announce({ version, port, generatedPassword }: Announced, config: Config): void {
  const base = publicUrlOf({ ...config, PORT: port });
  const lines = [
    `Atrium ${version} serves on ${base}`,
    `API reference  ${base}/docs`,
    config.DATABASE_URL === undefined
      ? `Data folder    ${path.resolve(config.DATA_DIR)}`
      : 'Database       DATABASE_URL',
  ];
  if (generatedPassword !== undefined) {
    lines.push(`System admin   ${config.SYSTEM_ADMIN_EMAIL}  password ${generatedPassword}  (shown this once)`);
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}
