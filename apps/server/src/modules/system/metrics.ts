import { metricsContentType } from '#core/metrics/metrics';
import type { Services } from '#core/services';

type Scrape = { services: Services; setHeader(name: string, value: string): void };

/** What Prometheus is told. */
export function scrapeMetrics({ services, setHeader }: Scrape): Promise<string> {
  setHeader('content-type', metricsContentType);
  setHeader('cache-control', 'no-store');
  return services.metrics.text();
}
