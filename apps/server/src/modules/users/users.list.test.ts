import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createMember, createTenant, grant, logIn, unique, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/users';
const password = 'correct horse';
const suffix = `@${unique('list')}.example`;

let tenant: Tenant;
let token: string;
let reader: Person;
const ids: Record<string, string> = {};

// After the administrator: Zoe, adam (suspended), Mia (administrator), Élise (deleted again), then a reader.
beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  await createUser('Zoe', { email: `b${suffix}`, fullName: 'Zoe Percent 100%' });
  await createUser('adam', { email: `c_c${suffix}`, password });
  await createUser('Mia', { email: `a${suffix}`, isTenantAdmin: true, password });
  await createUser('Élise', { email: `d${suffix}` });
  await test.call('PATCH', `${path}/${ids.adam}`, { token, body: { status: 'suspended' } });
  expect((await test.call('DELETE', `${path}/${ids['Élise']}`, { token })).status).toBe(204);
  await logIn(test, { email: `a${suffix}`, password });
  reader = await createMember(test, tenant, { permissions: ['users.read'] });
  await grant(test, tenant.tenantId, reader.userId, []);
  await test.call('PATCH', `${path}/${reader.userId}`, { token, body: { displayName: 'Reader' } });
  await test.call('PATCH', `${path}/${tenant.admin.userId}`, { token, body: { displayName: 'Admin' } });
});

async function createUser(displayName: string, body: Record<string, unknown>): Promise<void> {
  const answer = await test.call('POST', path, { token, body: { displayName, ...body } });
  expect(answer.status).toBe(201);
  ids[displayName] = answer.body.data.id;
}

function list(query: Record<string, string> | string = {}): Promise<Answer> {
  return test.call('GET', `${path}?${new URLSearchParams(query).toString()}`, { token: reader.token });
}

async function names(query: Record<string, string>): Promise<string> {
  const answer = await list(query);
  expect(answer.status).toBe(200);
  expect(answer.body.pagination.total).toBe(answer.body.data.length);
  return answer.body.data.map((user: Record<string, any>) => user.displayName).join(' ');
}

describe('listUsers', () => {
  it('200: by name, case-insensitive, without deleted users', async () => {
    expect(await names({})).toBe('adam Admin Mia Reader Zoe');
  });

  it.each([
    ['displayName', 'adam Admin Mia Reader Zoe'],
    ['-displayName', 'Zoe Reader Mia Admin adam'],
    ['created_at', 'Admin Zoe adam Mia Reader'],
    ['-created_at', 'Reader Mia adam Zoe Admin'],
    ['last_login_at', 'Admin Mia Reader Zoe adam'],
    ['-last_login_at', 'Reader Mia Admin adam Zoe'],
  ])('200: sorted by %s', async (sort, expected) => {
    expect(await names({ sort })).toBe(expected);
  });

  it('200: sorted by email', async () => {
    const emails = async (sort: string) =>
      (await list({ sort })).body.data.map((user: Record<string, any>) => user.email);
    const ascending = await emails('email');
    expect(ascending).toEqual(ascending.toSorted());
    expect(await emails('-email')).toEqual(ascending.toReversed());
  });

  it('200: pages', async () => {
    const page = async (offset: number) => (await list({ limit: '2', offset: String(offset) })).body;
    expect((await page(2)).pagination).toEqual({ total: 5, limit: 2, offset: 2, hasMore: true });
    expect((await page(4)).data).toHaveLength(1);
    expect(await page(6)).toEqual({ data: [], pagination: { total: 5, limit: 2, offset: 6, hasMore: false } });
  });

  it.each([
    ['search, in any case', { search: 'ZOE' }, 'Zoe'],
    ['search by words of several fields', { search: 'percent b@' }, 'Zoe'],
    ['search with a percent sign, literally', { search: '100%' }, 'Zoe'],
    ['search with an underscore, literally', { search: 'c_c@' }, 'adam'],
    ['search for a deleted user', { search: 'élise' }, ''],
    ['email, in any case', { email: `A${suffix.toUpperCase()}` }, 'Mia'],
    ['email, exact', { email: suffix.slice(1) }, ''],
    ['email of a deleted user', { email: `d${suffix}` }, ''],
    ['status suspended', { status: 'suspended' }, 'adam'],
    ['status active', { status: 'active' }, 'Admin Mia Reader'],
    ['status invited', { status: 'invited' }, 'Zoe'],
    ['administrators', { isTenantAdmin: 'true' }, 'Admin Mia'],
    ['administrators, spelled the other way', { is_tenant_admin: 'true' }, 'Admin Mia'],
    ['all others', { isTenantAdmin: 'false' }, 'adam Reader Zoe'],
    ['all at once', { search: 'mia', status: 'active', isTenantAdmin: 'true' }, 'Mia'],
  ])('200: %s', async (_what, query: Record<string, string>, expected) => {
    expect(await names(query)).toBe(expected);
  });

  it('200: groups by name', async () => {
    const { body } = await list({ search: 'Reader' });
    expect(body.data[0].groups).toHaveLength(2);
    expect(body.data[0].groups).toEqual(body.data[0].groups.toSorted());
  });

  it('200: other tenants see none of them', async () => {
    const other = await createTenant(test);
    const { body } = await test.call('GET', `${path}?search=${suffix.slice(1)}`, { token: other.admin.token });
    expect(body).toEqual({ data: [], pagination: { total: 0, limit: 50, offset: 0, hasMore: false } });
  });

  it.each([
    'limit=0',
    'limit=201',
    'offset=-1',
    'sort=locale',
    'status=deleted',
    'isTenantAdmin=yes',
    `search=${'x'.repeat(201)}`,
    `email=${'x'.repeat(255)}`,
  ])('400: %s', async (query) => {
    expectError(await list(query), 400, 'VALIDATION_ERROR');
  });

  it('401 without credentials, 403 for a plain member and for one who may only manage', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
    for (const permissions of [[], ['users.manage']]) {
      const member = await createMember(test, await createTenant(test), { permissions });
      expectError(await test.call('GET', path, { token: member.token }), 403, 'AUTHORIZATION_ERROR');
    }
  });
});

describe('getUser', () => {
  it('200: the same record as in the list', async () => {
    const { body } = await list({ search: 'Zoe' });
    const read = await test.call('GET', `${path}/${ids.Zoe}`, { token: reader.token });
    expect(read).toMatchObject({ status: 200, body: { data: body.data[0] } });
  });

  it('400, 401, 403: no uuid, no credentials, a plain member', async () => {
    expectError(await test.call('GET', `${path}/me`, { token }), 400, 'VALIDATION_ERROR');
    expectError(await test.call('GET', `${path}/${ids.Zoe}`), 401, 'AUTHENTICATION_ERROR');
    const member = await createMember(test, tenant);
    const refused = await test.call('GET', `${path}/${member.userId}`, { token: member.token });
    expectError(refused, 403, 'AUTHORIZATION_ERROR');
    expect((await test.call('DELETE', `${path}/${member.userId}`, { token })).status).toBe(204);
  });

  it("404: an unknown, a deleted and another tenant's user", async () => {
    const other = await createTenant(test);
    for (const id of [newId(), ids['Élise']!, other.admin.userId]) {
      expectError(await test.call('GET', `${path}/${id}`, { token: reader.token }), 404, 'NOT_FOUND');
    }
  });
});
