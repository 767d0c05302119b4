import { ServiceUnavailable } from '#core/base/errors/common-errors';
import type { ServiceState } from '#core/platform/health/health';
import type { Services } from '#core/platform/services';
import { countExternalApis } from '#modules/system/external-apis';

type Dependencies = Pick<Services, 'database' | 'health' | 'isServing' | 'now' | 'realtime' | 'settings'>;

export type HealthLevel = 'basic' | 'ready' | 'full';

/**
 * `basic` reports that the process serves and checks nothing; `ready` and `full` check its dependencies.
 * @throws ServiceUnavailable for `ready` and `full` while requests cannot be answered.
 */
export async function getHealth(services: Dependencies, level: HealthLevel) {
  if (level === 'basic') return getLiveness(services);
  return level === 'ready' ? getReadiness(services) : getFullHealth(services);
}

function getLiveness(services: Dependencies) {
  const degradedServices = degradedOf(services.health.known());
  return { status: statusOf(degradedServices, 'ok'), ...factsOf(services), degradedServices };
}

async function getReadiness(services: Dependencies) {
  // Callers have short timeouts and only the database decides, so other parts answer from known states while new checks run.
  void services.health.states();
  const database = await services.health.state('database');
  const { known, degradedServices } = assertReady(services, database, services.health.known());
  return { status: statusOf(degradedServices, 'ok'), ...known };
}

async function getFullHealth(services: Dependencies) {
  const states = await services.health.states();
  const { known, degradedServices } = assertReady(services, states[0]!, states);
  return {
    status: statusOf(degradedServices, 'healthy'),
    ...known,
    services: byName(states),
    externalApis: await countExternalApis(services),
  };
}

export async function getInfo(services: Dependencies) {
  const states = await services.health.states();
  const { version, buildDate, environment } = services.settings;
  const [major, minor, build] = version.split('.').map(Number) as [number, number, number];
  return {
    status: statusOf(degradedOf(states), 'healthy'),
    version: { version, major, minor, build, buildDate },
    timestamp: services.now().toISOString(),
    environment,
    uptime: Math.floor(process.uptime()),
    services: byName(states),
    realtime: services.realtime.status(),
  };
}

function assertReady(services: Dependencies, database: ServiceState, states: readonly ServiceState[]) {
  const degradedServices = degradedOf(states);
  // A database that refuses writes still answers reads.
  const ready = database.status !== 'unhealthy' && services.isServing();
  if (!ready) throw ServiceUnavailable({ retryAfterSeconds: 2, details: { ready, degradedServices } });
  const facts = { ...factsOf(services), ready, environment: services.settings.environment };
  return { degradedServices, known: degradedServices.length === 0 ? facts : { ...facts, degradedServices } };
}

function factsOf({ settings, now, realtime }: Dependencies) {
  return {
    version: settings.version,
    timestamp: now().toISOString(),
    hostedBackendUrl: settings.hostedBackendUrl,
    realtime: realtime.status(),
  };
}

function statusOf<Word extends 'ok' | 'healthy'>(degradedServices: readonly string[], whole: Word): Word | 'degraded' {
  return degradedServices.length === 0 ? whole : 'degraded';
}

function degradedOf(states: readonly ServiceState[]): string[] {
  return states.filter(({ status }) => status !== 'healthy').map(({ name }) => name);
}

function byName(states: readonly ServiceState[]): Record<string, Omit<ServiceState, 'name'>> {
  return Object.fromEntries(states.map(({ name, ...state }) => [name, state]));
}
