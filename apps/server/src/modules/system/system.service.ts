import { statSync } from 'node:fs';

import { ServiceUnavailable } from '#core/errors/common-errors';
import type { Services } from '#core/services';
import { createDatabaseProbe, type Probe, type ServiceState } from '#modules/system/probes';

export type HealthLevel = 'basic' | 'ready' | 'full';

const probes = new WeakMap<Services, Probe>();
const buildDate = statSync(new URL('../../../package.json', import.meta.url)).mtime.toISOString();

/**
 * `basic` says that the process serves and touches nothing else; `ready` and `full` look at what it needs.
 * @throws ServiceUnavailable at `ready` and `full` while requests could not be answered.
 */
export async function getHealth(services: Services, level: HealthLevel) {
  const base = {
    version: services.settings.version,
    timestamp: services.now().toISOString(),
    hostedBackendUrl: services.settings.hostedBackendUrl,
    realtime: realtimeStatus(services),
  };
  const isWhole = services.limits.shared() !== 'down';
  const degradedServices = isWhole ? [] : ['redis'];
  const status = isWhole ? 'ok' : 'degraded';
  if (level === 'basic') return { status, ...base, degradedServices };
  const database = await probe(services);
  const ready = database.status === 'healthy' && services.isServing();
  if (!ready) {
    const missing = database.status === 'healthy' ? [] : ['database'];
    throw ServiceUnavailable({ retryAfterSeconds: 2, details: { ready, degradedServices: missing } });
  }
  const { environment } = services.settings;
  const facts = isWhole ? { ...base, ready, environment } : { ...base, degradedServices, ready, environment };
  if (level === 'ready') return { status, ...facts };
  return {
    status: isWhole ? 'healthy' : 'degraded',
    ...facts,
    services: { database, ...redisState(services) },
    externalApis: { total: 0, active: 0, statusBreakdown: {} },
  };
}

export async function getInfo(services: Services) {
  const database = await probe(services);
  const isWhole = database.status === 'healthy' && services.limits.shared() !== 'down';
  const { version } = services.settings;
  const [major, minor, build] = version.split('.').map(Number) as [number, number, number];
  return {
    status: isWhole ? 'healthy' : 'degraded',
    version: { version, major, minor, build, buildDate },
    timestamp: services.now().toISOString(),
    environment: services.settings.environment,
    uptime: Math.floor(process.uptime()),
    services: { database, ...redisState(services) },
    realtime: realtimeStatus(services),
  };
}

function probe(services: Services) {
  let known = probes.get(services);
  if (known === undefined) probes.set(services, (known = createDatabaseProbe(services)));
  return known();
}

/** Nothing where none is configured. Without it, requests are answered all the same. */
function redisState({ limits, now }: Services): { redis?: ServiceState } {
  const shared = limits.shared();
  if (shared === 'none') return {};
  const message = shared === 'up' ? 'reachable' : 'not reachable: each process counts for itself';
  const status = shared === 'up' ? 'healthy' : 'unhealthy';
  return { redis: { status, message, responseTime: 0, timestamp: now().toISOString() } };
}

// No realtime server can be configured yet, and an absent one is "disabled", never "degraded".
function realtimeStatus(services: Services) {
  return {
    enabled: false,
    status: 'disabled',
    ready: false,
    checkedAt: services.now().toISOString(),
    version: '',
    message: 'no realtime server is configured',
    metrics: { nodes: 0, channels: 0, clients: 0, users: 0, uptimeSeconds: 0 },
  };
}
