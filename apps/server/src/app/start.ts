import cluster from 'node:cluster';

import { readConfig } from '#app/config';
import { endWith } from '#app/start-errors';

/** Starts this process as configured; ends it on failure. */
export async function start(): Promise<void> {
  try {
    const config = readConfig(undefined, process.argv.slice(2));
    // The supervising process serves no requests, so it does not load that code.
    if (cluster.isWorker) await (await import('#app/worker')).serveAsWorker(config);
    else if (config.WORKERS > 1) await (await import('#app/workers')).superviseWorkers(config);
    else await (await import('#app/alone')).serveAlone(config);
  } catch (error) {
    endWith(error);
  }
}
