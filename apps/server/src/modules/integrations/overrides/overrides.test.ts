import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { operations } from '#modules/connectors/index';
import { createConnector } from '#modules/connectors/testing/connectors';
import { path, saveOverride, savedOverride } from '#modules/integrations/testing/traffic';
import {
  createMember,
  createTenant,
  grant,
  logIn,
  logInSystemAdmin,
  unique,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const mask = '••••••••';
let tenant: Tenant;
let root: string;

beforeAll(async () => {
  root = (await logInSystemAdmin(test)).token;
});
beforeEach(async () => {
  tenant = await createTenant(test);
});

const save = (body: Record<string, unknown> = {}, token = tenant.admin.token) =>
  saveOverride(test, token, { tenantId: tenant.tenantId, ...body });
const saved = (body: Record<string, unknown> = {}, token = tenant.admin.token) =>
  savedOverride(test, token, { tenantId: tenant.tenantId, ...body });
const list = (query = '', token = tenant.admin.token) =>
  test.call('GET', `${path}/tenant-overrides${query}`, { token });
const remove = (id: unknown, token = tenant.admin.token) =>
  test.call('DELETE', `${path}/tenant-overrides/${String(id)}`, { token });
const trail = async (action: string, token = tenant.admin.token) =>
  (await test.call('GET', `/api/v1/secure/audit-logs?action=${action}`, { token })).body.data;

/** What is stored, as its owner sees it. */
async function stored(id: unknown): Promise<Record<string, any>> {
  const row = await test.service.services.database.tenant(tenant.tenantId).first<Record<string, any>>({
    kind: 'read',
    text: 'select * from operation_overrides where tenant_id = $1 and id = $2',
    values: [tenant.tenantId, id],
    prepare: false,
  });
  return row!;
}

describe('saveTenantOverride', () => {
  it('200: creates an override with only the sent fields', async () => {
    const at = test.service.services.now().getTime();
    const answer = await save({
      enabled: false,
      preferred_provider_order: ['openai', 'deepl'],
      quota_ceiling: { requests_per_day: 10, kept: 'too' },
      override_config: { note: { of: ['any', 1] } },
      customer_credentials: { openai: { token: 'canary', other: 'canary' } },
    });
    expect(answer.body).toEqual({
      data: {
        id: expect.any(String),
        tenantId: tenant.tenantId,
        operation_id: operations['translation.text'].id,
        enabled: false,
        preferred_provider_order: ['openai', 'deepl'],
        quota_ceiling: { requests_per_day: 10, kept: 'too' },
        override_config: { note: { of: ['any', 1] } },
        customer_credentials: { openai: { token: mask, other: mask } },
        created_at: answer.body.data.updated_at,
        updated_at: expect.any(String),
      },
    });
    expect(answer.status).toBe(200);
    expect(Date.parse(answer.body.data.created_at)).toBeGreaterThanOrEqual(at);
    expect(JSON.stringify(await stored(answer.body.data.id))).not.toContain('canary');
  });

  it('200: creates an override with defaults for omitted fields', async () => {
    expect(await saved()).toMatchObject({
      enabled: true,
      preferred_provider_order: [],
      quota_ceiling: {},
      override_config: {},
      customer_credentials: {},
    });
  });

  it('200: changes the existing override and keeps omitted fields', async () => {
    const first = await saved({
      preferred_provider_order: ['openai'],
      quota_ceiling: { requests_per_day: 10 },
      override_config: { a: 1 },
      customer_credentials: { openai: { token: 'canary' } },
    });
    const second = await saved({ enabled: false });
    expect(second).toEqual({ ...first, enabled: false, updated_at: expect.any(String) });
    const third = await saved({ preferred_provider_order: [], quota_ceiling: {}, override_config: {} });
    expect(third).toMatchObject({
      id: first.id,
      enabled: true,
      preferred_provider_order: [],
      quota_ceiling: {},
      override_config: {},
      customer_credentials: { openai: { token: mask } },
    });
    expect((await list()).body.total).toBe(1);
  });

  it('200: keeps a masked credential, changes another one, and {} removes all', async () => {
    const { id } = await saved({
      customer_credentials: { openai: { token: 'first', key: 'kept' }, deepl: { a: 'b' } },
    });
    const before = (await stored(id)).customer_credentials;
    await saved({ customer_credentials: { openai: { token: 'second', key: mask } } });
    const opened = async () => {
      const { customer_credentials: sealed } = await stored(id);
      return test.service.services.encryption.decrypt(sealed, `operation_overrides.customer_credentials:${String(id)}`);
    };
    expect(await opened()).toContain('second');
    expect(await opened()).toContain('kept');
    expect(await opened()).not.toMatch(/first|deepl/);
    expect((await stored(id)).customer_credentials).not.toBe(before);
    expect((await saved({ customer_credentials: {} })).customer_credentials).toEqual({});
    expect((await stored(id)).customer_credentials).toBeNull();
  });

  it('200: credentials without a key belong to the first provider of the order, when there is one', async () => {
    const flat = { customer_credentials: { token: 'canary', key: 'canary' } };
    const masked = { token: mask, key: mask };
    const { id, ...first } = await saved(flat);
    expect(first.customer_credentials).toEqual(masked);
    const place = `operation_overrides.customer_credentials:${String(id)}`;
    const opened = async () => {
      const { customer_credentials: sealed } = await stored(id);
      return Object.keys(JSON.parse(test.service.services.encryption.decrypt(sealed, place)).byKey);
    };
    expect(await opened()).toEqual(['']);
    expect((await saved({ preferred_provider_order: ['openai', 'deepl'] })).customer_credentials).toEqual(masked);
    expect(await opened()).toEqual(['openai']);
    // They do not move to a connector that is preferred later.
    await saved({ preferred_provider_order: ['deepl'] });
    expect(await opened()).toEqual(['openai']);
  });

  it('200: updates other properties if stored credentials cannot be decrypted, and keeps them until they are replaced', async () => {
    const { id } = await saved({ customer_credentials: { openai: { token: 'canary' } } });
    const damage = `update operation_overrides set customer_credentials = 'v1.broken' where tenant_id = $1`;
    const db = test.service.services.database.tenant(tenant.tenantId);
    await db.interactive.all({ kind: 'write', text: damage, values: [tenant.tenantId], prepare: false });
    const order = { preferred_provider_order: ['openai'] };
    expect(await saved(order)).toMatchObject({ id, ...order, customer_credentials: {} });
    expect((await stored(id)).customer_credentials).toBe('v1.broken');
    const replaced = { customer_credentials: { openai: { token: 'new' } } };
    expect((await saved(replaced)).customer_credentials).toEqual({ openai: { token: mask } });
  });

  it('200: is recorded with field names, without values', async () => {
    const { id } = await saved({ customer_credentials: { openai: { token: 'canary' } } });
    const rows = await trail('tenant_override.saved');
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      resource_type: 'tenant_override',
      resource_id: id,
      user_id: tenant.admin.userId,
      details: {
        fields: ['operation_key', 'enabled', 'tenantId', 'customer_credentials'],
        operation_key: 'translation.text',
      },
    });
    expect(JSON.stringify(rows)).not.toContain('canary');
  });

  it('200: for any tenant by a system administrator, recorded in that tenant', async () => {
    const { id } = await saved({ enabled: false }, root);
    expect((await list()).body.data).toMatchObject([{ id, tenantId: tenant.tenantId, enabled: false }]);
    expect(await trail('tenant_override.saved')).toMatchObject([
      { resource_id: id, details: { actor: { actingFromTenantId: systemTenantId } } },
    ]);
    const acting = await test.call('PUT', `${path}/tenant-overrides`, {
      token: root,
      headers: { 'x-tenant-id': tenant.tenantId },
      body: { tenantId: tenant.tenantId, operation_key: 'translation.text', enabled: true },
    });
    expect(acting.body.data).toMatchObject({ id, enabled: true });
  });

  it('200: 30 concurrent requests create one override, and each is in the audit trail', async () => {
    const bodies = Array.from({ length: 30 }, (_, at) => ({
      customer_credentials: { openai: { token: `canary ${at}` } },
      override_config: { at },
    }));
    const answers = await Promise.all(bodies.map((body) => save(body)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
    const { id } = answers[0]!.body.data;
    const last = await stored(id);
    const place = `operation_overrides.customer_credentials:${id}`;
    const credentials = test.service.services.encryption.decrypt(last.customer_credentials, place);
    expect(credentials).toContain(`canary ${last.override_config.at}`);
    expect(await trail('tenant_override.saved')).toHaveLength(30);
  });

  it.each([
    ['nothing', {}],
    ['no tenant', { tenantId: undefined }],
    ['no operation', { operation_key: undefined }],
    ['no enabled', { enabled: undefined }],
    ['enabled as text', { enabled: 'true' }],
    ['a tenant that is not a UUID', { tenantId: 'mine' }],
    ['51 providers', { preferred_provider_order: Array.from({ length: 51 }, (_, at) => `p${at}`) }],
    ['a provider twice', { preferred_provider_order: ['a', 'a'] }],
    ['a provider without a name', { preferred_provider_order: [''] }],
    ['a provider of 101 characters', { preferred_provider_order: ['x'.repeat(101)] }],
    ['a config that is a list', { override_config: [] }],
    ['a config of more than 16 KiB', { override_config: { text: 'x'.repeat(16_384) } }],
    ['credentials of more than 16 KiB', { customer_credentials: { a: { text: 'x'.repeat(16_384) } } }],
    ['quota limits of more than 16 KiB', { quota_ceiling: { text: 'x'.repeat(16_384) } }],
    ['an unknown property', { noSuchProperty: 1 }],
  ])('400: %s', async (what, body) => {
    const answer = what === 'nothing' ? await saveOverride(test, tenant.admin.token, {}) : await save(body);
    expectError(answer, 400, 'VALIDATION_ERROR');
  });

  it('401 without credentials, 403 without integrations.manage, 200 with it', async () => {
    const body = { tenantId: tenant.tenantId, operation_key: 'models.list', enabled: true };
    expectError(await test.call('PUT', `${path}/tenant-overrides`, { body }), 401, 'AUTHENTICATION_ERROR');
    const reader = await createMember(test, tenant, { permissions: ['integrations.read', 'providers.manage'] });
    expectError(await save({}, reader.token), 403, 'AUTHORIZATION_ERROR');
    const manager = await createMember(test, tenant, { permissions: ['integrations.manage'] });
    expect((await save({}, manager.token)).status).toBe(200);
  });

  it('404: another tenant, with the same answer as an unknown one; an unknown operation', async () => {
    const other = await createTenant(test);
    const refusals = [
      await save({ tenantId: other.tenantId }),
      await save({ tenantId: newId() }),
      await save({ tenantId: systemTenantId }),
    ];
    for (const refused of refusals) {
      expectError(refused, 404, 'NOT_FOUND');
      expect(refused.body.message).toBe(refusals[0]!.body.message);
    }
    expectError(await save({ tenantId: newId() }, root), 404, 'NOT_FOUND');
    for (const key of ['translation', 'toString', '__proto__'])
      expectError(await save({ operation_key: key }), 404, 'NOT_FOUND');
    expect((await list('', other.admin.token)).body.total).toBe(0);
  });

  it.each([0, -1, 1.5, 'ten', null, true])('422: a quota limit of %s', async (value) => {
    for (const key of ['requests_per_minute', 'characters_per_month', 'tokens_per_month']) {
      const answer = await save({ quota_ceiling: { [key]: value } });
      expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'QUOTA_LIMIT_INVALID');
      expect(answer.body.details.problem).toContain(key);
    }
    expect((await list()).body.total).toBe(0);
  });

  it.each<[string, unknown]>([
    ['one.api_key', { one: { api_key: 'canary\r\nb' } }],
    ['one.api_key', { one: { api_key: 42 } }],
    ['one.api_key', { one: { api_key: null } }],
    ['one.api_key', { one: { api_key: ['canary'] } }],
    ['one.api_key', { one: { api_key: { of: 'canary' } } }],
    ['one.api_key', { one: { api_key: '' } }],
    ['two.key', { one: { api_key: 'canary' }, two: { key: 'canary\u0007' } }],
    ['one', { one: null }],
    ['one', { one: 42 }],
    ['one', { one: ['canary'] }],
    ['key', { key: 'canary\n' }],
  ])('422: customer_credentials.%s in %j, without the value in the answer', async (place, credentials) => {
    const answer = await save({ customer_credentials: credentials, preferred_provider_order: ['one'] });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
    expect(answer.body.details.problem).toBe(`customer_credentials.${place} has to be a text of one line.`);
    expect(answer.text).not.toContain('canary');
    expect((await list()).body.total).toBe(0);
  });

  it('422: credentials that the adapter of the connector cannot use, as for its own', async () => {
    const own = { api_key: 'deepl', config: { adapter: 'deepl' }, auth_config: { api_key: 'canary' } };
    await createConnector(test, tenant.admin.token, own);
    for (const given of [{ api_key: 'canary é' }, { token: 'canary' }])
      for (const body of [
        { customer_credentials: { deepl: given } },
        { customer_credentials: given, preferred_provider_order: ['deepl'] },
      ]) {
        const answer = await save(body);
        expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
        expect(answer.body.details.problem).toMatch(/^customer_credentials\.(?:deepl\.)?api_key (?:has |is missing)/);
        expect(answer.text).not.toContain('canary');
      }
    expect((await save({ customer_credentials: { deepl: { api_key: 'canary' } } })).status).toBe(200);
  });

  it('422: a mask without a stored value', async () => {
    const masked = { customer_credentials: { openai: { token: mask } } };
    expectError(await save(masked), 422, 'UNPROCESSABLE_ENTITY', 'CREDENTIALS_REQUIRED');
    await saved({ customer_credentials: { openai: { other: 'canary' } } });
    expectError(await save(masked), 422, 'UNPROCESSABLE_ENTITY', 'CREDENTIALS_REQUIRED');
  });
});

describe('listTenantOverrides', () => {
  it('200: sorted by operation, each with its operation', async () => {
    const text = await saved();
    const models = await saved({ operation_key: 'models.list' });
    expect((await list()).body).toEqual({
      data: [
        { ...models, operation_key: 'models.list' },
        { ...text, operation_key: 'translation.text' },
      ],
      total: 2,
      limit: 50,
      offset: 0,
    });
    expect((await list('?operationKey=models.list')).body.data).toMatchObject([{ id: models.id }]);
    expect((await list('?limit=1&offset=1')).body).toMatchObject({ data: [{ id: text.id }], total: 2 });
  });

  it("200: of the caller's tenant only; of all for system administrators", async () => {
    const other = await createTenant(test);
    const { id } = await saved();
    const { id: foreign } = await savedOverride(test, other.admin.token, { tenantId: other.tenantId });
    expect((await list()).body).toMatchObject({ data: [{ id }], total: 1 });
    expect((await list(`?tenantId=${other.tenantId}`)).body).toMatchObject({ data: [], total: 0 });
    expect((await list(`?tenantId=${other.tenantId}`, root)).body.data).toMatchObject([{ id: foreign }]);
    expect((await list('?limit=200', root)).body.total).toBeGreaterThanOrEqual(2);
  });

  it('200: in the requested order', async () => {
    const text = await saved();
    const models = await saved({ operation_key: 'models.list' });
    const order = async (sort: string) => (await list(`?sort=${sort}`)).body.data.map(({ id }: { id: string }) => id);
    for (const sort of ['operation_key', '-operationKey', 'created_at', '-created_at'])
      expect(await order(sort)).toEqual(
        ['operation_key', '-created_at'].includes(sort) ? [models.id, text.id] : [text.id, models.id],
      );
    await saved({ enabled: false });
    expect(await order('updated_at')).toEqual([models.id, text.id]);
  });

  it('200: search in the operation and the preferred providers', async () => {
    const text = await saved({ preferred_provider_order: ['House_One', 'deepl'] });
    const models = await saved({ operation_key: 'models.list' });
    const found = async (search: string) =>
      (await list(`?search=${encodeURIComponent(search)}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await found('MODELS')).toEqual([models.id]);
    expect(await found('house_one transl')).toEqual([text.id]);
    expect(await found('house%one')).toEqual([]);
    expect(await found('openai')).toEqual([]);
  });

  it.each(['limit=0', 'offset=-1', 'tenantId=mine', 'sort=enabled'])('400: %s', async (query) => {
    expectError(await list(`?${query}`), 400, 'VALIDATION_ERROR');
  });
});

describe('the override of the installation', () => {
  it('403: only system administrators can change it, in the system tenant', async () => {
    const person = { email: `${unique('operator')}@system.test`, password: 'correct horse' };
    const created = await test.call('POST', '/api/v1/secure/users', { token: root, body: person });
    await grant(test, systemTenantId, created.body.data.id, ['integrations.read', 'integrations.manage']);
    const { token } = await logIn(test, person);
    // An operation that no other test uses, because the override applies to all of them.
    const body = { tenantId: systemTenantId, operation_key: 'geocoding.reverse' };
    expectError(await save({ ...body, enabled: false }, token), 403, 'AUTHORIZATION_ERROR', 'SYSTEM_LEVEL');
    const { id } = await saved(body, root);
    expectError(await save({ ...body, enabled: false }, token), 403, 'AUTHORIZATION_ERROR', 'SYSTEM_LEVEL');
    expectError(await remove(id, token), 403, 'AUTHORIZATION_ERROR', 'SYSTEM_LEVEL');
    expectError(await remove(newId(), token), 403, 'AUTHORIZATION_ERROR', 'SYSTEM_LEVEL');
    expect((await list('?operation_key=geocoding.reverse', token)).body.data).toMatchObject([{ id, enabled: true }]);
    expect((await remove(id, root)).status).toBe(204);
  });
});

describe('deleteTenantOverride', () => {
  it('204: deletes and records it', async () => {
    const { id } = await saved();
    const answer = await remove(id);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await list()).body.total).toBe(0);
    expect(await trail('tenant_override.deleted')).toMatchObject([
      { resource_type: 'tenant_override', resource_id: id, user_id: tenant.admin.userId },
    ]);
    expectError(await remove(id), 404, 'NOT_FOUND');
  });

  it('204: for any tenant by a system administrator, recorded in that tenant', async () => {
    const { id } = await saved();
    expect((await remove(id, root)).status).toBe(204);
    expect(await trail('tenant_override.deleted')).toMatchObject([
      { resource_id: id, details: { actor: { actingFromTenantId: systemTenantId } } },
    ]);
  });

  it('400: an invalid id', async () => {
    expectError(await remove('mine'), 400, 'VALIDATION_ERROR');
  });

  it('401 without credentials, 403 without integrations.manage', async () => {
    const { id } = await saved();
    const url = `${path}/tenant-overrides/${String(id)}`;
    expectError(await test.call('DELETE', url), 401, 'AUTHENTICATION_ERROR');
    const reader = await createMember(test, tenant, { permissions: ['integrations.read'] });
    expectError(await remove(id, reader.token), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: unknown, of another tenant, or not of the tenant that a system administrator acts on', async () => {
    const other = await createTenant(test);
    const { id } = await saved();
    for (const refused of [await remove(id, other.admin.token), await remove(newId()), await remove(newId(), root)])
      expectError(refused, 404, 'NOT_FOUND');
    const headers = { 'x-tenant-id': other.tenantId };
    const acting = await test.call('DELETE', `${path}/tenant-overrides/${String(id)}`, { token: root, headers });
    expectError(acting, 404, 'NOT_FOUND');
    expect((await list()).body.total).toBe(1);
  });
});
