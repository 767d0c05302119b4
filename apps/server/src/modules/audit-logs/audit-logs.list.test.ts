import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/audit-logs';
const [ada, alan, thing] = [newId(), newId(), newId()];

let tenant: Tenant;
let token: string;

type Row = { user?: string; action: string; type: string; resource?: string; ip?: string; at: string };

// Long before the creation of the tenant, so that its events do not interfere.
const rows: Row[] = [
  { user: ada, action: 'auth.login', type: 'session', ip: '192.0.2.1', at: '2020-02-29T23:59:59.999Z' },
  { user: ada, action: 'auth.login_failed', type: 'account', ip: '192.0.2.1', at: '2020-03-01T00:00:00.000Z' },
  {
    user: alan,
    action: 'space.created',
    type: 'space',
    resource: thing,
    ip: '2001:db8::1',
    at: '2020-03-01T00:00:00.001Z',
  },
  { user: alan, action: 'space.deleted', type: 'space', resource: thing, at: '2020-03-02T10:00:00.000Z' },
  { action: 'author.created', type: 'authors', at: '2020-03-03T10:00:00.000Z' },
];

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  for (const row of rows) await insert(row);
});

async function insert(row: Row): Promise<void> {
  await test.service.services.database.tenant(tenant.tenantId).interactive.all({
    kind: 'write',
    text: `insert into audit_logs (tenant_id, created_at, id, user_id, action, resource_type, resource_id, details, ip_address)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [
      tenant.tenantId,
      row.at,
      newId(),
      row.user ?? null,
      row.action,
      row.type,
      row.resource ?? null,
      null,
      row.ip ?? null,
    ],
    prepare: false,
  });
}

const list = (query: Record<string, string> | string): Promise<Answer> =>
  test.call('GET', `${path}?${new URLSearchParams(query).toString()}`, { token });

const past = { to: '2020-12-31T00:00:00Z' };

async function actions(query: Record<string, string>): Promise<string[]> {
  const answer = await list({ sort: 'created_at', ...past, ...query });
  expect(answer.status).toBe(200);
  expect(answer.body.pagination.total).toBe(answer.body.data.length);
  return answer.body.data.map((row: Record<string, any>) => row.action);
}

const at = (...indexes: number[]) => indexes.map((index) => rows[index]!.action);

describe('listAuditLogs', () => {
  it('200: newest first, with all fields', async () => {
    const { body } = await list(past);
    expect(body.data.map((row: Record<string, any>) => row.created_at)).toEqual(rows.map((row) => row.at).toReversed());
    expect(body.data[0]).toEqual({
      id: expect.any(String),
      tenant_id: tenant.tenantId,
      user_id: null,
      action: 'author.created',
      resource_type: 'authors',
      resource_id: null,
      details: null,
      ip_address: null,
      user_agent: null,
      created_at: '2020-03-03T10:00:00.000Z',
    });
  });

  it.each([
    ['user', { user_id: ada }, at(0, 1)],
    ['user, in camelCase and upper case', { userId: ada.toUpperCase() }, at(0, 1)],
    ['a user without events', { user_id: newId() }, []],
    ['action', { action: 'auth.login' }, at(0)],
    ['action, exact without a star', { action: 'auth' }, []],
    ['prefix of an action, by whole words', { action: 'auth.*' }, at(0, 1)],
    ['another prefix', { action: 'space.*' }, at(2, 3)],
    ['resource type', { resource_type: 'space' }, at(2, 3)],
    ['resource', { resourceId: thing }, at(2, 3)],
    ['address', { ip_address: '192.0.2.1' }, at(0, 1)],
    ['address, IPv6', { ipAddress: '2001:db8::1' }, at(2)],
    ['from, inclusive', { from: '2020-03-01T00:00:00.001Z' }, at(2, 3, 4)],
    ['to, exclusive', { to: '2020-03-01T00:00:00.001Z' }, at(0, 1)],
    ['an interval in another zone', { from: '2020-03-01T01:00:00+01:00', to: '2020-03-01T19:00:00-05:00' }, at(1, 2)],
    ['a reversed interval', { from: '2020-03-02T00:00:00Z', to: '2020-03-01T00:00:00Z' }, []],
    ['all at once', { user_id: alan, action: 'space.*', resource_id: thing, ip_address: '2001:db8::1' }, at(2)],
  ])('200: by %s', async (_what, query: Record<string, string>, expected) => {
    expect(await actions(query)).toEqual(expected);
  });

  it('200: pages', async () => {
    const page = async (offset: number) => (await list({ ...past, limit: '2', offset: String(offset) })).body;
    expect((await page(0)).pagination).toEqual({ total: 5, limit: 2, offset: 0, hasMore: true });
    expect((await page(4)).pagination).toEqual({ total: 5, limit: 2, offset: 4, hasMore: false });
    expect(await page(6)).toEqual({ data: [], pagination: { total: 5, limit: 2, offset: 6, hasMore: false } });
    const pages = [await page(0), await page(2), await page(4)];
    const seen = pages.flatMap(({ data }) => data.map((row: Record<string, any>) => row.action));
    expect(seen).toEqual(at(4, 3, 2, 1, 0));
  });

  it('200: for a member of a group that holds audit_logs.read', async () => {
    const reader = await createMember(test, tenant, { permissions: ['audit_logs.read'] });
    expect((await test.call('GET', path, { token: reader.token })).status).toBe(200);
  });

  it('200: never events of another tenant, for any filter', async () => {
    const other = await createTenant(test);
    const ask = async (query: string): Promise<any[]> =>
      (await test.call('GET', `${path}${query}`, { token: other.admin.token })).body.data;
    expect(new Set((await ask('?limit=200')).map((row) => row.tenant_id))).toEqual(new Set([other.tenantId]));
    for (const query of [
      `?user_id=${ada}`,
      `?resource_id=${thing}`,
      `?to=${past.to}`,
      `?tenant_id=${tenant.tenantId}&to=${past.to}`,
    ]) {
      expect(await ask(query)).toEqual([]);
    }
  });

  it.each([
    'limit=0',
    'limit=201',
    'offset=-1',
    'sort=action',
    'user_id=me',
    'resource_id=42',
    'action=auth.*.x',
    'action=*',
    'action=Auth.login',
    `action=${'x'.repeat(101)}`,
    `resource_type=${'x'.repeat(101)}`,
    `ip_address=${'1'.repeat(65)}`,
    'from=yesterday',
    'from=2020-02-30T00:00:00Z',
    'to=2020-03-01',
    'to=2020-03-01T00:00:00',
    'from=2020-03-01T00:00:00%2B15:99',
    'from=2020-03-01T00:00:00Z&from=2020-03-01T00:00:00Z',
  ])('400: %s', async (query) => {
    expectError(await test.call('GET', `${path}?${query}`, { token }), 400, 'VALIDATION_ERROR');
  });

  it('401 without credentials, 403 for members without the permission', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
    for (const permissions of [[], ['users.manage', 'users.read', 'spaces.manage']]) {
      const member = await createMember(test, tenant, { permissions });
      expectError(await test.call('GET', path, { token: member.token }), 403, 'AUTHORIZATION_ERROR');
    }
  });

  it('405: no method writes, changes or deletes', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      expectError(await test.call(method, path, { token }), 405, 'METHOD_NOT_ALLOWED');
    }
  });
});
