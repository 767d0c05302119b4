import { metricsContentType } from '#core/metrics/metrics';
import type { Services } from '#core/services';

type Scrape = { services: Services; setHeader(name: string, value: string): void };

/** Metrics in the text format of Prometheus. */
export function scrapeMetrics({ services, setHeader }: Scrape): Promise<string> {
  setHeader('content-type', metricsContentType);
  setHeader('cache-control', 'no-store');
  return services.metrics.text();
}
