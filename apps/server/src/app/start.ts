import cluster from 'node:cluster';

import { readConfig } from '#app/config';
import { endWith } from '#app/start-errors';

/** This process as the configuration has it; ends it where that cannot be. */
export async function start(): Promise<void> {
  try {
    const config = readConfig(undefined, process.argv.slice(2));
    // Who supervises serves nothing, and does without all that is loaded for it.
    if (cluster.isWorker) await (await import('#app/worker')).serveAsWorker(config);
    else if (config.WORKERS > 1) await (await import('#app/workers')).superviseWorkers(config);
    else await (await import('#app/alone')).serveAlone(config);
  } catch (error) {
    endWith(error);
  }
}
