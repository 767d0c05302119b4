import { ConfigError, parseHeaders, type Config } from '#app/config';
import { listMetrics } from '#app/metric-sources';
import type { PrincipalCache } from '#core/base/access/principal-cache';
import type { Tracing } from '#core/base/tracing/tracing';
import type { Database } from '#core/data/db/database';
import type { ObjectStore } from '#core/data/files/object-store';
import type { Log, Logging } from '#core/data/log/log';
import { createHealth, type Health } from '#core/platform/health/health';
import { listProbes } from '#core/platform/health/probes';
import { createRealtime, type Realtime } from '#core/platform/health/realtime';
import type { Limits } from '#core/platform/limits/limits';
import { createMetrics, type GatherMetrics, type Metrics } from '#core/platform/metrics/metrics';

type ObservedParts = {
  database: Database;
  limits: Limits;
  files: ObjectStore;
  logging: Logging;
  principals: PrincipalCache;
  version: string;
  now(): Date;
  gatherMetrics: GatherMetrics | undefined;
};

/** Health, realtime state and metrics of the service and its dependencies. */
export function observe(
  config: Config,
  parts: ObservedParts,
): { health: Health; realtime: Realtime; metrics: Metrics } {
  const realtime = openRealtime(config, parts.now);
  const health = createHealth(listProbes({ ...parts, realtime, smtpUrl: config.SMTP_URL }), parts.now);
  const metrics = createMetrics({ scrapeToken: config.METRICS_TOKEN, gather: parts.gatherMetrics });
  metrics.add(...listMetrics({ ...parts, health }));
  return { health, realtime, metrics };
}

/** Undefined without a collector; then no library is loaded. */
export async function openTracing(config: Config, version: string, log: Log): Promise<Tracing | undefined> {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return undefined;
  const { createTracing } = await import('#core/base/tracing/open-telemetry');
  return createTracing({
    endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
    headers: parseHeaders(config.OTEL_EXPORTER_OTLP_HEADERS ?? '')!,
    serviceName: config.OTEL_SERVICE_NAME,
    version,
    environment: config.ENVIRONMENT,
    ratio: config.OTEL_TRACES_SAMPLER_ARG,
    log,
  });
}

function openRealtime({ REALTIME_URL: url, REALTIME_API_KEY: apiKey }: Config, now: () => Date): Realtime {
  if (url === undefined) return createRealtime({ server: undefined, now });
  if (apiKey === undefined) throw new ConfigError('REALTIME_URL requires REALTIME_API_KEY. Set both.');
  const realtime = createRealtime({ server: { url, apiKey }, now });
  if (!realtime.isCallable)
    throw new ConfigError('REALTIME_URL must be an http or https address that the service may call.');
  return realtime;
}
