import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { operations } from '#modules/connectors/index';
import {
  addCall,
  addHour,
  ago,
  hourAgo,
  path,
  saveOverride,
  savedOverride,
} from '#modules/integrations/testing/traffic';
import { createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

// The overrides of the installation are the rule for all.
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

const read = async (what: string, token = tenant.admin.token): Promise<any> => {
  const answer = await test.call('GET', `${path}/${what}`, { token });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.data;
};
const own = (body: object) => savedOverride(test, tenant.admin.token, { tenantId: tenant.tenantId, ...body });
const forAll = (body: object) => savedOverride(test, root, { tenantId: systemTenantId, ...body });
const remove = (id: unknown, token: string) => test.call('DELETE', `${path}/tenant-overrides/${String(id)}`, { token });

const textSummary = {
  operation_key: 'translation.text',
  operation_name: 'Translate a text',
  operation_domain: 'translation',
  enabled: true,
  system_scoped: false,
  request_count_24h: 0,
  failure_count_24h: 0,
};

describe('listOperations', () => {
  it('200: all operations with their calls', async () => {
    await addHour(test, tenant.tenantId, { successes: 4, failures: 2, rate_limited: 1 });
    await addHour(test, tenant.tenantId, { hour: hourAgo(23), provider: 'openai', failures: 1 });
    await addHour(test, tenant.tenantId, { hour: hourAgo(26), failures: 100 });
    const found: Record<string, unknown>[] = await read('operations');
    expect(found.map((row) => row.operation_key)).toEqual(Object.keys(operations));
    const text = found.find((row) => row.operation_key === 'translation.text');
    expect(text).toEqual({ ...textSummary, request_count_24h: 8, failure_count_24h: 4 });
    const scoped = found.filter((row) => row.system_scoped).map((row) => row.operation_key);
    expect(scoped).toEqual(['connectors.check']);
    const rest = found.filter((row) => row !== text);
    expect(new Set(rest.map((row) => row.request_count_24h))).toEqual(new Set([0]));
  });

  it('200: disabled by the tenant or by the installation', async () => {
    const isEnabled = async (token?: string, query = '') => {
      const found: { operation_key: string; enabled: boolean }[] = await read(`operations${query}`, token);
      return found.find((row) => row.operation_key === 'translation.text')!.enabled;
    };
    const other = await createTenant(test);
    expect(await isEnabled()).toBe(true);
    const ownId = (await own({ enabled: false })).id;
    expect([await isEnabled(), await isEnabled(other.admin.token), await isEnabled(root)]).toEqual([false, true, true]);
    expect(await isEnabled(root, `?tenantId=${tenant.tenantId}`)).toBe(false);
    await remove(ownId, tenant.admin.token);
    expect(await isEnabled()).toBe(true);
    const rule = await forAll({ enabled: false });
    await own({ enabled: true });
    expect([await isEnabled(), await isEnabled(other.admin.token), await isEnabled(root)]).toEqual([
      false,
      false,
      false,
    ]);
    await remove(rule.id, root);
    expect(await isEnabled()).toBe(true);
  });

  it("200: counts of the caller's tenant only; all of them for system administrators", async () => {
    const other = await createTenant(test);
    const counted = async (token?: string, query = '') => {
      const found: { request_count_24h: number }[] = await read(`operations${query}`, token);
      return found.reduce((sum, row) => sum + row.request_count_24h, 0);
    };
    const before = await counted(root);
    await addHour(test, tenant.tenantId, { successes: 1 });
    await addHour(test, other.tenantId, { successes: 50 });
    expect(await counted()).toBe(1);
    expect(await counted(tenant.admin.token, `?tenantId=${other.tenantId}`)).toBe(0);
    expect(await counted(root, `?tenantId=${other.tenantId}`)).toBe(50);
    expect((await counted(root)) - before).toBe(51);
  });
});

describe('getOperation', () => {
  const one = (token?: string, query = '') => read(`operations/translation.text${query}`, token);

  it('200: without calls', async () => {
    expect(await one()).toEqual({
      operation: {
        ...textSummary,
        id: operations['translation.text'].id,
        override_id: null,
        preferred_provider_order: [],
        quotas: [],
      },
      metrics: [],
      recent_logs: [],
    });
  });

  it('200: with its hourly metrics and latest calls, without other operations', async () => {
    await addHour(test, tenant.tenantId, { successes: 1 });
    await addHour(test, tenant.tenantId, { successes: 1, operation_key: 'models.list' });
    await addHour(test, tenant.tenantId, { hour: hourAgo(26), successes: 1 });
    const id = await addCall(test, tenant.tenantId, { called_at: ago(2 * day) });
    await addCall(test, tenant.tenantId, { operation_key: 'models.list' });
    await addCall(test, tenant.tenantId, { called_at: ago(8 * day) });
    const { operation, metrics, recent_logs: calls } = await one();
    expect(operation.request_count_24h).toBe(1);
    expect(metrics).toEqual([expect.objectContaining({ hour: hourAgo(0), operation_key: 'translation.text' })]);
    expect(calls).toEqual([expect.objectContaining({ id, tenantId: tenant.tenantId })]);
  });

  it('200: with the quota limits of the tenant, which the installation can only lower', async () => {
    const quotaLimits = { requests_per_day: 100, characters_per_month: 5000, note: 'mine' };
    const { id } = await own({ preferred_provider_order: ['openai'], quota_ceiling: quotaLimits });
    const rule = await forAll({ quota_ceiling: { requests_per_day: 40, tokens_per_month: 9 } });
    const { operation } = await one();
    expect(operation).toMatchObject({ override_id: id, preferred_provider_order: ['openai'] });
    const now = new Date();
    const midnight = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1)).toISOString();
    const nextMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
    expect(operation.quotas).toEqual([
      { ceiling: 'requests_per_day', limit: 40, used: 0, remaining: 40, resets_at: midnight },
      { ceiling: 'characters_per_month', limit: 5000, used: 0, remaining: 5000, resets_at: nextMonth },
      { ceiling: 'tokens_per_month', limit: 9, used: 0, remaining: 9, resets_at: nextMonth },
    ]);
    expect((await one(root)).operation.quotas).toEqual([]);
    expect((await one(root, `?tenantId=${tenant.tenantId}`)).operation.quotas).toEqual(operation.quotas);
    await remove(rule.id, root);
  });

  it('200: with the usage in the current period', async () => {
    await own({ quota_ceiling: { requests_per_day: 3 } });
    const startOfDay = `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`;
    for (const [startsAt, used] of [
      [startOfDay, 5],
      [new Date(Date.parse(startOfDay) - day).toISOString(), 2],
    ]) {
      await test.service.services.database.tenant(tenant.tenantId).interactive.all({
        kind: 'write',
        text: `insert into operation_quota (tenant_id, operation_key, unit, period, starts_at, used)
               values ($1, 'translation.text', 'requests', 'day', $2, $3)`,
        values: [tenant.tenantId, startsAt, used],
        prepare: false,
      });
    }
    expect((await one()).operation.quotas).toMatchObject([{ limit: 3, used: 5, remaining: 0 }]);
  });

  it('404: an unknown operation', async () => {
    for (const key of ['translation', 'translation.texts', 'toString', '__proto__', '%20']) {
      const answer = await test.call('GET', `${path}/operations/${key}`, { token: tenant.admin.token });
      expectError(answer, 404, 'NOT_FOUND');
    }
  });

  it('200: without data of other tenants', async () => {
    const other = await createTenant(test);
    await addHour(test, other.tenantId, { successes: 1 });
    await addCall(test, other.tenantId);
    await saveOverride(test, other.admin.token, { tenantId: other.tenantId, enabled: false });
    for (const query of ['', `?tenantId=${other.tenantId}`]) {
      const { operation, metrics, recent_logs: calls } = await one(tenant.admin.token, query);
      expect([metrics, calls, operation.override_id, operation.enabled]).toEqual([[], [], null, true]);
    }
  });
});
