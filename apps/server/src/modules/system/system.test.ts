import { describe, expect, it } from 'vitest';

import { createHealth, type Health, type Verdict } from '#core/platform/health/health';
import type { Services } from '#core/platform/services';
import { getHealth, getInfo, type HealthLevel } from '#modules/system/system.service';
import { expectError, useService } from '#test/support/harness';

const test = useService({ environment: { ENVIRONMENT: 'staging', PUBLIC_URL: 'https://atrium.example/app/' } });
const path = '/api/v1/system/health';
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const version = expect.stringMatching(/^\d+\.\d+\.\d+$/);
const state = (message: string) => ({ status: 'healthy', message, responseTime: expect.any(Number), timestamp: time });
const parts = { database: state('reachable'), storage: state('writable'), logs: state('kept') };
const realtime = {
  enabled: false,
  status: 'disabled',
  ready: false,
  checkedAt: time,
  version: '',
  message: 'no realtime server is configured',
  metrics: { nodes: 0, channels: 0, clients: 0, users: 0, uptimeSeconds: 0 },
};
const base = { version, timestamp: time, hostedBackendUrl: 'https://atrium.example', realtime };

/** The running services with some parts replaced. */
const withServices = (part: Partial<Services>): Services => ({ ...test.service.services, ...part });

const good: Verdict = { status: 'healthy', message: 'reachable' };
const broken: Verdict = { status: 'unhealthy', message: 'not reachable' };

/** Services with the given states of parts; the first part is the database. */
function withParts(verdicts: Record<string, Verdict>): Services {
  const probes = Object.entries(verdicts).map(([name, verdict]) => ({ name, check: () => verdict }));
  return withServices({ health: createHealth(probes, () => new Date()) });
}

/** Parts that must not be checked. */
const untouchable: Health = {
  states: () => Promise.reject(new Error('looked at')),
  state: () => Promise.reject(new Error('looked at')),
  known: () => [],
};

describe('getHealth', () => {
  it.each(['', '?level=basic'])('200: basic %j', async (query) => {
    const { status, body } = await test.call('GET', path + query);
    expect([status, body]).toEqual([200, { status: 'ok', ...base, degradedServices: [] }]);
  });

  it('200: ready', async () => {
    const { status, body } = await test.call('GET', `${path}?level=ready`);
    expect([status, body]).toEqual([200, { status: 'ok', ...base, ready: true, environment: 'staging' }]);
  });

  it('200: full', async () => {
    const { status, body } = await test.call('GET', `${path}?level=full`);
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'healthy',
      ...base,
      ready: true,
      environment: 'staging',
      services: parts,
      externalApis: { total: expect.any(Number), active: expect.any(Number), statusBreakdown: expect.any(Object) },
    });
  });

  it('200: with any credentials', async () => {
    expect((await test.call('GET', path, { token: 'rubbish' })).status).toBe(200);
  });

  it.each(['level=', 'level=deep', 'level=FULL', 'level=basic&level=full'])('400: %s', async (query) => {
    expectError(await test.call('GET', `${path}?${query}`), 400, 'VALIDATION_ERROR');
  });

  it('basic checks nothing, and reports known states', async () => {
    expect(await getHealth(withServices({ health: untouchable }), 'basic')).toMatchObject({ degradedServices: [] });
    const services = withParts({ database: broken, mail: good });
    expect(await getHealth(services, 'basic')).toMatchObject({ status: 'ok', degradedServices: [] });
    await services.health.states();
    expect(await getHealth(services, 'basic')).toMatchObject({ status: 'degraded', degradedServices: ['database'] });
  });

  it.each<HealthLevel>(['ready', 'full'])('503: %s, without the database', async (level) => {
    const refused = getHealth(withParts({ database: broken, redis: good }), level);
    const details = { ready: false, degradedServices: ['database'] };
    await expect(refused).rejects.toMatchObject({ status: 503, retryAfterSeconds: 2, details });
  });

  it('200: without all other parts, and reports them', async () => {
    const services = withParts({ database: good, mail: broken, storage: { status: 'degraded', message: 'slow' } });
    const degradedServices = ['mail', 'storage'];
    const full = await getHealth(services, 'full');
    expect(full).toMatchObject({ status: 'degraded', ready: true, degradedServices });
    expect(await getHealth(services, 'ready')).toMatchObject({ status: 'degraded', ready: true, degradedServices });
  });

  it('ready waits for the database only', async () => {
    const never = () => new Promise<Verdict>(() => undefined);
    const probes = [
      { name: 'database', check: () => good },
      { name: 'mail', check: never },
    ];
    const services = withServices({ health: createHealth(probes, () => new Date()) });
    expect(await getHealth(services, 'ready')).toMatchObject({ status: 'ok', ready: true });
    expect(await getHealth(services, 'full')).toMatchObject({ status: 'degraded', degradedServices: ['mail'] });
    expect(await getHealth(services, 'ready')).toMatchObject({ status: 'degraded', degradedServices: ['mail'] });
  });

  it.each<HealthLevel>(['ready', 'full'])(
    '503: %s, once the process stops, and nothing is blamed for it',
    async (level) => {
      const stopping = getHealth({ ...withParts({ database: good }), isServing: () => false }, level);
      await expect(stopping).rejects.toMatchObject({ status: 503, details: { ready: false, degradedServices: [] } });
    },
  );
});

describe('getSystemInfo', () => {
  it('200: version, uptime and state', async () => {
    const { status, body } = await test.call('GET', '/api/v1/system/info');
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'healthy',
      version: {
        version,
        major: expect.any(Number),
        minor: expect.any(Number),
        build: expect.any(Number),
        buildDate: time,
      },
      timestamp: time,
      environment: 'staging',
      uptime: expect.any(Number),
      services: parts,
      realtime,
    });
    const { major, minor, build } = body.version;
    expect(body.version.version).toBe(`${major}.${minor}.${build}`);
  });

  it('is degraded, not refused, without the database', async () => {
    expect(await getInfo(withParts({ database: broken }))).toMatchObject({
      status: 'degraded',
      services: { database: broken },
    });
  });
});
