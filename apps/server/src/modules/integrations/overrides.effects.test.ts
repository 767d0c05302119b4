import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { createConnector } from '#modules/connectors/testing/connectors';
import { libretranslateFake } from '#modules/connectors/translation/adapters/libretranslate/testing/fake';
import { connectorAt, startProvider, type Provider } from '#modules/connectors/translation/adapters/testing/provider';
import { path, savedOverride } from '#modules/integrations/testing/traffic';
import { createTenant, logInSystemAdmin, unique, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

// Connectors and overrides of the installation apply to all tenants.
const test = useService({ ownDatabase: true, environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });
let tenant: Tenant;
let other: Tenant;
let root: string;

beforeAll(async () => {
  root = (await logInSystemAdmin(test)).token;
});
beforeEach(async () => {
  tenant = await createTenant(test);
  other = await createTenant(test);
});

/** Never the same text, which memory would know. */
const translate = ({ admin }: Tenant, text = unique('words')): Promise<Answer> =>
  test.call('POST', '/api/v1/secure/ai/translate/text', {
    token: admin.token,
    body: { text, source_language: 'en', target_language: 'de' },
  });
const served = async (by: Tenant): Promise<string> => {
  const answer = await translate(by);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.data.provider_used;
};
const override = ({ tenantId, admin }: Tenant, body: Record<string, unknown>) =>
  savedOverride(test, admin.token, { tenantId, ...body });
const forAll = (body: Record<string, unknown>) => savedOverride(test, root, { tenantId: systemTenantId, ...body });
const remove = async (id: unknown, token: string) => {
  const answer = await test.call('DELETE', `${path}/tenant-overrides/${String(id)}`, { token });
  expect(answer.status).toBe(204);
};
const read = async (what: string, { admin }: Tenant): Promise<any> => {
  const answer = await test.call('GET', `${path}/${what}`, { token: admin.token });
  expect(answer.status).toBe(200);
  return answer.body.data;
};

/** A provider on a socket, and a connector of the tenant that leads to it. */
async function provide(token: string, apiKey: string, rest: Record<string, unknown> = {}): Promise<Provider> {
  const provider = await startProvider(libretranslateFake);
  await createConnector(test, token, { api_key: apiKey, ...connectorAt(libretranslateFake, provider, rest) });
  return provider;
}

/** What each request logged in with. */
const keysAt = ({ requests }: Provider) => requests.map(({ body }) => JSON.parse(body).api_key);

describe('enabled', () => {
  it('false refuses the operation without a call, for that tenant and that operation only', async () => {
    const provider = await provide(tenant.admin.token, 'own');
    await provide(other.admin.token, 'own');
    const { id } = await override(tenant, { enabled: false });
    expectError(await translate(tenant), 403, 'AUTHORIZATION_ERROR', 'OPERATION_DISABLED');
    expect(provider.requests).toEqual([]);
    expect(await read('logs', tenant)).toEqual([]);
    expect(await served(other)).toBe('own');
    const names = await test.call('POST', '/api/v1/secure/ai/translate/i18n', {
      token: tenant.admin.token,
      body: { i18n_data: { en: { name: 'Room' } }, source_language: 'en', target_languages: ['de'] },
    });
    expect(names.status).toBe(200);
    await remove(id, tenant.admin.token);
    expect(await served(tenant)).toBe('own');
  });

  it('false of the installation refuses it for all tenants, independent of their overrides', async () => {
    const provider = await provide(tenant.admin.token, 'own');
    const { id } = await forAll({ enabled: false });
    await override(tenant, { enabled: true });
    for (const each of [tenant, other])
      expectError(await translate(each), 403, 'AUTHORIZATION_ERROR', 'OPERATION_DISABLED');
    expect(provider.requests).toEqual([]);
    await remove(id, root);
    expect(await served(tenant)).toBe('own');
  });
});

describe('preferred_provider_order', () => {
  it('applies to the next call, and the route explanation shows it', async () => {
    await provide(tenant.admin.token, 'first', { priority: 1 });
    await provide(tenant.admin.token, 'second', { priority: 2 });
    const explained = async () => {
      const body = { operation_key: 'translation.text' };
      const answer = await test.call('POST', `${path}/route/explain`, { token: tenant.admin.token, body });
      return answer.body.data.served_by;
    };
    expect([await served(tenant), await explained()]).toEqual(['first', 'first']);
    const { id } = await override(tenant, { preferred_provider_order: ['unknown', 'second'] });
    expect([await served(tenant), await explained()]).toEqual(['second', 'second']);
    await remove(id, tenant.admin.token);
    expect([await served(tenant), await explained()]).toEqual(['first', 'first']);
  });

  it('fails over within one request, and both attempts are in the log', async () => {
    const failing = await provide(tenant.admin.token, 'failing', { priority: 2 });
    await provide(tenant.admin.token, 'well', { priority: 1 });
    failing.misbehave((response) => void response.writeHead(500).end('canary'));
    await override(tenant, { preferred_provider_order: ['failing'] });
    expect(await served(tenant)).toBe('well');
    const calls: Record<string, unknown>[] = await read('logs', tenant);
    expect(calls).toHaveLength(2);
    expect(calls).toContainEqual(expect.objectContaining({ provider: 'well', status: 'success', failure: null }));
    const failed = { provider: 'failing', status: 'failure', failure: 'answer', http_status: 500 };
    expect(calls).toContainEqual(expect.objectContaining(failed));
    expect(new Set(calls.map(({ request_id: id }) => id)).size).toBe(1);
    expect(JSON.stringify(calls)).not.toMatch(/canary|127\.0\.0\.1/);
    expect(await read('overview', tenant)).toMatchObject({
      total_requests_24h: 2,
      failure_requests_24h: 1,
      success_rate_24h: 50,
    });
    const { recent_failures: failures } = await read('diagnostics', tenant);
    expect(failures).toMatchObject([{ provider: 'failing' }]);
    const { operation, metrics } = await read('operations/translation.text', tenant);
    expect(operation).toMatchObject({ request_count_24h: 2, failure_count_24h: 1 });
    expect(metrics).toHaveLength(2);
    expect(await read('logs', other)).toEqual([]);
  });
});

describe('customer_credentials', () => {
  it('are used for that tenant only, and their failures do not count against the connector', async () => {
    const wrong = libretranslateFake.wrongCredentials;
    const shared = await provide(root, 'shared', { auth_config: libretranslateFake.credentials });
    const mine = await override(tenant, { customer_credentials: { shared: wrong } });
    expect(await served(other)).toBe('shared');
    for (let at = 0; at < 6; at++) expectError(await translate(tenant), 502, 'UPSTREAM_ERROR');
    expect(await served(other)).toBe('shared');
    const right = libretranslateFake.credentials!.api_key;
    expect(keysAt(shared)).toEqual([right, ...Array.from({ length: 6 }, () => wrong.api_key), right]);
    const calls: Record<string, unknown>[] = await read('logs', tenant);
    expect(calls.map(({ failure, own_credentials: own }) => [failure, own])).toEqual(
      Array.from({ length: 6 }, () => ['credentials', true]),
    );
    expect(await read('logs', other)).toMatchObject([{ own_credentials: false }, { own_credentials: false }]);
    const { latest_health_checks: checks } = await read('diagnostics', other);
    expect(checks).toMatchObject([{ api_key: 'shared', status: 'active', consecutive_failures: 0 }]);
    await override(tenant, { customer_credentials: {} });
    expect(await served(tenant)).toBe('shared');
    await remove(mine.id, tenant.admin.token);
    await removeConnector('shared');
  });

  it('without a key belong to the first connector of the order', async () => {
    const first = await provide(tenant.admin.token, 'first', { auth_config: libretranslateFake.wrongCredentials });
    const second = await provide(tenant.admin.token, 'second', { auth_config: libretranslateFake.wrongCredentials });
    await override(tenant, {
      preferred_provider_order: ['second', 'first'],
      customer_credentials: libretranslateFake.credentials,
    });
    expect(await served(tenant)).toBe('second');
    expect(first.requests).toEqual([]);
    expect(keysAt(second)).toEqual([libretranslateFake.credentials!.api_key]);
  });
});

describe('quota_ceiling', () => {
  it('is exact for concurrent calls', async () => {
    const provider = await provide(tenant.admin.token, 'own');
    await provide(other.admin.token, 'own');
    await override(tenant, { quota_ceiling: { requests_per_month: 7 } });
    const answers = await Promise.all(Array.from({ length: 50 }, () => translate(tenant)));
    const passed = answers.filter(({ status }) => status === 200);
    expect(passed).toHaveLength(7);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expectError(answer, 429, 'RATE_LIMIT_EXCEEDED', 'QUOTA_EXCEEDED');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(provider.requests).toHaveLength(7);
    const { operation } = await read('operations/translation.text', tenant);
    expect(operation.quotas).toMatchObject([{ ceiling: 'requests_per_month', limit: 7, used: 7, remaining: 0 }]);
    expect(await served(other)).toBe('own');
  });

  it('of the tenant and of the installation: the smaller one applies', async () => {
    await provide(tenant.admin.token, 'own');
    const { id } = await forAll({ quota_ceiling: { characters_per_month: 20 } });
    await override(tenant, { quota_ceiling: { characters_per_month: 1000 } });
    expect((await translate(tenant, 'twelve chars')).status).toBe(200);
    expectError(await translate(tenant, 'chars twelve'), 429, 'RATE_LIMIT_EXCEEDED', 'QUOTA_EXCEEDED');
    expect((await translate(tenant, 'eight at')).status).toBe(200);
    await remove(id, root);
    expect((await translate(tenant, 'chars twelve')).status).toBe(200);
  });

  it('is not used by calls that all providers failed', async () => {
    const provider = await provide(tenant.admin.token, 'own');
    provider.misbehave((response) => void response.writeHead(500).end());
    await override(tenant, { quota_ceiling: { requests_per_month: 1 } });
    for (let at = 0; at < 3; at++) expectError(await translate(tenant), 502, 'UPSTREAM_ERROR');
    const { operation } = await read('operations/translation.text', tenant);
    expect(operation.quotas).toMatchObject([{ used: 0, remaining: 1 }]);
  });
});

async function removeConnector(apiKey: string): Promise<void> {
  const { body } = await test.call('GET', `/api/v1/secure/ai/providers?search=${apiKey}`, { token: root });
  for (const { id } of body.data) await test.call('DELETE', `/api/v1/secure/ai/providers/${id}`, { token: root });
}
