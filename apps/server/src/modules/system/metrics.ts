import { decide, access } from '#core/access/access';
import type { Actor, SessionPrincipal } from '#core/access/principal';
import { metricsContentType } from '#core/metrics/metrics';
import type { Services } from '#core/services';

type Scrape = {
  actor: Actor<SessionPrincipal> | undefined;
  authorization: string | undefined;
  services: Services;
  setHeader(name: string, value: string): void;
};

/** What Prometheus is told: for whoever has the token, and for system administrators. */
export function scrapeMetrics({ actor, authorization, services, setHeader }: Scrape): Promise<string> {
  const [scheme = '', token = ''] = authorization?.split(' ') ?? [];
  const isScraper = scheme.toLowerCase() === 'bearer' && services.metrics.accepts(token);
  const decision = decide(access.systemAdmin(), actor);
  if (!isScraper && !decision.allowed) throw decision.error;
  setHeader('content-type', metricsContentType);
  setHeader('cache-control', 'no-store');
  return services.metrics.text();
}
