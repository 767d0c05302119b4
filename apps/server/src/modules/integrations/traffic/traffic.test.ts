import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { createConnector } from '#modules/connectors/testing/connectors';
import { addCall, addHour, ago, hourAgo, path } from '#modules/integrations/testing/traffic';
import { createMember, createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const day = 24 * 3_600_000;
let tenant: Tenant;
let root: string;

beforeAll(async () => {
  root = (await logInSystemAdmin(test)).token;
});
beforeEach(async () => {
  tenant = await createTenant(test);
});

const get = (what: string, token = tenant.admin.token) => test.call('GET', `${path}/${what}`, { token });
const ids = async (what: string, token?: string): Promise<string[]> => {
  const answer = await get(what, token);
  expect(answer.status).toBe(200);
  expect(answer.body.total).toBe(answer.body.data.length);
  return answer.body.data.map((row: { id: string }) => row.id);
};

describe('listProviderCalls', () => {
  it('200: every call with all fields, newest first', async () => {
    const connectorId = newId();
    const [requestId, userId] = [newId(), newId()];
    const older = await addCall(test, tenant.tenantId, { called_at: ago(5000) });
    const id = await addCall(test, tenant.tenantId, {
      called_at: '2026-01-01T00:00:00Z',
      connector_id: connectorId,
      outcome: 'failure',
      failure: 'answer',
      http_status: 500,
      latency_ms: 7,
      own_credentials: true,
      characters: 12,
      tokens: 3,
      request_id: requestId,
      user_id: userId,
    });
    const { body } = await get('logs?from=2025-12-31T00:00:00Z');
    expect(body).toEqual({
      data: [
        expect.objectContaining({ id: older, status: 'success', failure: null, http_status: null, user_id: null }),
        {
          id,
          tenantId: tenant.tenantId,
          timestamp: '2026-01-01T00:00:00.000Z',
          operation_key: 'translation.text',
          connector_id: connectorId,
          provider: 'deepl',
          status: 'failure',
          failure: 'answer',
          http_status: 500,
          latency_ms: 7,
          own_credentials: true,
          characters: 12,
          tokens: 3,
          request_id: requestId,
          user_id: userId,
        },
      ],
      total: 2,
      limit: 50,
      offset: 0,
    });
  });

  it('200: by operation, provider, status and time, in both spellings', async () => {
    const [a, b, c, d] = [
      await addCall(test, tenant.tenantId, { called_at: '2026-02-01T10:00:00Z' }),
      await addCall(test, tenant.tenantId, { called_at: '2026-02-01T11:00:00Z', operation_key: 'models.list' }),
      await addCall(test, tenant.tenantId, { called_at: '2026-02-01T12:00:00Z', provider: 'openai' }),
      await addCall(test, tenant.tenantId, { called_at: '2026-02-01T13:00:00Z', outcome: 'rate_limited' }),
    ];
    const of = (query: string) => ids(`logs?from=2026-02-01T00:00:00Z&to=2026-02-02T00:00:00Z&${query}`);
    expect(await of('')).toEqual([d, c, b, a]);
    expect(await of('operation_key=models.list')).toEqual([b]);
    expect(await of('operationKey=models.list')).toEqual([b]);
    expect(await of('provider=openai')).toEqual([c]);
    expect(await of('status=rate_limited')).toEqual([d]);
    expect(await of('status=success&provider=deepl')).toEqual([b, a]);
    expect(await of('operation_key=no.such')).toEqual([]);
    expect(await of('noSuchFilter=1')).toHaveLength(4);
    expect(await ids('logs?from=2026-02-01T11:00:00Z&to=2026-02-01T13:00:00Z')).toEqual([c, b]);
  });

  it('200: in ascending and descending order of time', async () => {
    const [late, early] = [
      await addCall(test, tenant.tenantId, { called_at: ago(1000) }),
      await addCall(test, tenant.tenantId, { called_at: ago(9000) }),
    ];
    expect(await ids('logs?sort=timestamp')).toEqual([early, late]);
    expect(await ids('logs?sort=-timestamp')).toEqual([late, early]);
    expectError(await get('logs?sort=provider'), 400, 'VALIDATION_ERROR');
  });

  it('200: pages', async () => {
    for (let at = 0; at < 5; at++) await addCall(test, tenant.tenantId);
    const page = async (offset: number) => (await get(`logs?limit=2&offset=${offset}`)).body;
    const pages = [await page(0), await page(2), await page(4), await page(6)];
    expect(pages.map(({ data, ...rest }) => [data.length, rest])).toEqual([
      [2, { total: 5, limit: 2, offset: 0 }],
      [2, { total: 5, limit: 2, offset: 2 }],
      [1, { total: 5, limit: 2, offset: 4 }],
      [0, { total: 5, limit: 2, offset: 6 }],
    ]);
    expect(new Set(pages.flatMap(({ data }) => data.map((row: { id: string }) => row.id))).size).toBe(5);
  });

  it('200: totals are exact up to 10,000, and marked as capped above', async () => {
    const add = (count: number) =>
      test.service.services.database.platform().interactive.all({
        kind: 'write',
        text: `insert into provider_calls (tenant_id, called_at, id, operation_key, connector_id, provider, outcome,
                 latency_ms, own_credentials)
               select $1, now(), gen_random_uuid(), 'models.list', $1, 'modelhub', 'success', 1, false
               from generate_series(1, $2::int)`,
        values: [tenant.tenantId, count],
        prepare: false,
      });
    await add(10_000);
    const exact = await get('logs?limit=1');
    expect([exact.body.total, exact.headers['x-total-capped']]).toEqual([10_000, undefined]);
    await add(2);
    const capped = await get('logs?limit=1');
    expect([capped.body.total, capped.headers['x-total-capped']]).toEqual([10_001, 'true']);
    const beyond = await get('logs?limit=1&offset=10000');
    expect([beyond.body.data.length, beyond.body.total]).toEqual([1, 10_002]);
  });

  it('200: includes calls that are not yet flushed', async () => {
    test.service.services.callLog.record({
      tenantId: tenant.tenantId,
      operation: 'geocoding.search',
      connectorId: newId(),
      provider: 'nominatim',
      outcome: 'success',
      failure: null,
      httpStatus: 200,
      latencyMs: 5,
      ownCredentials: false,
      characters: null,
      tokens: null,
      requestId: null,
      userId: null,
    });
    const { body } = await get('logs');
    expect(body.data).toEqual([expect.objectContaining({ operation_key: 'geocoding.search', provider: 'nominatim' })]);
    expect((await get('overview')).body.data.total_requests_24h).toBe(1);
  });
});

describe('listProviderMetrics', () => {
  it('200: hours by operation and provider, newest first', async () => {
    await addHour(test, tenant.tenantId, { hour: hourAgo(1), failures: 1, rate_limited: 1, successes: 1 });
    await addHour(test, tenant.tenantId, { successes: 3, latency_ms: 100, characters: 9, tokens: 4, cache_hits: 2 });
    await addHour(test, tenant.tenantId, { provider: 'openai', cache_hits: 1 });
    const { body } = await get('metrics');
    const common = { tenantId: tenant.tenantId, operation_key: 'translation.text', provider: 'deepl' };
    const nothing = { successes: 0, failures: 0, rate_limited: 0, cache_hits: 0, characters: 0, tokens: 0 };
    expect(body).toEqual({
      data: [
        {
          ...common,
          ...nothing,
          hour: hourAgo(0),
          requests: 3,
          successes: 3,
          cache_hits: 2,
          success_rate: 100,
          avg_latency_ms: 33,
          characters: 9,
          tokens: 4,
        },
        {
          ...common,
          ...nothing,
          provider: 'openai',
          hour: hourAgo(0),
          requests: 0,
          cache_hits: 1,
          success_rate: 100,
          avg_latency_ms: null,
        },
        {
          ...common,
          ...nothing,
          hour: hourAgo(1),
          requests: 3,
          successes: 1,
          failures: 1,
          rate_limited: 1,
          success_rate: 33.33,
          avg_latency_ms: 0,
        },
      ],
      total: 3,
      limit: 50,
      offset: 0,
    });
  });

  it('200: by operation, provider, status and time', async () => {
    const hour = (at: number, rest: object) =>
      addHour(test, tenant.tenantId, { hour: `2026-02-01T${at}:00:00Z`, ...rest });
    await hour(10, { successes: 1 });
    await hour(11, { failures: 1, operation_key: 'models.list' });
    await hour(12, { rate_limited: 1, provider: 'openai' });
    const of = async (query: string) => {
      const { body } = await get(`metrics?${query}`);
      expect(body.total).toBe(body.data.length);
      return body.data.map((row: { hour: string }) => row.hour.slice(11, 13));
    };
    const around = 'from=2026-02-01T10:59:00Z&to=2026-02-01T12:00:00Z';
    expect(await of(around)).toEqual(['11', '10']);
    const all = 'from=2026-02-01T00:00:00Z&to=2026-02-02T00:00:00Z';
    expect(await of(`${all}&status=success`)).toEqual(['10']);
    expect(await of(`${all}&status=failure`)).toEqual(['11']);
    expect(await of(`${all}&status=rate_limited`)).toEqual(['12']);
    expect(await of(`${all}&operationKey=models.list`)).toEqual(['11']);
    expect(await of(`${all}&provider=openai`)).toEqual(['12']);
  });
});

describe('listProviderMetrics sorted', () => {
  it('200: by hour, requests or failures; 400: by another field', async () => {
    await addHour(test, tenant.tenantId, { provider: 'a', hour: hourAgo(2), successes: 9 });
    await addHour(test, tenant.tenantId, { provider: 'b', hour: hourAgo(1), failures: 5 });
    await addHour(test, tenant.tenantId, { provider: 'c', hour: hourAgo(0), failures: 1, successes: 1 });
    const order = async (sort: string) => {
      const { body } = await get(`metrics?sort=${sort}`);
      return body.data.map(({ provider }: { provider: string }) => provider).join('');
    };
    expect(await order('hour')).toBe('abc');
    expect(await order('-hour')).toBe('cba');
    expect(await order('-requests')).toBe('abc');
    expect(await order('requests')).toBe('cba');
    expect(await order('-failures')).toBe('bca');
    expectError(await get('metrics?sort=provider'), 400, 'VALIDATION_ERROR');
  });
});

describe.each(['logs', 'metrics'])('%s: visible tenants', (what) => {
  const add = (to: Tenant, fields: Record<string, unknown> = {}) =>
    what === 'logs' ? addCall(test, to.tenantId, fields) : addHour(test, to.tenantId, { successes: 1, ...fields });
  const tenants = async (query: string, token?: string): Promise<string[]> => {
    const answer = await get(`${what}?limit=200&${query}`, token);
    expect(answer.status).toBe(200);
    return answer.body.data.map((row: { tenantId: string }) => row.tenantId);
  };

  it("200: the caller's tenant only, for any requested tenant", async () => {
    const other = await createTenant(test);
    for (let at = 0; at < 50; at++) {
      const hour = { provider: `p${at}` };
      await add(tenant, hour);
      await add(other, hour);
    }
    expect(await tenants('')).toEqual(Array.from({ length: 50 }, () => tenant.tenantId));
    expect((await get(`${what}?limit=1`)).body.total).toBe(50);
    expect(await tenants(`tenantId=${tenant.tenantId}`)).toHaveLength(50);
    for (const foreign of [other.tenantId, newId(), systemTenantId]) {
      const answer = await get(`${what}?limit=1&tenantId=${foreign}`);
      expect(answer.body).toEqual({ data: [], total: 0, limit: 1, offset: 0 });
    }
  });

  it('200: all tenants for system administrators, or the one that they request or act on', async () => {
    const other = await createTenant(test);
    const provider = newId();
    await add(tenant, { provider });
    await add(other, { provider });
    expect((await tenants(`provider=${provider}`, root)).toSorted()).toEqual(
      [tenant.tenantId, other.tenantId].toSorted(),
    );
    expect(await tenants(`provider=${provider}&tenantId=${other.tenantId}`, root)).toEqual([other.tenantId]);
    const acting = await test.call('GET', `${path}/${what}?provider=${provider}`, {
      token: root,
      headers: { 'x-tenant-id': tenant.tenantId },
    });
    expect(acting.body.data.map((row: { tenantId: string }) => row.tenantId)).toEqual([tenant.tenantId]);
  });

  it('200: without bounds the last 30 days of one tenant, or the last day of all', async () => {
    const provider = newId();
    await add(tenant, { provider, [what === 'logs' ? 'called_at' : 'hour']: ago(3 * day) });
    expect(await tenants(`provider=${provider}`)).toEqual([tenant.tenantId]);
    expect(await tenants(`provider=${provider}`, root)).toEqual([]);
    expect(await tenants(`provider=${provider}&from=${ago(6 * day)}`, root)).toEqual([tenant.tenantId]);
  });

  it.each([
    'limit=0',
    'limit=201',
    'offset=-1',
    'tenantId=mine',
    'status=lost',
    'from=yesterday',
    'to=2026-03-01',
    `provider=${'x'.repeat(101)}`,
    `operation_key=${'x'.repeat(101)}`,
  ])('400: %s', async (query) => {
    expectError(await get(`${what}?${query}`), 400, 'VALIDATION_ERROR');
  });

  it('422: an end that is not after the start', async () => {
    for (const to of ['2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z']) {
      const answer = await get(`${what}?from=2026-03-01T00:00:00Z&to=${to}`);
      expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'PERIOD_INVALID');
    }
  });

  it('422: more than 7 days of all tenants', async () => {
    const query = `${what}?from=${ago(8 * day)}`;
    expectError(await get(query, root), 422, 'UNPROCESSABLE_ENTITY', 'PERIOD_TOO_LONG');
    expect((await get(`${query}&tenantId=${tenant.tenantId}`, root)).status).toBe(200);
    expect((await get(query)).status).toBe(200);
  });
});

describe('access', () => {
  const all = ['operations', 'operations/translation.text', 'overview', 'metrics', 'logs', 'diagnostics'];

  it.each([...all, 'tenant-overrides'])(
    '%s: 200 with integrations.read, 403 without it, 401 without credentials',
    async (what) => {
      const reader = await createMember(test, tenant, { permissions: ['integrations.read'] });
      expect((await get(what, reader.token)).status).toBe(200);
      const other = await createMember(test, tenant, { permissions: ['integrations.manage', 'providers.read'] });
      expectError(await get(what, other.token), 403, 'AUTHORIZATION_ERROR');
      expectError(await test.call('GET', `${path}/${what}`), 401, 'AUTHENTICATION_ERROR');
    },
  );

  it('a member of the system tenant without system administration sees that tenant only', async () => {
    const system = { tenantId: systemTenantId, domain: 'system', name: '', admin: { token: root } } as Tenant;
    const member = await createMember(test, system, { permissions: ['integrations.read'] });
    const provider = newId();
    await addCall(test, tenant.tenantId, { provider });
    const own = await addCall(test, systemTenantId, { provider });
    expect(await ids(`logs?provider=${provider}`, member.token)).toEqual([own]);
    await createConnector(test, root, { api_key: provider });
    const { body } = await get('diagnostics', member.token);
    const checks: { tenantId: string | null }[] = body.data.latest_health_checks;
    expect(new Set(checks.map(({ tenantId }) => tenantId))).toEqual(new Set([null]));
  });
});
