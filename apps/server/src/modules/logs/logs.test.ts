import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';
import { plantLogLines } from '#test/support/log-lines';

const test = useService({ ownDatabase: true });
const base = '/api/v1/system/logs';
const dayMs = 24 * 60 * 60_000;
let token: string;
let tenant: Tenant;

beforeAll(async () => {
  ({ token } = await logInSystemAdmin(test));
  tenant = await createTenant(test);
});

const list = async (query: Record<string, string | number>): Promise<Answer> => {
  await test.service.services.logging.flush();
  const words = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return test.call('GET', `${base}?${words.join('&')}`, { token });
};
const log = (service: string) => test.service.services.log.child({ service });
const messages = ({ body }: Answer): string[] => body.data.map((record: { message: string }) => record.message);

describe('listLogs', () => {
  it('200: all lines of a request, complete, newest first', async () => {
    const answer = await test.call('GET', '/api/v1/secure/spaces?search=planted-word', { token: tenant.admin.token });
    const requestId = answer.headers['x-request-id']!;
    const { status, body, text } = await list({ requestId });
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [
        {
          id: expect.any(String),
          timestamp: expect.stringMatching(/Z$/),
          level: 'info',
          message: 'GET /api/v1/secure/spaces 200',
          service: 'http',
          tenantId: tenant.tenantId,
          userId: tenant.admin.userId,
          requestId,
          context: {
            method: 'GET',
            route: '/api/v1/secure/spaces',
            status: 200,
            ms: expect.any(Number),
            ip: '127.0.0.1',
          },
        },
      ],
      pagination: { total: 1, limit: 50, offset: 0, hasMore: false },
    });
    expect(text).not.toContain('planted-word');
  });

  it('200: lines of a module carry its name', async () => {
    const answer = await test.call('POST', '/api/v1/public/auth/login', {
      body: { email: tenant.admin.email, password: 'not the password' },
    });
    const found = await list({ requestId: answer.headers['x-request-id']!, level: 'warn' });
    expect(found.body.data).toMatchObject([{ service: 'auth', level: 'warn', message: 'login failed' }]);
  });

  it('200: a search covers the 24 hours before endTime', async () => {
    const service = `past-${newId()}`;
    const at = (daysAgo: number) => new Date(Date.now() - daysAgo * 24 * 60 * 60_000).toISOString();
    for (const daysAgo of [0.5, 9.5, 10.5]) {
      await plantLogLines(test.connection, [{ at: new Date(at(daysAgo)), service, message: `${daysAgo} days ago` }]);
    }
    const found = async (query: Record<string, string>) =>
      messages(await list({ service, search: 'days ago', ...query }));
    expect(await found({})).toEqual(['0.5 days ago']);
    expect(await found({ endTime: at(9) })).toEqual(['9.5 days ago']);
    expect(await found({ endTime: at(-30) })).toEqual(['0.5 days ago']);
  });

  it('200: each filter alone and all filters combined', async () => {
    const service = `filters-${newId()}`;
    const [tenantId, userId, requestId] = [newId(), newId(), newId()];
    const from = new Date().toISOString();
    log(service).debug({ tenantId }, 'first of Three');
    log(service).warn({ userId }, 'second of three');
    log(service).error({ requestId }, 'third of three, 100%_done');
    const found = async (query: Record<string, string>) =>
      messages(await list({ service, sort: 'timestamp', ...query }));
    expect(await found({})).toHaveLength(3);
    expect(await found({ level: 'debug' })).toEqual(['first of Three']);
    expect(await found({ level: 'warn,error' })).toHaveLength(2);
    expect(await found({ level: 'fatal' })).toEqual([]);
    expect(await found({ tenantId })).toEqual(['first of Three']);
    expect(await found({ tenant_id: tenantId.toUpperCase() })).toEqual(['first of Three']);
    expect(await found({ userId })).toEqual(['second of three']);
    expect(await found({ requestId })).toEqual(['third of three, 100%_done']);
    expect(await found({ search: 'THREE first' })).toEqual(['first of Three']);
    expect(await found({ search: '%_d' })).toEqual(['third of three, 100%_done']);
    expect(await found({ search: 'o%e' })).toEqual([]);
    expect(await found({ startTime: from })).toHaveLength(3);
    expect(await found({ endTime: from })).toEqual([]);
    expect(await found({ startTime: new Date(Date.now() + 60_000).toISOString() })).toEqual([]);
    expect(await found({ tenantId, userId })).toEqual([]);
    expect(messages(await list({ tenantId, level: 'debug', search: 'first', startTime: from }))).toHaveLength(1);
  });

  it('200: in order of time across batches, in both directions and page by page', async () => {
    const service = `batches-${newId()}`;
    const [userId, midnight] = [newId(), Math.floor(Date.now() / dayMs) * dayMs - 2 * dayMs];
    const said: { at: number; message: string; byUser: boolean }[] = [];
    // Overlapping batches of two levels, some across midnight; few of their lines belong to the user.
    for (let batch = 0; batch < 40; batch++) {
      const lines = Array.from({ length: 1 + (batch % 7) * 5 }, (_, at) => ({
        at: midnight + (batch - 20) * 15_000 + at * 1700,
        message: `${batch} ${at}`,
        byUser: (batch + at) % 29 === 0,
      }));
      said.push(...lines);
      const planted = lines.map(({ at, message, byUser }) => ({ at: new Date(at), message, byUser }));
      await plantLogLines(
        test.connection,
        planted.map(({ at, message, byUser }) => ({
          at,
          service,
          message,
          level: 30 + 10 * (batch % 2),
          userId: byUser ? userId : null,
        })),
      );
    }
    const pages = async (query: Record<string, string | number>) => {
      const found: string[] = [];
      for (let offset = 0; ; offset += 7) {
        const page = await list({ service, ...query, limit: 7, offset });
        found.push(...messages(page));
        if (!page.body.pagination.hasMore) return found;
      }
    };
    const inOrder = said.toSorted((a, b) => a.at - b.at);
    const ofUser = inOrder.filter(({ byUser }) => byUser);
    const textsOf = (lines: typeof said) => lines.map(({ message }) => message);
    expect(await pages({ sort: 'timestamp' })).toEqual(textsOf(inOrder));
    expect(await pages({})).toEqual(textsOf(inOrder.toReversed()));
    expect(await pages({ userId, sort: 'timestamp' })).toEqual(textsOf(ofUser));
    expect(await pages({ userId })).toEqual(textsOf(ofUser.toReversed()));
    const [startTime, endTime] = [midnight - 20_000, midnight + 20_000].map((at) => new Date(at).toISOString());
    const around = inOrder.filter(({ at }) => at >= midnight - 20_000 && at < midnight + 20_000);
    expect(await pages({ startTime: startTime!, endTime: endTime!, sort: 'timestamp' })).toEqual(textsOf(around));
  });

  it('200: pages neither repeat nor miss lines', async () => {
    const service = `pages-${newId()}`;
    for (let at = 0; at < 25; at++) log(service).info(`line ${at}`);
    const pages = await Promise.all([0, 10, 20].map((offset) => list({ service, limit: 10, offset })));
    expect(pages.map(({ body }) => body.pagination)).toEqual([
      { total: 25, limit: 10, offset: 0, hasMore: true },
      { total: 25, limit: 10, offset: 10, hasMore: true },
      { total: 25, limit: 10, offset: 20, hasMore: false },
    ]);
    expect(new Set(pages.flatMap(messages)).size).toBe(25);
  });

  it('200: totals above 10,000 are capped, with X-Total-Capped', async () => {
    const service = `many-${newId()}`;
    for (let at = 0; at < 10_100; at++) log(service).info('one of many');
    const { headers, body } = await list({ service, limit: 1 });
    expect(headers['x-total-capped']).toBe('true');
    expect(body.pagination).toMatchObject({ total: 10_001, hasMore: true });
  });

  it.each([
    "' or 1=1 --",
    "'; drop table application_logs; --",
    '%',
    '\\',
    '\u202e',
    '(?<a>.*)*',
    '$1',
    'x'.repeat(200),
  ])('200: a hostile text finds what contains it and no more: %s', async (text) => {
    const service = `hostile-${newId()}`;
    log(service).info('harmless');
    for (const query of [
      { service, search: text },
      { service: text.slice(0, 64) },
      { requestId: text.slice(0, 100) },
    ]) {
      const answer = await list(query);
      expect(answer.status).toBe(200);
      expect(answer.body.data).toEqual([]);
    }
  });

  it.each([
    'level=loud',
    'level=info,',
    'level=info,loud',
    'tenantId=42',
    'userId=x',
    'startTime=yesterday',
    'endTime=2026-02-30T00:00:00Z',
    'limit=0',
    'sort=message',
    `search=${'x'.repeat(201)}`,
  ])('400: %s', async (query) => {
    expectError(await test.call('GET', `${base}?${query}`, { token }), 400, 'VALIDATION_ERROR');
  });

  it('401 and 403: for system administrators only', async () => {
    expectError(await test.call('GET', base), 401, 'AUTHENTICATION_ERROR');
    expectError(await test.call('GET', base, { token: tenant.admin.token }), 403, 'AUTHORIZATION_ERROR');
  });
});

describe('getLogAnalytics', () => {
  const analyse = async (query = '') => (await test.call('GET', `${base}/analytics${query}`, { token })).body.data;

  it('200: counts every request, by tenant and by error', async () => {
    const own = await createTenant(test);
    const before = await analyse();
    for (let at = 0; at < 20; at++) await test.call('GET', '/api/v1/secure/spaces', { token: own.admin.token });
    for (let at = 0; at < 5; at++) {
      const answer = await test.call('GET', `/api/v1/secure/spaces/${newId()}`, { token: own.admin.token });
      expect(answer.status).toBe(404);
    }
    const after = await analyse();
    // The previous analysis was itself a request.
    expect(after.totalRequests - before.totalRequests).toBe(26);
    expect(after.errorCount - before.errorCount).toBe(5);
    expect(after.errorRate).toBeCloseTo(after.errorCount / after.totalRequests, 5);
    expect(after.responseTime.p50).toBeGreaterThan(0);
    expect(after.responseTime.p95).toBeGreaterThanOrEqual(after.responseTime.p50);
    expect(after.responseTime.p99).toBeGreaterThanOrEqual(after.responseTime.p95);
    const activity = after.tenantActivity.find((one: { tenantId: string }) => one.tenantId === own.tenantId);
    expect(activity.errorCount).toBe(5);
    expect(activity.requestCount).toBeGreaterThanOrEqual(25);
    const countOf = (data: any) =>
      data.topErrors.find(({ message }: { message: string }) => message.startsWith('NOT_FOUND'))?.count ?? 0;
    expect(countOf(after) - countOf(before)).toBe(5);
  });

  it('200: a time range without requests', async () => {
    expect(await analyse('?startTime=2020-01-01T00:00:00Z&endTime=2020-01-02T00:00:00Z')).toEqual({
      errorRate: 0,
      errorCount: 0,
      totalRequests: 0,
      responseTime: { p50: 0, p95: 0, p99: 0 },
      topErrors: [],
      tenantActivity: [],
    });
  });

  it('422: endTime before startTime, or a time range above a week', async () => {
    for (const query of [
      '?startTime=2026-01-02T00:00:00Z&endTime=2026-01-01T00:00:00Z',
      '?startTime=2026-01-01T00:00:00Z&endTime=2026-01-08T00:00:01Z',
    ]) {
      const answer = await test.call('GET', `${base}/analytics${query}`, { token });
      expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'PERIOD_INVALID');
    }
  });
});
