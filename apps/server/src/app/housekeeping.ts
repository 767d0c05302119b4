import type pg from 'pg';

import { extendAuditPartitions } from '#core/db/migrate';
import type { Services } from '#core/services';
import { deleteExpired } from '#modules/auth/index';

const everyMs = 60 * 60_000;

export type Housekeeping = { close(): Promise<void> };

/** What has to happen now and then for the installation to stay healthy; harmless when several processes do it. */
export function startHousekeeping(services: Services, connection: pg.ClientConfig): Housekeeping {
  let running: Promise<void> | undefined;

  const run = async (): Promise<void> => {
    await deleteExpired(services);
    await extendAuditPartitions(connection, services.now());
  };

  const start = () => {
    running ??= run()
      .catch((error: unknown) => services.log.warn({ err: error }, 'housekeeping failed and will be tried again'))
      .finally(() => (running = undefined));
  };
  const timer = setInterval(start, everyMs).unref();
  start();

  return {
    close: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
