import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import {
  createConnector,
  markFailed,
  minimal,
  patchConnector,
  path,
  systemTenantId,
} from '#modules/connectors/testing/connectors';
import {
  createMember,
  createTenant,
  grant,
  logIn,
  logInSystemAdmin,
  unique,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

// Connectors of the installation are seen by all tenants, so these have a database of their own.
const test = useService({ ownDatabase: true });
let tenant: Tenant;
let token: string;
let root: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  root = await logInSystemAdmin(test);
});

const list = async (query = '', by = token) => {
  const answer = await test.call('GET', `${path}${query}`, { token: by });
  expect(answer.status).toBe(200);
  return answer.body;
};
const names = async (query: string, by = token) => (await list(query, by)).data.map((row: any) => row.api_name);

describe('getConnector', () => {
  it('200: for a member of a group that holds providers.read', async () => {
    const reader = await createMember(test, tenant, { permissions: ['providers.read'] });
    const connector = await createConnector(test, token);
    const answer = await test.call('GET', `${path}/${connector.id}`, { token: reader.token });
    expect(answer.body.data).toEqual(connector);
  });

  it('400, 401, 403 and 404', async () => {
    const { id } = await createConnector(test, token);
    const stranger = (await createTenant(test)).admin.token;
    const manager = await createMember(test, tenant, { permissions: ['providers.manage'] });
    const get = (of: string, by?: string) => test.call('GET', `${path}/${of}`, { token: by });
    expectError(await get('42', token), 400, 'VALIDATION_ERROR');
    expectError(await get(id), 401, 'AUTHENTICATION_ERROR');
    expectError(await get(id, manager.token), 403, 'AUTHORIZATION_ERROR');
    expectError(await get(newId(), token), 404, 'NOT_FOUND');
    expectError(await get(id, stranger), 404, 'NOT_FOUND');
  });
});

describe('listConnectors', () => {
  let by: string;

  beforeAll(async () => {
    by = (await createTenant(test)).admin.token;
    const rows = [
      { api_name: 'Second', priority: 20, category: 'integration', tags: ['a', 'b'], description: 'Finds PEOPLE' },
      { api_name: 'First', priority: 10, enabled: false, tags: ['b'] },
      { api_name: 'Fourth', priority: 30, category: 'communication' },
      { api_name: 'Third', priority: 20, category: 'integration', api_key: 'people-100%_x' },
    ];
    for (const row of rows) await createConnector(test, by, row);
  });

  it('200: by priority, then by age', async () => {
    expect(await names('', by)).toEqual(['First', 'Second', 'Third', 'Fourth']);
    expect(await list('', by)).toMatchObject({ total: 4, limit: 50, offset: 0 });
  });

  it.each([
    ['?category=integration', ['Second', 'Third']],
    ['?category=system_sync', []],
    ['?status=unknown', ['First', 'Second', 'Third', 'Fourth']],
    ['?status=active', []],
    ['?enabled=false', ['First']],
    ['?enabled=true', ['Second', 'Third', 'Fourth']],
    ['?tag=b', ['First', 'Second']],
    ['?tag=B', []],
    ['?search=people', ['Second', 'Third']],
    ['?search=FIRST', ['First']],
    ['?search=people%20second', ['Second']],
    ['?search=100%25_', ['Third']],
    ['?search=%25', ['Third']],
    ['?search=example.com', []],
    ['?category=integration&enabled=true&tag=a&search=find', ['Second']],
  ])('200: %s', async (query, expected) => {
    expect(await names(query, by)).toEqual(expected);
    expect((await list(query, by)).total).toBe(expected.length);
  });

  it.each([
    ['?limit=2', ['First', 'Second'], 2, 0],
    ['?limit=2&offset=1', ['Second', 'Third'], 2, 1],
    ['?limit=200&offset=3', ['Fourth'], 200, 3],
    ['?offset=1000000000', [], 50, 1_000_000_000],
  ])('200: %s', async (query, expected, limit, offset) => {
    const page = await list(query, by);
    expect(page).toMatchObject({ total: 4, limit, offset });
    expect(page.data.map((row: any) => row.api_name)).toEqual(expected);
  });

  it.each([
    'limit=0',
    'limit=201',
    'offset=-1',
    'offset=1000000001',
    'category=other',
    'status=on',
    'enabled=2',
    `tag=${'x'.repeat(51)}`,
    `search=${'x'.repeat(201)}`,
  ])('400: ?%s', async (query) => {
    expectError(await test.call('GET', `${path}?${query}`, { token }), 400, 'VALIDATION_ERROR');
  });

  it('401 and 403', async () => {
    const member = await createMember(test, tenant);
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
    expectError(await test.call('GET', path, { token: member.token }), 403, 'AUTHORIZATION_ERROR');
  });
});

describe('connectors of the installation', () => {
  const ids: string[] = [];
  let manager: Person;

  beforeAll(async () => {
    for (const priority of [2, 1]) {
      const { id } = await createConnector(test, root.token, {
        api_name: `System ${priority}`,
        api_base_url: 'https://canary.example.com/canary',
        config: { canary: 'canary' },
        auth_config: { canary: 'canary' },
        description: 'Of the installation',
        tags: ['system'],
        priority,
      });
      await markFailed(test, systemTenantId, id);
      ids.unshift(id);
    }
    // A user of the system tenant who is not a system administrator.
    const { email, password } = { email: `${unique('operator')}@system.test`, password: 'correct horse' };
    const created = await test.call('POST', '/api/v1/secure/users', { token: root.token, body: { email, password } });
    await grant(test, systemTenantId, created.body.data.id, ['providers.read', 'providers.manage']);
    manager = await logIn(test, { email, password });
  });
  afterAll(async () => {
    for (const id of ids) await test.call('DELETE', `${path}/${id}`, { token: root.token });
  });

  it('are visible to every tenant without address and settings', async () => {
    const answer = await test.call('GET', `${path}/${ids[0]}`, { token });
    expect(answer.body.data).toEqual({
      id: ids[0],
      tenantId: null,
      api_key: expect.any(String),
      api_name: 'System 1',
      api_base_url: 'https://hidden.invalid',
      config: {},
      auth_config: null,
      enabled: true,
      priority: 1,
      status: 'error',
      last_health_check: null,
      last_success: null,
      last_error: expect.any(String),
      error_message: null,
      error_details: null,
      consecutive_failures: 5,
      auto_disable_threshold: 5,
      auto_disabled: true,
      description: 'Of the installation',
      tags: ['system'],
      category: 'app_service',
      created_at: expect.any(String),
      updated_at: expect.any(String),
      created_by: null,
    });
    const page = await test.call('GET', path, { token });
    expect(page.body.data.find((row: any) => row.id === ids[0])).toEqual(answer.body.data);
    expect(page.text + answer.text).not.toMatch(/canary/);
    expect(page.text).not.toContain(root.userId);
  });

  it('are visible in the system tenant with all fields except credentials', async () => {
    const { body, text } = await test.call('GET', `${path}/${ids[0]}`, { token: root.token });
    expect(body.data).toMatchObject({
      tenantId: null,
      api_base_url: 'https://canary.example.com/canary',
      config: { canary: 'canary' },
      auth_config: { canary: '••••••••' },
      error_message: 'canary message',
      created_by: root.userId,
    });
    expect(text.match(/canary":"canary/g)).toHaveLength(1);
    expect(await names('', root.token)).toEqual(['System 1', 'System 2']);
  });

  it("come after the tenant's own, in one list", async () => {
    const own = await createTenant(test);
    const by = own.admin.token;
    for (const api_name of ['A', 'B', 'C']) await createConnector(test, by, { api_name, tags: ['own'] });
    const all = ['A', 'B', 'C', 'System 1', 'System 2'];
    expect(await names('', by)).toEqual(all);
    for (const limit of [1, 2, 3, 4, 5, 200]) {
      for (let offset = 0; offset <= 6; offset += 1) {
        const page = await list(`?limit=${limit}&offset=${offset}`, by);
        expect(page.data.map((row: any) => row.api_name)).toEqual(all.slice(offset, offset + limit));
        expect(page).toMatchObject({ total: 5, limit, offset });
      }
    }
    expect(await names('?tag=system', by)).toEqual(['System 1', 'System 2']);
    expect(await names('?tag=own', by)).toEqual(['A', 'B', 'C']);
    expect(await names('?search=canary', by)).toEqual([]);
    // A system administrator who names the tenant sees what it sees.
    const { body } = await test.call('GET', path, { token: root.token, headers: { 'x-tenant-id': own.tenantId } });
    expect(body).toEqual(await list('', by));
  });

  it('can be changed only by system administrators in the system tenant', async () => {
    const { body: before } = await test.call('GET', `${path}/${ids[1]}`, { token: root.token });
    const naming = { token: root.token, headers: { 'x-tenant-id': tenant.tenantId } };
    for (const caller of [{ token }, { token: manager.token }, naming]) {
      const answers = [
        await test.call('PATCH', `${path}/${ids[1]}`, { ...caller, body: { priority: 5 } }),
        await test.call('POST', `${path}/${ids[1]}/enable`, caller),
        await test.call('POST', `${path}/${ids[1]}/disable`, caller),
        await test.call('DELETE', `${path}/${ids[1]}`, caller),
      ];
      for (const answer of answers) expectError(answer, 403, 'AUTHORIZATION_ERROR', 'SYSTEM_LEVEL');
    }
    const created = await test.call('POST', path, { token: manager.token, body: minimal() });
    expectError(created, 403, 'AUTHORIZATION_ERROR', 'SYSTEM_LEVEL');
    expect((await test.call('GET', `${path}/${ids[1]}`, { token: root.token })).body).toEqual(before);
    expect((await patchConnector(test, root.token, ids[1]!, { description: 'Changed' })).status).toBe(200);
  });

  it('do not reserve their api_key: a tenant may use the same', async () => {
    const { data } = await list();
    const { api_key } = data.find((row: any) => row.tenantId === null);
    expect(await createConnector(test, token, { api_key })).toMatchObject({ api_key, tenantId: tenant.tenantId });
    const again = await test.call('POST', path, { token: root.token, body: { ...minimal(), api_key } });
    expectError(again, 409, 'CONFLICT', 'API_KEY_TAKEN');
  });
});
