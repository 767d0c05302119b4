import type { Worker } from 'node:cluster';

import { tell, type FromWorker, type ToWorker } from '#app/worker-messages';
import type { Collected } from '#core/metrics/metric';

/** A worker that does not answer in time is left out. */
const patienceMs = 2000;

/**
 * What all workers have to tell, each under its number. Not added up: when a worker is replaced, a sum would fall by all
 * that it had counted, and Prometheus would take the rest for new.
 */
export async function collectFromAll(workers: ReadonlyMap<number, Worker>): Promise<Collected[]> {
  const merged = new Map<string, Collected>();
  const answers = [...workers].map(async ([number, worker]) => ({ number, metrics: await collectFrom(worker) }));
  for (const { number, metrics } of await Promise.all(answers)) {
    for (const { values, ...metric } of metrics) {
      const labelled = values.map((value) => ({ ...value, labels: { ...value.labels, worker: String(number) } }));
      const known = merged.get(metric.name);
      merged.set(metric.name, { ...metric, values: [...(known?.values ?? []), ...labelled] });
    }
  }
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
    const timer = setTimeout(() => finish([]), patienceMs);
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
    const timer = setTimeout(() => finish(undefined), 2 * patienceMs);
    process.on('message', onMessage);
    process.send!({ kind: 'scrape' } satisfies FromWorker);
  });
}
