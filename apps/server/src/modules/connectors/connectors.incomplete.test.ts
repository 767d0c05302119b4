import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import { adapters as geocoding } from '#modules/connectors/geocoding/adapters/adapters';
import { checkQuietConnectors } from '#modules/connectors/health/checks.service';
import { adapters as messaging } from '#modules/connectors/messaging/adapters/adapters';
import { adapters as models } from '#modules/connectors/models/adapters/adapters';
import { createConnector, patchConnector, path, storedConnector } from '#modules/connectors/testing/connectors';
import { serveProvider } from '#modules/connectors/testing/provider-server';
import { adapters as translation } from '#modules/connectors/translation/adapters/adapters';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const test = useService({ environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.0/8' } });
let tenant: Tenant;
let token: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
});

/** What each adapter cannot do without, and the category that its connectors have. */
const needed: Record<string, { category?: string; baseUrl?: string; missing: string[] }> = {
  openai: { missing: ['config.model'] },
  deepl: { missing: ['auth_config.api_key'] },
  libretranslate: { missing: [] },
  apertium: { missing: [] },
  modelhub: { missing: [] },
  nominatim: { missing: [] },
  webhook: { category: 'communication', missing: [] },
  twilio: { category: 'communication', missing: ['config.from', 'auth_config.account_sid', 'auth_config.auth_token'] },
  'whatsapp-cloud': { category: 'communication', missing: ['config.phone_number_id', 'auth_config.token'] },
  smtp: {
    category: 'communication',
    baseUrl: 'smtp://mail.example.com:587',
    missing: ['config.from', 'auth_config.user', 'auth_config.password'],
  },
};

/** Adapters are named by the api_key, which a tenant has once. */
afterEach(async () => {
  const { body } = await test.call('GET', `${path}?limit=200`, { token });
  for (const { id } of body.data.filter(({ tenantId }: { tenantId: string | null }) => tenantId !== null))
    await remove(id);
});

const remove = (id: string) => test.call('DELETE', `${path}/${id}`, { token });

it('covers every adapter', () => {
  const all = [geocoding, messaging, models, translation].flatMap((adapters) => Object.keys(adapters));
  expect(Object.keys(needed).toSorted()).toEqual(all.toSorted());
});

describe.each(Object.entries(needed))('a connector named %s with only the required fields', (api_key, adapter) => {
  const { category, baseUrl = 'https://api.example.com/v1', missing } = adapter;

  it('201: its status is unknown, and the answer lists the missing settings', async () => {
    const body = { api_key, api_name: 'API', api_base_url: baseUrl, ...(category === undefined ? {} : { category }) };
    const answer = await test.call('POST', path, { token, body });
    expect(answer).toMatchObject({ status: 201, body: { data: { status: 'unknown', enabled: true } } });
    const { error_message: message, error_details: details } = answer.body.data;
    if (missing.length === 0) expect([message, details]).toEqual([null, null]);
    else {
      for (const name of missing) expect(message).toContain(name);
      expect(details).toEqual({ kind: 'incomplete', missing });
    }
  });
});

describe('a connector that lacks settings', () => {
  const text = { text: 'Hall', source_language: 'en', target_language: 'de' };
  const translate = () => test.call('POST', '/api/v1/secure/ai/translate/text', { token, body: text });
  const incomplete = (rest: object = {}) => createConnector(test, token, { api_key: 'deepl', priority: 1, ...rest });

  it('is skipped by calls without a counted failure', async () => {
    const first = await serveProvider(() => ({ status: 200, body: '{}' }));
    const next = await serveProvider(() => ({ status: 200, body: JSON.stringify({ translatedText: ['Saal'] }) }));
    const { id } = await incomplete({ api_base_url: first.origin });
    await createConnector(test, token, { api_key: 'libretranslate', api_base_url: next.origin });
    expect((await translate()).body.data).toMatchObject({ translated_text: 'Saal', provider_used: 'libretranslate' });
    expect([first.asked.length, next.asked.length]).toEqual([0, 1]);
    expect(await storedConnector(test, tenant.tenantId, id)).toMatchObject({
      status: 'unknown',
      consecutive_failures: 0,
      auto_disabled: false,
      last_error: null,
    });
  });

  it('is not used, even as the only connector: 503, and the route explanation gives the reason', async () => {
    const { id } = await incomplete();
    const other = { ...text, text: 'Another hall' };
    const answer = await test.call('POST', '/api/v1/secure/ai/translate/text', { token, body: other });
    expectError(answer, 503, 'SERVICE_UNAVAILABLE', 'NO_PROVIDER');
    const explained = await test.call('POST', '/api/v1/secure/admin/external-apis/control-plane/route/explain', {
      token,
      body: { operation_key: 'translation.text' },
    });
    const { providers } = explained.body.data;
    expect(providers.find((provider: { connector_id: string }) => provider.connector_id === id)).toMatchObject({
      part: 'incomplete',
    });
  });

  it('is not called by health checks, which list the missing settings', async () => {
    const { origin, asked } = await serveProvider(() => ({ status: 500, body: '' }));
    const { id } = await incomplete({ api_base_url: origin });
    const tested = await test.call('POST', `${path}/${id}/test`, { token });
    expect(tested.body.data).toEqual({
      ok: false,
      status: 'unknown',
      latency_ms: 0,
      error_message: expect.stringContaining('auth_config.api_key'),
    });
    await checkQuietConnectors(test.service.services, { signal: AbortSignal.timeout(60_000), jitterMs: 0 });
    expect(asked).toEqual([]);
    expect(await storedConnector(test, tenant.tenantId, id)).toMatchObject({
      status: 'unknown',
      consecutive_failures: 0,
    });
  });

  it('can receive them one by one; present settings cannot be removed', async () => {
    const { id } = await incomplete();
    for (const body of [{ api_name: 'Other' }, { config: { formality: 'more' } }])
      expect((await patchConnector(test, token, id, body)).body.data.error_message).toContain('auth_config.api_key');
    const enabled = await test.call('POST', `${path}/${id}/enable`, { token });
    expect(enabled.body.data.error_message).toContain('auth_config.api_key');
    const complete = await patchConnector(test, token, id, { auth_config: { api_key: 'ours' } });
    expect(complete.body.data).toMatchObject({ status: 'unknown', error_message: null, error_details: null });
    const broken = await patchConnector(test, token, id, { auth_config: null });
    expectError(broken, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
    expect(broken.body.details.problem).toBe('auth_config.api_key is missing.');
  });

  it('422: an invalid setting, even while another one is missing', async () => {
    const body = {
      api_key: 'twilio',
      api_name: 'API',
      api_base_url: 'https://api.example.com',
      category: 'communication',
    };
    const answer = await test.call('POST', path, { token, body: { ...body, config: { from: '###' } } });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
    expect(answer.body.details.problem).toContain('config.from');
  });
});
