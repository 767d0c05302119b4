import { describe, expect, it } from 'vitest';

import { getHealth, getInfo, type HealthLevel } from '#modules/system/system.service';
import type { Services } from '#core/services';
import { expectError, useService } from '#test/support/harness';

const test = useService({ environment: { ENVIRONMENT: 'staging', PUBLIC_URL: 'https://atrium.example/app/' } });
const path = '/api/v1/system/health';
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const version = expect.stringMatching(/^\d+\.\d+\.\d+$/);
const database = { status: 'healthy', message: 'reachable', responseTime: expect.any(Number), timestamp: time };
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

/** The running services with a part of them replaced. */
const withServices = (part: Partial<Services>): Services => ({ ...test.service.services, ...part });
const brokenDatabase = { platform: () => ({ all: () => Promise.reject(new Error('password of root')) }) };
const broken = () => withServices({ database: brokenDatabase as unknown as Services['database'] });

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
      services: { database },
      externalApis: { total: 0, active: 0, statusBreakdown: {} },
    });
  });

  it('200: whatever credentials come along', async () => {
    expect((await test.call('GET', path, { token: 'rubbish' })).status).toBe(200);
  });

  it.each(['level=', 'level=deep', 'level=FULL', 'level=basic&level=full'])('400: %s', async (query) => {
    expectError(await test.call('GET', `${path}?${query}`), 400, 'VALIDATION_ERROR');
  });

  it('basic says nothing about the database', async () => {
    expect(await getHealth(broken(), 'basic')).toMatchObject({ status: 'ok' });
  });

  it.each<HealthLevel>(['ready', 'full'])('503: %s, without the database, and without inner text', async (level) => {
    const refused = getHealth(broken(), level);
    const details = { ready: false, degradedServices: ['database'] };
    await expect(refused).rejects.toMatchObject({ status: 503, retryAfterSeconds: 2, details });
    await expect(refused).rejects.not.toThrow('password of root');
  });

  it('503: ready, once the process stops, and no service is blamed for it', async () => {
    const stopping = getHealth(withServices({ isServing: () => false }), 'ready');
    await expect(stopping).rejects.toMatchObject({ status: 503, details: { ready: false, degradedServices: [] } });
  });
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
      services: { database },
      realtime,
    });
    const { major, minor, build } = body.version;
    expect(body.version.version).toBe(`${major}.${minor}.${build}`);
  });

  it('is degraded, not refused, without the database', async () => {
    expect(await getInfo(broken())).toMatchObject({
      status: 'degraded',
      services: { database: { status: 'unhealthy', message: 'not reachable' } },
    });
  });
});
