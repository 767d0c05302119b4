import { ServiceUnavailable } from '#core/errors/common-errors';
import type { ServiceState } from '#core/health/health';
import type { Services } from '#core/services';
import { countExternalApis } from '#modules/system/external-apis';

export type HealthLevel = 'basic' | 'ready' | 'full';

/**
 * `basic` says that the process serves and asks nobody; `ready` and `full` look at what it needs.
 * @throws ServiceUnavailable at `ready` and `full` while requests could not be answered.
 */
export async function getHealth(services: Services, level: HealthLevel) {
  if (level === 'basic') return getLiveness(services);
  return level === 'ready' ? getReadiness(services) : getFullHealth(services);
}

function getLiveness(services: Services) {
  const degradedServices = degradedOf(services.health.known());
  return { status: statusOf(degradedServices, 'ok'), ...factsOf(services), degradedServices };
}

async function getReadiness(services: Services) {
  // Whoever asks has little patience, and only the database decides: of the rest what is known, and it is looked at meanwhile.
  void services.health.states();
  const database = await services.health.state('database');
  const { known, degradedServices } = assertReady(services, database, services.health.known());
  return { status: statusOf(degradedServices, 'ok'), ...known };
}

async function getFullHealth(services: Services) {
  const states = await services.health.states();
  const { known, degradedServices } = assertReady(services, states[0]!, states);
  return {
    status: statusOf(degradedServices, 'healthy'),
    ...known,
    services: byName(states),
    externalApis: await countExternalApis(services),
  };
}

export async function getInfo(services: Services) {
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

function assertReady(services: Services, database: ServiceState, states: readonly ServiceState[]) {
  const degradedServices = degradedOf(states);
  const ready = database.status === 'healthy' && services.isServing();
  if (!ready) throw ServiceUnavailable({ retryAfterSeconds: 2, details: { ready, degradedServices } });
  const facts = { ...factsOf(services), ready, environment: services.settings.environment };
  return { degradedServices, known: degradedServices.length === 0 ? facts : { ...facts, degradedServices } };
}

function factsOf({ settings, now, realtime }: Services) {
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
