import type { Worker } from 'node:cluster';

import { tell, type FromWorker, type ToWorker } from '#app/worker-messages';
import type { Collected } from '#core/platform/metrics/metric';

/** A worker that does not answer in time is left out. */
const timeoutMs = 2000;

/**
 * Metrics of all workers, labelled with their number. They are not summed: when a worker is replaced, a sum would fall by its
 * counts, and Prometheus would read that as a reset.
 */
export async function collectFromAll(
  workers: ReadonlyMap<number, Worker>,
  { refusedByAddress }: { refusedByAddress: number },
): Promise<Collected[]> {
  const merged = new Map<string, Collected>();
  const answers = [...workers].map(async ([number, worker]) => ({ number, metrics: await collectFrom(worker) }));
  for (const { number, metrics } of await Promise.all(answers)) {
    for (const { values, ...metric } of metrics) {
      const labelled = values.map((value) => ({ ...value, labels: { ...value.labels, worker: String(number) } }));
      const known = merged.get(metric.name);
      merged.set(metric.name, { ...metric, values: [...(known?.values ?? []), ...labelled] });
    }
  }
  const refused = merged.get('atrium_connections_refused_total');
  // The supervising process accepts connections, so it also refuses them.
  const sample = { labels: { reason: 'address', worker: 'supervisor' }, value: refusedByAddress };
  if (refused !== undefined) merged.set(refused.name, { ...refused, values: [...refused.values, sample] });
  return [...merged.values()];
}

function collectFrom(worker: Worker): Promise<readonly Collected[]> {
  return new Promise((resolve) => {
    const finish = (metrics: readonly Collected[]) => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      resolve(metrics);
    };
    const onMessage = (message: FromWorker) => {
      if (message.kind === 'collected') finish(message.metrics);
    };
    const timer = setTimeout(() => finish([]), timeoutMs);
    worker.on('message', onMessage);
    tell(worker, { kind: 'collect' });
  });
}

/** Asks the supervising process for the metrics of all workers; undefined when it does not answer. */
export function askForAll(): Promise<readonly Collected[] | undefined> {
  return new Promise((resolve) => {
    const finish = (metrics: readonly Collected[] | undefined) => {
      clearTimeout(timer);
      process.off('message', onMessage);
      resolve(metrics);
    };
    const onMessage = (message: ToWorker) => {
      if (message.kind === 'scraped') finish(message.metrics);
    };
    const timer = setTimeout(() => finish(undefined), 2 * timeoutMs);
    process.on('message', onMessage);
    process.send!({ kind: 'scrape' } satisfies FromWorker);
  });
}
