import { statSync } from 'node:fs';

import { ServiceUnavailable } from '#core/errors/common-errors';
import type { Services } from '#core/services';
import { createDatabaseProbe, type Probe } from '#modules/system/probes';

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
  if (level === 'basic') return { status: 'ok', ...base, degradedServices: [] };
  const database = await probe(services);
  const ready = database.status === 'healthy' && services.isServing();
  if (!ready) {
    const degradedServices = database.status === 'healthy' ? [] : ['database'];
    throw ServiceUnavailable({ retryAfterSeconds: 2, details: { ready, degradedServices } });
  }
  const { environment } = services.settings;
  if (level === 'ready') return { status: 'ok', ...base, ready, environment };
  return {
    status: 'healthy',
    ...base,
    ready,
    environment,
    services: { database },
    externalApis: { total: 0, active: 0, statusBreakdown: {} },
  };
}

export async function getInfo(services: Services) {
  const database = await probe(services);
  const { version } = services.settings;
  const [major, minor, build] = version.split('.').map(Number) as [number, number, number];
  return {
    status: database.status === 'healthy' ? 'healthy' : 'degraded',
    version: { version, major, minor, build, buildDate },
    timestamp: services.now().toISOString(),
    environment: services.settings.environment,
    uptime: Math.floor(process.uptime()),
    services: { database },
    realtime: realtimeStatus(services),
  };
}

function probe(services: Services) {
  let known = probes.get(services);
  if (known === undefined) probes.set(services, (known = createDatabaseProbe(services)));
  return known();
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
