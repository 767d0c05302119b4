import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createConnector } from '#modules/connectors/testing/connectors';
import { addCall, addEvent, addHour, ago, hourAgo, path } from '#modules/integrations/testing/traffic';
import { createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

// Of all tenants everything is counted here, so no other test may add calls.
const test = useService({ ownDatabase: true });
const day = 24 * 3_600_000;
let tenant: Tenant;
let root: string;

beforeAll(async () => {
  root = (await logInSystemAdmin(test)).token;
});
beforeEach(async () => {
  tenant = await createTenant(test);
});

const read = async (what: string, token = tenant.admin.token): Promise<Record<string, any>> => {
  const answer = await test.call('GET', `${path}/${what}`, { token });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.data;
};

const nothing = {
  total_requests_24h: 0,
  success_requests_24h: 0,
  failure_requests_24h: 0,
  success_rate_24h: 100,
  warning_state_events_24h: 0,
  error_state_events_24h: 0,
  health_status: { active: 0, degraded: 0, offline: 0, error: 0, unknown: 0 },
};

async function setStatus(tenantId: string, id: string, fields: Record<string, unknown>): Promise<void> {
  const names = Object.keys(fields);
  await test.service.services.database.tenant(tenantId).interactive.all({
    kind: 'write',
    text: `update connectors set ${names.map((name, at) => `${name} = $${at + 3}`).join(', ')} where tenant_id = $1 and id = $2`,
    values: [tenantId, id, ...Object.values(fields)],
    prepare: false,
  });
}

describe('getIntegrationOverview', () => {
  it('200: without calls', async () => {
    expect(await read('overview')).toEqual(nothing);
  });

  it('200: calls since the start of the hour 24 hours ago', async () => {
    await addHour(test, tenant.tenantId, { successes: 5, failures: 1 });
    await addHour(test, tenant.tenantId, { hour: hourAgo(23), operation_key: 'models.list', rate_limited: 1 });
    await addHour(test, tenant.tenantId, { hour: hourAgo(26), successes: 1000, failures: 1000 });
    await addHour(test, tenant.tenantId, { operation_key: 'connectors.check', successes: 1000, failures: 1000 });
    expect(await read('overview')).toEqual({
      ...nothing,
      total_requests_24h: 7,
      success_requests_24h: 5,
      failure_requests_24h: 2,
      success_rate_24h: 71.43,
    });
  });

  it('200: the number of transitions to a worse state', async () => {
    for (const severity of ['warning', 'warning', 'error', 'info']) await addEvent(test, tenant.tenantId, { severity });
    await addEvent(test, tenant.tenantId, { severity: 'error', occurred_at: ago(25 * 3_600_000) });
    expect(await read('overview')).toEqual({ ...nothing, warning_state_events_24h: 2, error_state_events_24h: 1 });
  });

  it('200: connectors by state, of the tenant and of the installation', async () => {
    const statuses = ['active', 'active', 'degraded', 'offline', 'error', 'unknown'];
    for (const status of statuses) {
      const { id } = await createConnector(test, tenant.admin.token);
      await setStatus(tenant.tenantId, id, { status });
    }
    const own = { active: 2, degraded: 1, offline: 1, error: 1, unknown: 1 };
    expect((await read('overview')).health_status).toEqual(own);
    const shared = await createConnector(test, root);
    expect((await read('overview')).health_status).toEqual({ ...own, unknown: 2 });
    await test.call('DELETE', `/api/v1/secure/ai/providers/${shared.id}`, { token: root });
  });

  it('200: without data of other tenants, also when requested; system administrators see all or one', async () => {
    const before = await read('overview', root);
    const other = await createTenant(test);
    for (const { tenantId, admin } of [tenant, other]) {
      await addHour(test, tenantId, { successes: 1, failures: 1 });
      await addEvent(test, tenantId, { severity: 'error' });
      await createConnector(test, admin.token);
    }
    const one = {
      ...nothing,
      total_requests_24h: 2,
      success_requests_24h: 1,
      failure_requests_24h: 1,
      success_rate_24h: 50,
      error_state_events_24h: 1,
      health_status: { ...nothing.health_status, unknown: 1 },
    };
    expect(await read('overview')).toEqual(one);
    for (const foreign of [other.tenantId, newId()])
      expect(await read(`overview?tenantId=${foreign}`)).toEqual(nothing);
    expect(await read(`overview?tenantId=${other.tenantId}`, root)).toEqual(one);
    const after = await read('overview', root);
    expect(after.total_requests_24h - before.total_requests_24h).toBe(4);
    expect(after.error_state_events_24h - before.error_state_events_24h).toBe(2);
    expect(after.health_status.unknown - before.health_status.unknown).toBe(2);
  });

  it('400: an invalid tenant', async () => {
    const answer = await test.call('GET', `${path}/overview?tenantId=mine`, { token: root });
    expectError(answer, 400, 'VALIDATION_ERROR');
  });
});

describe('getIntegrationDiagnostics', () => {
  it('200: without calls', async () => {
    expect(await read('diagnostics')).toEqual({
      recent_failures: [],
      recent_state_alerts: [],
      latest_health_checks: [],
    });
  });

  it('200: failed calls, newest first, at most 50', async () => {
    await addCall(test, tenant.tenantId, { outcome: 'success' });
    await addCall(test, tenant.tenantId, { outcome: 'failure', operation_key: 'connectors.check' });
    await addCall(test, tenant.tenantId, { outcome: 'failure', failure: 'answer', called_at: ago(8 * day) });
    const limited = await addCall(test, tenant.tenantId, { outcome: 'rate_limited', called_at: ago(2 * day) });
    const failed = await addCall(test, tenant.tenantId, { outcome: 'failure', failure: 'answer' });
    const { recent_failures: failures } = await read('diagnostics');
    expect(failures.map((row: { id: string }) => row.id)).toEqual([failed, limited]);
    expect(failures[0]).toMatchObject({ status: 'failure', failure: 'answer', tenantId: tenant.tenantId });
    for (let at = 0; at < 50; at++) await addCall(test, tenant.tenantId, { outcome: 'failure' });
    expect((await read('diagnostics')).recent_failures).toHaveLength(50);
  });

  it('200: transitions to a worse state, newest first', async () => {
    await addEvent(test, tenant.tenantId, { severity: 'info' });
    await addEvent(test, tenant.tenantId, { severity: 'error', occurred_at: ago(8 * day) });
    const error = await addEvent(test, tenant.tenantId, { severity: 'error', occurred_at: ago(6 * day) });
    const warning = await addEvent(test, tenant.tenantId);
    const { recent_state_alerts: alerts } = await read('diagnostics');
    expect(alerts.map((row: { id: string }) => row.id)).toEqual([warning, error]);
    expect(alerts[0]).toEqual({
      id: warning,
      tenantId: tenant.tenantId,
      timestamp: expect.any(String),
      connector_id: expect.any(String),
      provider: 'deepl',
      from_status: 'active',
      to_status: 'degraded',
      severity: 'warning',
      reason: 'answer',
      message: 'It failed.',
    });
  });

  it('200: the latest health checks, without error details of the installation', async () => {
    const own = await createConnector(test, tenant.admin.token, { api_name: 'Own' });
    const shared = await createConnector(test, root, { api_name: 'Shared' });
    const checked = { status: 'error', last_health_check: '2026-01-02T00:00:00Z', error_message: 'It refuses.' };
    await setStatus(tenant.tenantId, own.id, { ...checked, last_latency_ms: 12, consecutive_failures: 2 });
    await setStatus('00000000-0000-7000-8000-000000000001', shared.id, { ...checked, last_health_check: ago(1000) });
    const { latest_health_checks: checks } = await read('diagnostics');
    expect(checks).toEqual([
      expect.objectContaining({ id: shared.id, tenantId: null, status: 'error', error_message: null }),
      {
        id: own.id,
        tenantId: tenant.tenantId,
        api_key: own.api_key,
        api_name: 'Own',
        status: 'error',
        enabled: true,
        auto_disabled: false,
        consecutive_failures: 2,
        last_health_check: '2026-01-02T00:00:00.000Z',
        last_latency_ms: 12,
        retry_at: null,
        error_message: 'It refuses.',
      },
    ]);
    const seen = (await read('diagnostics', root)).latest_health_checks;
    expect(seen[0]).toMatchObject({ id: shared.id, error_message: 'It refuses.' });
    expect(seen.map((row: { id: string }) => row.id)).toContain(own.id);
    await test.call('DELETE', `/api/v1/secure/ai/providers/${shared.id}`, { token: root });
  });

  it('200: without data of other tenants', async () => {
    const other = await createTenant(test);
    await addCall(test, other.tenantId, { outcome: 'failure' });
    await addEvent(test, other.tenantId);
    await createConnector(test, other.admin.token);
    const empty = { recent_failures: [], recent_state_alerts: [], latest_health_checks: [] };
    expect(await read('diagnostics')).toEqual(empty);
    expect(await read(`diagnostics?tenantId=${other.tenantId}`)).toEqual(empty);
    const seen = await read(`diagnostics?tenantId=${other.tenantId}`, root);
    expect(Object.values(seen).map((rows) => rows.length)).toEqual([1, 1, 1]);
  });
});
