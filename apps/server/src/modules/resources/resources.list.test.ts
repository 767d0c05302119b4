import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createClock } from '#modules/auth/testing/steps';
import { create, keyOf, paths } from '#test/support/directory';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer, type Call } from '#test/support/harness';

// The clock advances with each read, so that no two records have the same millisecond.
const test = useService({ now: createClock().now });
const path = paths.resources;
let tenant: Tenant;
let admin: Call;
const ids: Record<string, string> = {};

// Created in this order, "Cart" changed last: rack > (Switch, cable), Beamer in a hall, Cart.
beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  ids.hall = (await create(test, admin, 'spaces')).id;
  ids.type = (await create(test, admin, 'types')).id;
  ids.tag = (await create(test, admin, 'tags', { name: 'Loan' })).id;
  await add('rack', { type_id: ids.type });
  await add('Switch', { parent_id: ids.rack, serial: 'SN-100%', description: '48 ports' });
  await add('cable', { parent_id: ids.rack, status: 'archived', properties: { secret_code: 'zebra' } });
  await add('Beamer', { space_id: ids.hall, type_id: ids.type, serial: 'sn-77', description: 'ÜBER_head' });
  await add('Cart', { status: 'maintenance' });
  for (const name of ['Switch', 'Beamer']) await test.call('PUT', `${path}/${ids[name]}/tags/${ids.tag}`, admin);
  const otherTag = await create(test, admin, 'tags');
  await test.call('PUT', `${path}/${ids.rack}/tags/${otherTag.id}`, admin);
  await test.call('PATCH', `${path}/${ids.Cart}`, { ...admin, body: { capacity: 3 } });
});

async function add(name: string, body: object): Promise<void> {
  ids[name] = (await create(test, admin, 'resources', { name, ...body })).id;
}

/** `{name}` is the id of the resource with this name; an upper-case name gives the id in upper case. */
function withIds(query: string): string {
  return query.replaceAll(/\{(\w+)\}/g, (_match, name: string) => {
    if (name === 'unknown') return newId();
    return ids[name] ?? ids[name.toLowerCase()]!.toUpperCase();
  });
}

function list(query = '', by = admin): Promise<Answer> {
  return test.call('GET', encodeURI(`${path}?${query}`).replaceAll('%25', '%'), by);
}

async function names(query: string): Promise<string> {
  const answer = await list(query);
  expect(answer.status).toBe(200);
  expect(answer.body.pagination.total).toBe(answer.body.data.length);
  return answer.body.data.map((resource: Record<string, any>) => resource.name).join(' ');
}

describe('listResources', () => {
  it('200: by name, ignoring case, for every member and a key with the read flag', async () => {
    const member = { token: (await createMember(test, tenant)).token };
    for (const by of [member, await keyOf(test, tenant, { resources: { read: true } })]) {
      const { body } = await list('', by);
      const found = body.data.map((resource: Record<string, any>) => resource.name);
      expect(found).toEqual(['Beamer', 'cable', 'Cart', 'rack', 'Switch']);
      expect(body.pagination).toEqual({ total: 5, limit: 50, offset: 0, hasMore: false });
    }
  });

  it.each([
    ['name', 'Beamer cable Cart rack Switch'],
    ['-name', 'Switch rack Cart cable Beamer'],
    ['created_at', 'rack Switch cable Beamer Cart'],
    ['-created_at', 'Cart Beamer cable Switch rack'],
    ['updated_at', 'rack Switch cable Beamer Cart'],
    ['-updatedAt', 'Cart Beamer cable Switch rack'],
  ])('200: sorted by %s', async (sort, expected) => {
    expect(await names(`sort=${sort}`)).toBe(expected);
  });

  it('200: pages with the exact total', async () => {
    const page = async (offset: number) => (await list(`limit=2&offset=${offset}`)).body;
    expect((await page(0)).pagination).toEqual({ total: 5, limit: 2, offset: 0, hasMore: true });
    expect((await page(4)).pagination).toEqual({ total: 5, limit: 2, offset: 4, hasMore: false });
    expect(await page(6)).toEqual({ data: [], pagination: { total: 5, limit: 2, offset: 6, hasMore: false } });
  });

  const filters: [string, string][] = [
    ['parent_id=null', 'Beamer Cart rack'],
    ['parent_id={rack}', 'cable Switch'],
    ['parentId={RACK}', 'cable Switch'],
    ['parent_id={unknown}', ''],
    ['space_id={hall}', 'Beamer'],
    ['space_id=null', 'cable Cart rack Switch'],
    ['type_id={type}', 'Beamer rack'],
    ['type_id=null', 'cable Cart Switch'],
    ['tag_id={tag}', 'Beamer Switch'],
    ['tagId={tag}&parent_id={rack}', 'Switch'],
    ['tag_id={unknown}', ''],
    ['status=archived', 'cable'],
    ['status=active&type_id={type}', 'Beamer rack'],
    ['serial=SN-100%25', 'Switch'],
    ['serial=SN-77', ''],
    ['name=CABLE', 'cable'],
    ['name=cab', ''],
    ['search=ca', 'cable Cart'],
    ['search=sn- über', 'Beamer'],
    ['search=100%25', 'Switch'],
    ['search=r_h', 'Beamer'],
    ['search=zebra', ''],
    ['search=secret_code', ''],
  ];
  it.each(filters)('200: %s', async (query, expected) => {
    expect(await names(withIds(query))).toBe(expected);
  });

  it('200: other tenants do not see it', async () => {
    const other = { token: (await createTenant(test)).admin.token };
    for (const query of ['', 'parent_id={rack}', 'space_id={hall}', 'tag_id={tag}', 'search=c']) {
      expect((await list(withIds(query), other)).body).toMatchObject({
        data: [],
        pagination: { total: 0 },
      });
    }
  });

  it.each([
    'limit=0',
    'limit=201',
    'offset=-1',
    'sort=serial',
    'status=deleted',
    'status=',
    'parent_id=42',
    'space_id=NULL',
    'type_id=',
    'tag_id=null',
    'name=',
    'serial=',
    `serial=${'x'.repeat(201)}`,
    `search=${'x'.repeat(201)}`,
  ])('400: %s', async (query) => {
    expectError(await list(query), 400, 'VALIDATION_ERROR');
  });

  it('401, 403: no credentials, and a key for spaces', async () => {
    expectError(await list('', {}), 401, 'AUTHENTICATION_ERROR');
    const key = await keyOf(test, tenant, { spaces: { read: true } });
    expectError(await list('', key), 403, 'AUTHORIZATION_ERROR');
  });

  it('the total includes creations and deletions', async () => {
    const own = { token: (await createTenant(test)).admin.token };
    const total = async () => (await list('limit=1', own)).body.pagination.total as number;
    const created = [];
    for (let at = 0; at < 5; at++) created.push(await create(test, own, 'resources'));
    expect(await total()).toBe(5);
    await test.call('DELETE', `${path}/${created[0]!.id}`, own);
    expect(await total()).toBe(4);
  });
});
