import { beforeAll, describe, expect, it } from 'vitest';

import { createConnector, minimal, path, storedConnector } from '#modules/connectors/testing/connectors';
import { race } from '#test/support/directory';
import { createMember, createTenant, unique, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let token: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
});

const create = (body: Record<string, unknown>, by = token) =>
  test.call('POST', path, { token: by, body: { ...minimal(), ...body } });

/** An object whose JSON has exactly so many bytes. */
const ofBytes = (bytes: number) => ({ k: 'x'.repeat(bytes - 8) });

describe('createConnector', () => {
  it('201: returns the sent fields without the credentials', async () => {
    const body = {
      api_key: unique('api'),
      api_name: 'Directory',
      api_base_url: 'https://api.example.com:8443/v2?region=eu',
      config: { timeout: 5, nested: { list: [1, null, 'x'] } },
      auth_config: { token: 'canary-token', nested: { secret: 'canary-secret' }, none: null },
      enabled: false,
      priority: 1,
      description: 'Who is who',
      tags: ['people', 'sync'],
      category: 'system_sync',
    };
    const answer = await create(body);
    expect(answer.body.data).toEqual({
      ...body,
      id: expect.any(String),
      tenantId: tenant.tenantId,
      auth_config: { token: '••••••••', nested: '••••••••', none: '••••••••' },
      status: 'unknown',
      last_health_check: null,
      last_success: null,
      last_error: null,
      error_message: null,
      error_details: null,
      consecutive_failures: 0,
      auto_disable_threshold: 5,
      auto_disabled: false,
      created_at: expect.any(String),
      updated_at: answer.body.data.created_at,
      created_by: tenant.admin.userId,
    });
    expect(answer.text).not.toContain('canary');
    const stored = await storedConnector(test, tenant.tenantId, answer.body.data.id);
    expect(stored['auth_config']).toMatch(/^v1\./);
    expect(test.logLines.join('\n')).not.toContain('canary');
  });

  it('201: with the three required fields only', async () => {
    expect(await createConnector(test, token)).toMatchObject({
      config: {},
      auth_config: null,
      enabled: true,
      priority: 50,
      description: null,
      tags: null,
      category: 'app_service',
    });
  });

  it('201: for a member of a group that holds providers.manage', async () => {
    const manager = await createMember(test, tenant, { permissions: ['providers.manage'] });
    expect((await create({}, manager.token)).status).toBe(201);
  });

  const good: [string, unknown][] = [
    ['api_key', 'x'.repeat(90)],
    ['api_name', 'x'],
    ['api_name', '𝕏'.repeat(200)],
    ['api_base_url', 'http://example.com'],
    ['api_base_url', 'http://example.com:1024/'],
    ['api_base_url', 'https://93.184.216.34/v1'],
    ['api_base_url', 'https://[2606:4700:4700::1111]/'],
    ['api_base_url', `https://example.com/${'x'.repeat(1980)}`],
    ['config', {}],
    ['config', ofBytes(16_384)],
    ['auth_config', null],
    ['enabled', false],
    ['priority', 1],
    ['priority', 100],
    ['description', null],
    ['description', ''],
    ['description', 'x'.repeat(2000)],
    ['tags', null],
    ['tags', []],
    ['tags', Array.from({ length: 50 }, (_, at) => `${at}`.padEnd(50, 'x'))],
    ['category', 'system_sync'],
    ['category', 'app_service'],
    ['category', 'integration'],
    ['category', 'communication'],
  ];
  it.each(good)('201: %s %j', async (field, value) => {
    const given = field === 'api_key' ? `${value as string}${unique('').slice(-10)}` : value;
    expect((await createConnector(test, token, { [field]: given }))[field]).toEqual(given);
  });

  it('201: credentials of 16 KiB, and 400 a byte above', async () => {
    expect((await create({ auth_config: ofBytes(16_384) })).status).toBe(201);
    expectError(await create({ auth_config: ofBytes(16_385) }), 400, 'VALIDATION_ERROR');
  });

  const bad: [string, unknown][] = [
    ['api_key', ''],
    ['api_key', ' '],
    ['api_key', 'x'.repeat(101)],
    ['api_key', null],
    ['api_name', ''],
    ['api_name', 'x'.repeat(201)],
    ['api_base_url', ''],
    ['api_base_url', 'example.com'],
    ['api_base_url', 'ftp://example.com'],
    ['api_base_url', 'https://user@example.com'],
    ['api_base_url', 'https://user:password@example.com'],
    ['api_base_url', 'https://example.com/#part'],
    ['api_base_url', 'https://example.com/#'],
    ['api_base_url', 'https://example.com\\@other.example'],
    ['api_base_url', 'https://example.com/a b'],
    ['api_base_url', `https://example.com/${'x'.repeat(1981)}`],
    ['config', null],
    ['config', []],
    ['config', 'x'],
    ['config', ofBytes(16_385)],
    ['auth_config', 'token'],
    ['auth_config', []],
    ['enabled', 'true'],
    ['enabled', null],
    ['priority', 0],
    ['priority', 101],
    ['priority', 1.5],
    ['priority', '5'],
    ['description', 'x'.repeat(2001)],
    ['tags', ['']],
    ['tags', ['x'.repeat(51)]],
    ['tags', ['a', 'a']],
    ['tags', Array.from({ length: 51 }, (_, at) => `${at}`)],
    ['tags', 'a'],
    ['category', 'other'],
    ['category', null],
    ['status', 'active'],
    ['tenantId', null],
    ['auto_disabled', true],
    ['consecutive_failures', 0],
  ];
  it.each(bad)('400: %s %j', async (field, value) => {
    expectError(await create({ [field]: value }), 400, 'VALIDATION_ERROR');
  });

  it.each(['api_key', 'api_name', 'api_base_url'])('400: without %s', async (field) => {
    const { [field]: _left, ...body } = minimal() as Record<string, unknown>;
    expectError(await test.call('POST', path, { token, body }), 400, 'VALIDATION_ERROR');
  });

  it('401: without credentials', async () => {
    expectError(await test.call('POST', path, { body: minimal() }), 401, 'AUTHENTICATION_ERROR');
  });

  it('403: a member with only the read permission, before the body is validated', async () => {
    const reader = await createMember(test, tenant, { permissions: ['providers.read'] });
    expectError(await test.call('POST', path, { token: reader.token, body: {} }), 403, 'AUTHORIZATION_ERROR');
  });

  it('409: a duplicate api_key in the tenant; another tenant may use it', async () => {
    const { api_key } = await createConnector(test, token);
    expectError(await create({ api_key }), 409, 'CONFLICT', 'API_KEY_TAKEN');
    const stranger = await createTenant(test);
    expect((await create({ api_key }, stranger.admin.token)).status).toBe(201);
  });

  it('409: all but one of 50 concurrent requests, 20 times', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { api_key } = minimal();
      const answers = await Promise.all(Array.from({ length: 50 }, () => create({ api_key })));
      const statuses = answers.map(({ status }) => status).toSorted((left, right) => left - right);
      expect(statuses).toEqual([201, ...Array.from({ length: 49 }, () => 409)]);
    }
  });

  it('422: more than 100 connectors; after one is deleted, another can be created', async () => {
    const { tenantId, admin } = await createTenant(test);
    const one = await createConnector(test, admin.token);
    await test.service.services.database.tenant(tenantId).interactive.all({
      kind: 'write',
      text: `insert into connectors (tenant_id, id, api_key, api_name, api_base_url, config, enabled, priority, category, created_at, updated_at)
             select tenant_id, gen_random_uuid(), 'api-' || n, api_name, api_base_url, config, enabled, priority, category, created_at, updated_at
             from connectors, generate_series(1, 98) n where tenant_id = $1 and id = $2`,
      values: [tenantId, one['id']],
      prepare: false,
    });
    expect((await create({}, admin.token)).status).toBe(201);
    expectError(await create({}, admin.token), 422, 'UNPROCESSABLE_ENTITY', 'TOO_MANY_CONNECTORS');
    await test.call('DELETE', `${path}/${one['id']}`, { token: admin.token });
    expect((await create({}, admin.token)).status).toBe(201);
  });

  it('422: of 50 concurrent requests, all above the limit of connectors', async () => {
    const { tenantId, admin } = await createTenant(test);
    const one = await createConnector(test, admin.token);
    await test.service.services.database.tenant(tenantId).interactive.all({
      kind: 'write',
      text: `insert into connectors (tenant_id, id, api_key, api_name, api_base_url, config, enabled, priority, category, created_at, updated_at)
             select tenant_id, gen_random_uuid(), 'api-' || n, api_name, api_base_url, config, enabled, priority, category, created_at, updated_at
             from connectors, generate_series(1, 92) n where tenant_id = $1 and id = $2`,
      values: [tenantId, one['id']],
      prepare: false,
    });
    expect(await race(50, () => create({}, admin.token))).toEqual({ 201: 7, 422: 43 });
    // Past the list, which shows those of the installation too.
    const rows = await test.service.services.database.tenant(tenantId).all({
      kind: 'read',
      text: 'select id from connectors where tenant_id = $1',
      values: [tenantId],
      prepare: false,
    });
    expect(rows).toHaveLength(100);
  });

  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://[::1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://169.254.169.254/latest',
    'http://192.168.1.1:8443/',
    'http://example.com:5432/',
    'http://example.com:22/',
  ])('422: %s is not an allowed address', async (api_base_url) => {
    expectError(await create({ api_base_url }), 422, 'UNPROCESSABLE_ENTITY', 'ADDRESS_NOT_ALLOWED');
  });

  it('422: a mask without a stored value', async () => {
    const answer = await create({ auth_config: { token: '••••••••' } });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'CREDENTIALS_REQUIRED');
  });
});

describe('createConnector for messages', () => {
  const twilio = { account_sid: 'AC1', auth_token: 'canary' };
  const good: [config: unknown, auth: unknown][] = [
    [{}, null],
    [{ adapter: 'webhook', channels: ['sms', 'chatapp'], anything: 'else' }, {}],
    [{ channels: ['chatapp'] }, { token: 'a b', secret: 'x' }],
    [{}, { header: 'X-Api-Key', token: 'x'.repeat(4096), secret: `whsec_${'A'.repeat(32)}` }],
    [{}, { secret: 'x'.repeat(512) }],
    [{ adapter: 'twilio', from: '+15005550006' }, twilio],
    [{ adapter: 'twilio', from: 'Atrium', channels: ['sms', 'chatapp'] }, twilio],
    [{ adapter: 'whatsapp-cloud', phone_number_id: '106540352242922' }, { token: 'canary' }],
    [{ channels: ['email'] }, null],
  ];
  it.each(good)('201: %j %j', async (config, auth_config) => {
    expect((await create({ category: 'communication', config, auth_config })).status).toBe(201);
  });

  const bad: [problem: string, config: unknown, auth: unknown][] = [
    ['config.adapter', { adapter: 'pigeon' }, null],
    ['config.adapter', { adapter: 'constructor' }, null],
    ['config.adapter', { adapter: null }, null],
    ['config.channels', { channels: [] }, null],
    ['config.channels', { channels: ['fax'] }, null],
    ['config.channels', { channels: 'sms' }, null],
    ['config.channels', { channels: null }, null],
    ['config.channels', { adapter: 'whatsapp-cloud', channels: ['sms'], phone_number_id: '1' }, { token: 'x' }],
    ['auth_config.token', {}, { header: 'X-Api-Key' }],
    ['auth_config.token', {}, { token: 'canary\r\nHost: x' }],
    ['auth_config.token', {}, { token: 5 }],
    ['auth_config.token', {}, { token: 'x'.repeat(4097) }],
    ['auth_config.header', {}, { header: 'Host', token: 'canary' }],
    ['auth_config.header', {}, { header: 'webhook-signature', token: 'canary' }],
    ['auth_config.header', {}, { header: 'a:b', token: 'canary' }],
    ['auth_config.secret', {}, { secret: '' }],
    ['auth_config.secret', {}, { secret: 'x'.repeat(513) }],
    ['auth_config.secret', {}, { secret: 'whsec_not base64' }],
    ['config.from', { adapter: 'twilio', from: null }, twilio],
    ['config.from', { adapter: 'twilio', from: 'More than eleven' }, twilio],
    ['auth_config.account_sid', { adapter: 'twilio', from: 'Atrium' }, { ...twilio, account_sid: '../../x' }],
    ['auth_config.auth_token', { adapter: 'twilio', from: 'Atrium' }, { account_sid: 'AC1', auth_token: 5 }],
    ['auth_config.auth_token', { adapter: 'twilio' }, { auth_token: '' }],
    ['config.phone_number_id', { adapter: 'whatsapp-cloud', phone_number_id: '1/../2' }, { token: 'canary' }],
    ['auth_config.token', { adapter: 'whatsapp-cloud', phone_number_id: '1' }, { token: null }],
  ];
  it.each(bad)('422: %s in %j %j', async (problem, config, auth_config) => {
    const answer = await create({ category: 'communication', config, auth_config });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
    expect(answer.body.details.problem).toContain(problem);
    expect(answer.text).not.toContain('canary');
    // Settings of other categories are unknown without an adapter.
    const { adapter, ...rest } = config as Record<string, unknown>;
    const elsewhere = { category: 'integration', auth_config };
    expect((await create({ ...elsewhere, config: rest })).status).toBe(201);
    if (adapter !== undefined)
      expectError(await create({ ...elsewhere, config }), 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
  });
});

describe('createConnector for other adapters', () => {
  const accepted: [string, Record<string, unknown>][] = [
    ['none at all', { config: { timeout: 5 } }],
    ['by config.adapter', { config: { adapter: 'libretranslate' } }],
    ['of places', { config: { adapter: 'nominatim' }, category: 'integration' }],
    ['named like one of another category', { api_key: 'twilio' }],
  ];
  it.each(accepted)('201: %s', async (_what, body) => {
    expect(await create({ api_key: unique('api'), ...body })).toMatchObject({ status: 201 });
  });

  const refused: [string, Record<string, unknown>][] = [
    ['unknown', { config: { adapter: 'pigeon' } }],
    ['not a string', { config: { adapter: 5 } }],
    ['of a name that objects have', { config: { adapter: 'constructor' } }],
    ['of another category', { config: { adapter: 'nominatim' }, category: 'system_sync' }],
    ['whose credentials have another form', { config: { adapter: 'deepl' }, auth_config: { api_key: 5 } }],
    ['named by api_key, with an invalid option', { api_key: 'deepl', config: { formality: 'rude' } }],
  ];
  it.each(refused)('422: an adapter %s', async (_what, body) => {
    const answer = await create({ api_key: unique('api'), ...body });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
    expect(answer.body.details.problem).toMatch(/^(config|auth_config)\./);
  });
});
