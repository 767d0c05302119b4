import type { Metric, Sample } from '#core/platform/metrics/metric';

/** An answer that was sent. */
export type Answered = {
  method: string;
  /** The pattern of the route, never a path: paths carry ids and are without end. Undefined where no route fits. */
  route: string | undefined;
  status: number;
};

export type RequestMetrics = { record(answered: Answered, ms: number): void; metric: Metric };

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** Upper bounds in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const name = 'http_request_duration_seconds';
const unmatched = 'unmatched';

type Series = { counts: Float64Array; seconds: number };

/** Counts requests in plain numbers: two look-ups and two additions each; labels are written when metrics are read. */
export function createRequestMetrics(): RequestMetrics {
  const byRoute = new Map<string, Map<number, Series>>();

  return {
    record({ method, route = unmatched, status }, ms) {
      let ofRoute = byRoute.get(route);
      if (ofRoute === undefined) byRoute.set(route, (ofRoute = new Map()));
      // -1, and with it `other`, for methods that no route answers.
      const key = methods.indexOf(method) * 1000 + status;
      let series = ofRoute.get(key);
      if (series === undefined) {
        ofRoute.set(key, (series = { counts: new Float64Array(bounds.length + 1), seconds: 0 }));
      }
      const seconds = ms / 1000;
      let at = 0;
      while (at < bounds.length && seconds > bounds[at]!) at += 1;
      series.counts[at]! += 1;
      series.seconds += seconds;
    },
    metric: {
      name,
      help: 'Time from the arrival of a request to the end of its answer.',
      type: 'histogram',
      read: () =>
        [...byRoute].flatMap(([route, ofRoute]) =>
          [...ofRoute].flatMap(([key, series]) => present({ ...labelsOf(key), route }, series)),
        ),
    },
  };
}

function labelsOf(key: number): { method: string; status: string } {
  const method = methods[Math.floor(key / 1000)] ?? 'other';
  return { method, status: String(((key % 1000) + 1000) % 1000) };
}

function present(labels: Record<string, string>, { counts, seconds }: Series): Sample[] {
  let total = 0;
  const buckets = [...counts].map((count, at) => {
    total += count;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(bounds[at] ?? '+Inf') }, value: total };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: seconds },
    { metricName: `${name}_count`, labels, value: total },
  ];
}
