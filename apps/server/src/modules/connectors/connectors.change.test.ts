import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import {
  createConnector,
  credentialsOf,
  markFailed,
  minimal,
  patchConnector,
  path,
  storedConnector,
} from '#modules/connectors/testing/connectors';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, strictlyLater } from '#test/support/harness';

let aheadMs = 0;
const later = strictlyLater();
const test = useService({ now: () => new Date(later().getTime() + aheadMs) });
let tenant: Tenant;
let token: string;
let stranger: string;
let reader: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  stranger = (await createTenant(test)).admin.token;
  reader = await createMember(test, tenant, { permissions: ['providers.read'] });
});

const patch = (id: string, body: unknown, by = token) => patchConnector(test, by, id, body);
const create = (body: Record<string, unknown> = {}) => createConnector(test, token, body);
const read = async (id: string) => (await test.call('GET', `${path}/${id}`, { token })).body.data;
const mask = '••••••••';

const unproven = { status: 'unknown', auto_disabled: false, consecutive_failures: 0 };
const failed = { status: 'error', auto_disabled: true, consecutive_failures: 5 };

describe('updateConnector', () => {
  const changes: [string, unknown][] = [
    ['api_name', 'Renamed'],
    ['api_base_url', 'https://api.example.com/v2'],
    ['api_base_url', 'https://other.example.com'],
    ['config', {}],
    ['config', { a: 1 }],
    ['enabled', false],
    ['priority', 100],
    ['description', null],
    ['tags', null],
    ['tags', ['x']],
    ['category', 'integration'],
  ];
  it.each(changes)('200: %s %j and nothing else', async (field, value) => {
    const before = await create({ config: { old: true }, description: 'old', tags: ['old'] });
    aheadMs += 1000;
    const answer = await patch(before.id, { [field]: value });
    expect(answer.body.data).toEqual({ ...before, [field]: value, updated_at: expect.any(String) });
    expect(answer.body.data.updated_at > before['updated_at']).toBe(true);
    expect(await read(before.id)).toEqual(answer.body.data);
  });

  it('200: with the id in upper case', async () => {
    const { id } = await create();
    expect((await patch(id.toUpperCase(), { priority: 2 })).body.data).toMatchObject({ id, priority: 2 });
  });

  it.each([
    ['api_base_url', { api_base_url: 'https://api.example.com/v2' }, unproven],
    ['auth_config', { auth_config: { token: 'new' } }, unproven],
    ['config', { config: { a: 1 } }, failed],
    ['enabled', { enabled: true }, failed],
    ['nothing, with no auth_config as before', { auth_config: null }, failed],
    ['nothing, with the same api_base_url', { api_base_url: 'https://api.example.com/v1' }, failed],
  ])('200: the health state after a change of %s', async (_field, body, health) => {
    const { id } = await create();
    await markFailed(test, tenant.tenantId, id);
    expect((await patch(id, body)).body.data).toMatchObject(health);
  });

  it('400: an empty body, unknown fields, api_key, and invalid values', async () => {
    const { id } = await create();
    const bodies = [
      {},
      { api_key: 'other' },
      { status: 'active' },
      { auto_disabled: false },
      { tenantId: null },
      { priority: 101 },
      { api_base_url: 'example.com' },
      { config: null },
      { config: { k: 'x'.repeat(16_377) } },
      { auth_config: { k: 'x'.repeat(16_377) } },
      [],
    ];
    for (const body of bodies) expectError(await patch(id, body), 400, 'VALIDATION_ERROR');
    expectError(await patch('42', { priority: 1 }), 400, 'VALIDATION_ERROR');
    expect((await patch(id, { config: { k: 'x'.repeat(16_376) } })).status).toBe(200);
  });

  it('401 and 403', async () => {
    const { id } = await create();
    expectError(await test.call('PATCH', `${path}/${id}`, { body: { priority: 1 } }), 401, 'AUTHENTICATION_ERROR');
    expectError(await patch(id, { priority: 1 }, reader.token), 403, 'AUTHORIZATION_ERROR');
  });

  it("404: an unknown id and another tenant's", async () => {
    const { id } = await create();
    expectError(await patch(newId(), { priority: 1 }), 404, 'NOT_FOUND');
    expectError(await patch(id, { priority: 1 }, stranger), 404, 'NOT_FOUND');
    expect((await read(id)).priority).toBe(50);
  });

  it('422: an address that must not be called', async () => {
    const { id } = await create();
    const answer = await patch(id, { api_base_url: 'http://10.0.0.1/' });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'ADDRESS_NOT_ALLOWED');
  });

  it('422: settings with which no message can be sent, whichever of them changes', async () => {
    const config = { adapter: 'twilio', from: 'Atrium' };
    const auth_config = { account_sid: 'AC1', auth_token: 'secret' };
    const messaging = await create({ category: 'communication', config, auth_config });
    for (const body of [
      { config: { adapter: 'twilio' } },
      { auth_config: null },
      { auth_config: { account_sid: 'AC1' } },
    ])
      expectError(await patch(messaging.id, body), 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
    expect((await patch(messaging.id, { config: { ...config, from: 'Other' } })).status).toBe(200);
    const other = await create({ config: { adapter: 'libretranslate' } });
    const moved = await patch(other.id, { category: 'communication' });
    expectError(moved, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
    expect((await patch(other.id, { category: 'communication', config: {} })).status).toBe(200);
  });
});

describe('credentials', () => {
  const stored = { token: 'canary-one', secret: 'canary-two' };
  const createWith = (auth_config: unknown = stored) => create({ auth_config });
  const credentials = (id: string) => credentialsOf(test, tenant.tenantId, id);

  it('are never returned, and a mask that is sent back keeps the stored value', async () => {
    const { id, auth_config: shown } = await createWith();
    expect(shown).toEqual({ token: mask, secret: mask });
    const answers = [
      await patch(id, { auth_config: shown, priority: 3 }),
      await test.call('GET', `${path}/${id}`, { token }),
      await test.call('GET', path, { token }),
      await test.call('POST', `${path}/${id}/disable`, { token }),
      await test.call('POST', `${path}/${id}/enable`, { token }),
    ];
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text).not.toMatch(/canary-(one|two)/);
    }
    expect(await credentials(id)).toEqual(stored);
    expect(test.logLines.join('\n')).not.toMatch(/canary-(one|two)/);
  });

  it('change key by key; omitted keys are removed', async () => {
    const { id } = await createWith();
    expect((await patch(id, { auth_config: { token: 'canary-new', secret: mask } })).status).toBe(200);
    expect(await credentials(id)).toEqual({ token: 'canary-new', secret: 'canary-two' });
    expect((await patch(id, { auth_config: { secret: mask, other: [1] } })).status).toBe(200);
    expect(await credentials(id)).toEqual({ secret: 'canary-two', other: [1] });
    expect((await patch(id, { auth_config: null })).body.data.auth_config).toBeNull();
    expect(await credentials(id)).toBeNull();
  });

  it('are kept if the body omits them', async () => {
    const { id } = await createWith();
    const before = await storedConnector(test, tenant.tenantId, id);
    expect((await patch(id, { api_name: 'Other' })).status).toBe(200);
    expect((await storedConnector(test, tenant.tenantId, id))['auth_config']).toBe(before['auth_config']);
  });

  it.each(['unknown', 'toString', 'hasOwnProperty'])(
    '422: a mask under the key %s, where nothing is stored',
    async (key) => {
      const { id } = await createWith();
      const answer = await patch(id, { auth_config: { [key]: mask } });
      expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'CREDENTIALS_REQUIRED');
      expect(await credentials(id)).toEqual(stored);
    },
  );

  const elsewhere = [
    'https://other.example.com/v1',
    'http://api.example.com/v1',
    'https://api.example.com:8443/v1',
    'https://api.example.com.other.example/v1',
    'https://xn--pi-fka.example.com/v1',
  ];
  it.each(elsewhere)('422: are not kept for a new address: %s', async (api_base_url) => {
    const { id } = await createWith();
    for (const rest of [{}, { auth_config: { token: mask, secret: 'new' } }]) {
      const answer = await patch(id, { api_base_url, ...rest });
      expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'CREDENTIALS_REQUIRED');
    }
    expect(await read(id)).toMatchObject({ api_base_url: 'https://api.example.com/v1' });
    expect(await credentials(id)).toEqual(stored);
  });

  it.each(elsewhere)('200: with new or removed credentials, the address can become %s', async (api_base_url) => {
    for (const auth_config of [{ token: 'new' }, {}, null]) {
      const { id } = await createWith();
      expect((await patch(id, { api_base_url, auth_config })).body.data).toMatchObject({ api_base_url });
      expect(await credentials(id)).toEqual(auth_config);
    }
  });

  it.each(['https://api.example.com/v2', 'https://API.example.com:443/v1?x=1'])(
    '200: stay at the same origin with %s',
    async (api_base_url) => {
      const { id } = await createWith();
      expect((await patch(id, { api_base_url })).status).toBe(200);
      expect(await credentials(id)).toEqual(stored);
    },
  );

  it('that are sent back masked change nothing, including the health state', async () => {
    const { id } = await createWith();
    const shown = (await read(id)).auth_config;
    await markFailed(test, tenant.tenantId, id);
    const { auth_config: sealed } = await storedConnector(test, tenant.tenantId, id);
    expect((await patch(id, { auth_config: shown })).body.data).toMatchObject(failed);
    expect(await storedConnector(test, tenant.tenantId, id)).toMatchObject({ auth_config: sealed });
    expect((await patch(id, { auth_config: { ...shown, more: 'x' } })).body.data).toMatchObject(unproven);
  });

  it('that cannot be decrypted are shown as null, and can be replaced', async () => {
    const { id } = await createWith();
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `update connectors set auth_config = 'v1.gone' where tenant_id = $1 and id = $2`,
      values: [tenant.tenantId, id],
      prepare: false,
    });
    expect((await read(id)).auth_config).toBeNull();
    expect((await test.call('GET', path, { token })).status).toBe(200);
    for (const body of [{ auth_config: { token: mask } }, { api_base_url: elsewhere[0] }])
      expectError(await patch(id, body), 422, 'UNPROCESSABLE_ENTITY', 'CREDENTIALS_REQUIRED');
    expect((await patch(id, { priority: 3 })).status).toBe(200);
    expect((await patch(id, { auth_config: stored })).status).toBe(200);
    expect(await credentials(id)).toEqual(stored);
  });

  it('are never sent to another address under concurrent changes', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { id } = await createWith({ token: 'canary' });
      const away = { api_base_url: 'https://other.example.com', auth_config: null };
      const change = (at: number) => patch(id, at % 5 === 4 ? away : { auth_config: { token: mask, at } });
      const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => change(at)));
      expect((await read(id)).api_base_url).toBe(away.api_base_url);
      expect(await credentials(id)).toBeNull();
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 422]));
    }
  });
});

describe('enableConnector and disableConnector', () => {
  it('200: enabling resets the health state', async () => {
    const before = await create({ enabled: false });
    await markFailed(test, tenant.tenantId, before.id);
    const answer = await test.call('POST', `${path}/${before.id}/enable`, { token });
    expect(answer.body.data).toEqual({
      ...before,
      enabled: true,
      status: 'unknown',
      updated_at: expect.any(String),
    });
    expect(answer.body.data).toMatchObject({ error_message: null, error_details: null, last_error: null });
    expect(await read(before.id)).toEqual(answer.body.data);
  });

  it('200: disabling keeps the health state', async () => {
    const { id } = await create();
    await markFailed(test, tenant.tenantId, id);
    for (let times = 0; times < 2; times += 1) {
      const { body, status } = await test.call('POST', `${path}/${id}/disable`, { token });
      expect([status, body.data.enabled]).toEqual([200, false]);
      expect(body.data).toMatchObject({ status: 'error', auto_disabled: true, consecutive_failures: 5 });
    }
  });

  it.each(['enable', 'disable'])('%s: 400, 401, 403 and 404', async (operation) => {
    const { id } = await create();
    const send = (of: string, by?: string) => test.call('POST', `${path}/${of}/${operation}`, { token: by });
    expectError(await send('42', token), 400, 'VALIDATION_ERROR');
    expectError(await send(id), 401, 'AUTHENTICATION_ERROR');
    expectError(await send(id, reader.token), 403, 'AUTHORIZATION_ERROR');
    expectError(await send(newId(), token), 404, 'NOT_FOUND');
    expectError(await send(id, stranger), 404, 'NOT_FOUND');
  });
});

describe('deleteConnector', () => {
  it('204: deletes it and frees its api_key', async () => {
    const { id, api_key } = await create();
    expect((await test.call('DELETE', `${path}/${id}`, { token })).status).toBe(204);
    expectError(await test.call('GET', `${path}/${id}`, { token }), 404, 'NOT_FOUND');
    expectError(await test.call('DELETE', `${path}/${id}`, { token }), 404, 'NOT_FOUND');
    expect((await test.call('POST', path, { token, body: { ...minimal(), api_key } })).status).toBe(201);
  });

  it('400, 401, 403 and 404', async () => {
    const { id } = await create();
    const send = (of: string, by?: string) => test.call('DELETE', `${path}/${of}`, { token: by });
    expectError(await send('42', token), 400, 'VALIDATION_ERROR');
    expectError(await send(id), 401, 'AUTHENTICATION_ERROR');
    expectError(await send(id, reader.token), 403, 'AUTHORIZATION_ERROR');
    expectError(await send(newId(), token), 404, 'NOT_FOUND');
    expectError(await send(id, stranger), 404, 'NOT_FOUND');
    expect((await read(id)).id).toBe(id);
  });
});
