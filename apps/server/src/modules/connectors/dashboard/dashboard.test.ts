import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { CallFacts } from '#core/platform/outbound/call-log';
import { createConnector, path } from '#modules/connectors/testing/connectors';
import { createMember, createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService({ ownDatabase: true });
let tenant: Tenant;
let token: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
});

const read = async (by = token) => (await test.call('GET', `${path}/dashboard`, { token: by })).body.data;

const called = (connector: Record<string, any>, rest: Partial<CallFacts> = {}) =>
  test.service.services.callLog.record({
    tenantId: tenant.tenantId,
    operation: 'geocoding.search',
    connectorId: connector['id'],
    provider: connector['api_key'],
    outcome: 'success',
    failure: null,
    httpStatus: 200,
    latencyMs: 100,
    ownCredentials: false,
    characters: null,
    tokens: null,
    requestId: null,
    userId: null,
    ...rest,
  });
const written = () => test.service.services.callLog.flush();
const set = (id: string, text: string) =>
  test.service.services.database.tenant(tenant.tenantId).interactive.all({
    kind: 'write',
    text: `update connectors set ${text} where tenant_id = $1 and id = $2`,
    values: [tenant.tenantId, id],
    prepare: false,
  });

describe('getConnectorDashboard', () => {
  it('200: all values are zero without connectors', async () => {
    expect(await read()).toEqual({
      total_providers: 0,
      active_providers: 0,
      inactive_providers: 0,
      error_providers: 0,
      uptime_percentage: 100,
      avg_latency_ms: 0,
      cache_hit_rate: 0,
      recent_activity: [],
      provider_stats: [],
    });
  });

  it("200: own connectors and the installation's by name, with the tenant's own calls", async () => {
    const system = (await logInSystemAdmin(test)).token;
    const stranger = await createTenant(test);
    await createConnector(test, stranger.admin.token);
    const own = await createConnector(test, token, { priority: 1, api_name: 'Own' });
    const off = await createConnector(test, token, { priority: 2, enabled: false, api_name: 'Off' });
    const failing = await createConnector(test, token, { priority: 3, api_name: 'Failing' });
    await set(failing.id, `status = 'offline', last_error = '2026-01-01T00:00:00Z'`);
    const shared = await createConnector(test, system, { api_name: 'Shared' });
    called(own);
    called(own, { latencyMs: 201 });
    called(own, { outcome: 'rate_limited', failure: 'rate_limited', latencyMs: 50 });
    called(shared, { outcome: 'failure', failure: 'unreachable', latencyMs: 1000 });
    called(shared, { operation: 'connectors.check' });
    called(shared, { tenantId: stranger.tenantId });
    const gone = { id: newId(), api_key: 'gone' };
    called(gone, { latencyMs: 10 });
    test.service.services.callLog.recordCacheHit(
      { tenantId: tenant.tenantId, operation: 'translation.text', provider: own.api_key },
      5,
    );
    const data = await read();
    const call = (provider_name: string, status: string, latency_ms: number) => ({
      id: expect.any(String),
      provider_name,
      status,
      timestamp: expect.any(String),
      latency_ms,
    });
    expect(data.recent_activity.toSorted((a: any, b: any) => a.latency_ms - b.latency_ms)).toEqual([
      call('gone', 'success', 10),
      call('Own', 'rate_limited', 50),
      call('Own', 'success', 100),
      call('Own', 'success', 201),
      call('Shared', 'failure', 1000),
    ]);
    const idle = { success_rate: 100, avg_latency_ms: 0, last_success: null, last_error: null };
    const stats = (of: Record<string, any>, rest: object) => ({
      provider_key: of['api_key'],
      provider_name: of['api_name'],
      status: 'unknown',
      ...idle,
      ...rest,
    });
    expect({ ...data, recent_activity: [] }).toEqual({
      total_providers: 4,
      active_providers: 2,
      inactive_providers: 1,
      error_providers: 1,
      // Four of five: three calls and a check were answered.
      uptime_percentage: 80,
      avg_latency_ms: 272.2,
      cache_hit_rate: 50,
      recent_activity: [],
      provider_stats: [
        stats(own, { success_rate: 66.67, avg_latency_ms: 117 }),
        stats(off, {}),
        stats(failing, { status: 'offline', last_error: '2026-01-01T00:00:00.000Z' }),
        stats(shared, { success_rate: 0, avg_latency_ms: 1000 }),
      ],
    });
    expect(JSON.stringify(data)).not.toContain('api.example.com');
  });

  it('200: the last 24 hours only', async () => {
    const other = await createTenant(test);
    const connector = await createConnector(test, other.admin.token);
    called(connector, { tenantId: other.tenantId });
    await written();
    await test.service.services.database.platform().interactive.batch([
      {
        kind: 'write',
        text: `update provider_call_hours set hour = hour - interval '25 hours' where tenant_id = $1`,
        values: [other.tenantId],
        prepare: false,
      },
    ]);
    expect(await read(other.admin.token)).toMatchObject({ uptime_percentage: 100, avg_latency_ms: 0 });
  });

  it('401 and 403', async () => {
    const unprivileged = await createMember(test, tenant, { permissions: ['users.read'] });
    expectError(await test.call('GET', `${path}/dashboard`), 401, 'AUTHENTICATION_ERROR');
    const answer = await test.call('GET', `${path}/dashboard`, { token: unprivileged.token });
    expectError(answer, 403, 'AUTHORIZATION_ERROR');
  });
});
