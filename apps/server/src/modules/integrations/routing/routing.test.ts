import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { createGreeter, greet, status } from '#modules/connectors/calls/testing/providers';
import { createConnector } from '#modules/connectors/testing/connectors';
import { ago, path, savedOverride } from '#modules/integrations/testing/traffic';
import { createMember, createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

// Connectors of the installation serve all tenants.
const test = useService({ ownDatabase: true, environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });
const later = new Date(Date.now() + 3_600_000).toISOString();
let tenant: Tenant;
let root: string;

beforeAll(async () => {
  root = (await logInSystemAdmin(test)).token;
});
beforeEach(async () => {
  tenant = await createTenant(test);
});

const ask = (body: Record<string, unknown> = {}, token = tenant.admin.token) =>
  test.call('POST', `${path}/route/explain`, { token, body: { operation_key: 'translation.text', ...body } });
const explained = async (body: Record<string, unknown> = {}, token?: string): Promise<any> => {
  const answer = await ask(body, token);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.data;
};
const parts = async (body: Record<string, unknown> = {}, token?: string): Promise<string[][]> =>
  (await explained(body, token)).providers.map((one: Record<string, string>) => [one.api_key, one.part]);

/** A connector of the tenant that translates. */
const translator = (apiKey: string, body: Record<string, unknown> = {}, token = tenant.admin.token) =>
  createConnector(test, token, { api_key: apiKey, config: { adapter: 'libretranslate' }, ...body });
const override = (body: Record<string, unknown>) =>
  savedOverride(test, tenant.admin.token, { tenantId: tenant.tenantId, ...body });

async function set(id: string, fields: Record<string, unknown>): Promise<void> {
  const changes = Object.keys(fields).map((name, at) => `${name} = $${at + 3}`);
  await test.service.services.database.tenant(tenant.tenantId).interactive.all({
    kind: 'write',
    text: `update connectors set ${changes.join(', ')} where tenant_id = $1 and id = $2`,
    values: [tenant.tenantId, id, ...Object.values(fields)],
    prepare: false,
  });
}

describe('explainProviderRoute', () => {
  it('200: without a connector', async () => {
    expect(await explained()).toEqual({
      operation_key: 'translation.text',
      tenantId: tenant.tenantId,
      enabled: true,
      refusal: 'NO_PROVIDER',
      served_by: null,
      providers: [],
      unknown_preferences: [],
      quotas: [],
    });
  });

  it('200: all fields of a provider except address and configuration', async () => {
    const { id } = await translator('mine', {
      api_name: 'Mine',
      api_base_url: 'https://canary.example.com',
      config: { adapter: 'libretranslate', canary: 'canary' },
      auth_config: { api_key: 'canary' },
      priority: 7,
    });
    const answer = await ask();
    expect(answer.body.data).toMatchObject({ refusal: null, served_by: 'mine' });
    expect(answer.body.data.providers).toEqual([
      {
        api_key: 'mine',
        api_name: 'Mine',
        connector_id: id,
        level: 'tenant',
        priority: 7,
        preferred: false,
        own_credentials: false,
        status: 'unknown',
        part: 'serves',
        because: expect.any(String),
        retry_at: null,
      },
    ]);
    expect(answer.text).not.toContain('canary');
  });

  it("200: the tenant's by priority, then those of the installation, then the others", async () => {
    const shared = await translator('shared', { priority: 1 }, root);
    await translator('second', { priority: 20 });
    await translator('first', { priority: 10 });
    await translator('off', { enabled: false, priority: 1 });
    await createConnector(test, tenant.admin.token, { api_key: 'elsewhere', category: 'integration' });
    expect(await parts()).toEqual([
      ['first', 'serves'],
      ['second', 'next'],
      ['shared', 'next'],
      ['off', 'disabled'],
      ['elsewhere', 'unfit'],
    ]);
    expect((await explained()).providers.map((one: Record<string, string>) => one.level)).toEqual([
      'tenant',
      'tenant',
      'system',
      'tenant',
      'tenant',
    ]);
    expect(await parts({ operation_key: 'connectors.check' })).toEqual(
      expect.arrayContaining([
        ['first', 'unfit'],
        ['shared', 'unfit'],
      ]),
    );
    await test.call('DELETE', `/api/v1/secure/ai/providers/${shared.id}`, { token: root });
  });

  it('200: preferred providers first', async () => {
    await translator('first', { priority: 1 });
    await translator('second', { priority: 2 });
    await translator('third', { priority: 3 });
    await override({ preferred_provider_order: ['third', 'missing', 'second'] });
    const { providers, unknown_preferences: unknown } = await explained();
    expect(providers.map((one: Record<string, unknown>) => [one.api_key, one.part, one.preferred])).toEqual([
      ['third', 'serves', true],
      ['second', 'next', true],
      ['first', 'next', false],
    ]);
    expect(unknown).toEqual(['missing']);
  });

  it('200: failed and paused providers are skipped unless no other is available', async () => {
    const failing = await translator('failing', { priority: 1 });
    const patient = await translator('patient', { priority: 2 });
    const well = await translator('well', { priority: 3 });
    await set(failing.id, { auto_disabled: true, status: 'error', retry_at: later });
    await set(patient.id, { retry_at: later });
    expect(await parts()).toEqual([
      ['failing', 'paused'],
      ['patient', 'paused'],
      ['well', 'serves'],
    ]);
    expect((await explained()).providers[1]).toMatchObject({ retry_at: later, because: expect.any(String) });
    await test.call('POST', `/api/v1/secure/ai/providers/${well.id}/disable`, { token: tenant.admin.token });
    expect(await parts()).toEqual([
      ['failing', 'serves'],
      ['patient', 'paused'],
      ['well', 'disabled'],
    ]);
    // Its pause is over: one call tries whether it has recovered.
    await set(failing.id, { retry_at: ago(1000) });
    expect((await explained()).served_by).toBe('failing');
  });

  it('200: credentials of the tenant, and those stored for another address', async () => {
    const { id } = await translator('mine', { priority: 1 });
    await translator('other', { priority: 2 });
    await override({ customer_credentials: { mine: { api_key: 'canary' } } });
    const read = async () =>
      (await explained()).providers.map((one: Record<string, unknown>) => [one.part, one.own_credentials]);
    expect(await read()).toEqual([
      ['serves', true],
      ['next', false],
    ]);
    await set(id, { api_base_url: 'https://elsewhere.example.com' });
    expect(await read()).toEqual([
      ['unusable', true],
      ['serves', false],
    ]);
  });

  describe('with credentials of the tenant', () => {
    const greeter = async (priority: number) => {
      const one = await createGreeter(test, tenant.admin.token, { priority, config: { adapter: 'libretranslate' } });
      return one;
    };
    const call = () =>
      greet(test, { tenantId: tenant.tenantId, operation: 'translation.text' }).catch((error: unknown) => error);
    const told = async () =>
      (await explained()).providers.map((one: Record<string, unknown>) => [
        one.part,
        one.own_credentials,
        one.retry_at,
      ]);

    it('200: the end of a pause by Retry-After, for this tenant only', async () => {
      const [own, other] = [await greeter(1), await greeter(2)];
      await override({ customer_credentials: { [own.key]: { token: 'of the tenant' } } });
      own.answer(status(429, { 'retry-after': '300' }));
      await call();
      const at = expect.stringMatching(/^\d{4}-/) as unknown;
      expect(await told()).toEqual([
        ['paused', true, at],
        ['serves', false, null],
      ]);
      const { providers, served_by: servedBy } = await explained();
      const waitMs = Date.parse(providers[0].retry_at) - Date.now();
      expect([servedBy, waitMs > 200_000, waitMs <= 300_000]).toEqual([other.key, true, true]);
      expect(providers[0].because).toMatch(/credentials of the tenant.*retry_at/);
      await call();
      expect(own.asked).toHaveLength(1);
      // What is known of the connector is nothing of these credentials.
      await override({ customer_credentials: {} });
      expect((await explained()).served_by).toBe(own.key);
    });

    it('200: the end of a pause after failures, without an available connector', async () => {
      const own = await greeter(1);
      await override({ customer_credentials: { [own.key]: { token: 'of the tenant' } } });
      own.answer(status(500));
      for (let at = 0; at < 4; at += 1) await call();
      expect(await told()).toEqual([['serves', true, null]]);
      await call();
      expect(await explained()).toMatchObject({ refusal: null, served_by: null });
      const [[part, , retryAt]] = await told();
      expect([part, Date.parse(retryAt) > Date.now(), Date.parse(retryAt) <= Date.now() + 30_000]).toEqual([
        'paused',
        true,
        true,
      ]);
      await call();
      expect(own.asked).toHaveLength(5);
    });
  });

  it('200: refused if the operation is disabled or its quota is exceeded', async () => {
    await translator('mine');
    await override({ enabled: false });
    expect(await explained()).toMatchObject({
      enabled: false,
      refusal: 'OPERATION_DISABLED',
      served_by: null,
      providers: [{ api_key: 'mine', part: 'serves' }],
    });
    await override({ enabled: true, quota_ceiling: { requests_per_month: 2 } });
    expect(await explained()).toMatchObject({ refusal: null, served_by: 'mine', quotas: [{ remaining: 2 }] });
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `insert into operation_quota (tenant_id, operation_key, unit, period, starts_at, used)
             values ($1, 'translation.text', 'requests', 'month', $2, 2)`,
      values: [tenant.tenantId, `${new Date().toISOString().slice(0, 7)}-01T00:00:00Z`],
      prepare: false,
    });
    expect(await explained()).toMatchObject({
      refusal: 'QUOTA_EXCEEDED',
      served_by: null,
      quotas: [{ ceiling: 'requests_per_month', limit: 2, used: 2, remaining: 0 }],
    });
  });

  it('200: within the override of the installation, which tenants can only tighten', async () => {
    await translator('mine');
    const rule = await savedOverride(test, root, {
      tenantId: systemTenantId,
      quota_ceiling: { requests_per_day: 5 },
    });
    await override({ quota_ceiling: { requests_per_day: 50 } });
    expect((await explained()).quotas).toMatchObject([{ limit: 5 }]);
    await test.call('DELETE', `${path}/tenant-overrides/${String(rule.id)}`, { token: root });
    expect((await explained()).quotas).toMatchObject([{ limit: 50 }]);
  });

  it('200: connectors of the installation for models count only if the tenant has none', async () => {
    const list = (token: string, apiKey: string) =>
      createConnector(test, token, { api_key: apiKey, config: { adapter: 'modelhub' } });
    const shared = await list(root, 'shared-models');
    expect(await parts({ operation_key: 'models.list' })).toEqual([['shared-models', 'serves']]);
    await list(tenant.admin.token, 'own-models');
    expect(await parts({ operation_key: 'models.list' })).toEqual([
      ['own-models', 'serves'],
      ['shared-models', 'spared'],
    ]);
    await test.call('DELETE', `/api/v1/secure/ai/providers/${shared.id}`, { token: root });
  });

  it('200: of messages by channel', async () => {
    const body = { category: 'communication', config: { adapter: 'webhook', channels: ['sms'] } };
    await createConnector(test, tenant.admin.token, { api_key: 'codes', ...body });
    expect(await parts({ operation_key: 'messaging.sms' })).toEqual([['codes', 'serves']]);
    expect(await parts({ operation_key: 'messaging.chatapp' })).toEqual([['codes', 'unfit']]);
  });

  it('200: for any tenant by a system administrator', async () => {
    await translator('mine');
    expect(await explained({ tenantId: tenant.tenantId }, root)).toMatchObject({ served_by: 'mine' });
    expect(await explained({}, root)).toMatchObject({ tenantId: systemTenantId, served_by: null });
  });

  it.each([{ operation_key: '' }, { operation_key: null }, { tenantId: 'mine' }, { noSuchProperty: 1 }])(
    '400: %j',
    async (body) => {
      expectError(await ask(body), 400, 'VALIDATION_ERROR');
    },
  );

  it('401 without credentials, 403 without integrations.read', async () => {
    const body = { operation_key: 'translation.text' };
    expectError(await test.call('POST', `${path}/route/explain`, { body }), 401, 'AUTHENTICATION_ERROR');
    const member = await createMember(test, tenant, { permissions: ['providers.read'] });
    expectError(await ask({}, member.token), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: an unknown operation; another tenant, with the same answer as an unknown one', async () => {
    expectError(await ask({ operation_key: 'translation' }), 404, 'NOT_FOUND');
    const other = await createTenant(test);
    for (const tenantId of [other.tenantId, newId(), systemTenantId])
      expectError(await ask({ tenantId }), 404, 'NOT_FOUND');
  });
});
