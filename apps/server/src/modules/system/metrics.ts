import type { SetHeader } from '#core/http/paging';
import { metricsContentType } from '#core/platform/metrics/metrics';
import type { Services } from '#core/platform/services';

type Scrape = { services: Pick<Services, 'metrics'>; setHeader: SetHeader };

/** Metrics in the text format of Prometheus. */
export function scrapeMetrics({ services, setHeader }: Scrape): Promise<string> {
  setHeader('content-type', metricsContentType);
  setHeader('cache-control', 'no-store');
  return services.metrics.text();
}
