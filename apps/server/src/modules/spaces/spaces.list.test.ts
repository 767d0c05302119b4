import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createClock } from '#modules/auth/testing/steps';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

// The clock advances with each read, so that no two records have the same millisecond.
const test = useService({ now: createClock().now });
const path = '/api/v1/secure/spaces';
let tenant: Tenant;
let token: string;
const ids: Record<string, string> = {};

// Campus > (north > Attic, South); archive: created in this order, "South" changed last.
beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  await createSpace('Campus', { description: 'All of it' });
  await createSpace('north', { parent_id: ids.Campus, description: '100% wood_work' });
  await createSpace('South', { parent_id: ids.Campus, status: 'maintenance' });
  await createSpace('Attic', { parent_id: ids.north });
  await createSpace('archive', { status: 'archived', description: 'ÜBER woodxwork' });
  await test.call('PATCH', `${path}/${ids.South}`, { token, body: { capacity: 3 } });
});

async function createSpace(name: string, body: Record<string, unknown>): Promise<void> {
  const answer = await test.call('POST', path, { token, body: { name, ...body } });
  expect(answer.status).toBe(201);
  ids[name] = answer.body.data.id;
}

function list(query: Record<string, string> | string = {}): Promise<Answer> {
  return test.call('GET', `${path}?${new URLSearchParams(query).toString()}`, { token });
}

async function names(query: Record<string, string>): Promise<string[]> {
  const answer = await list(query);
  expect(answer.status).toBe(200);
  expect(answer.body.pagination.total).toBe(answer.body.data.length);
  return answer.body.data.map((space: Record<string, any>) => space.name);
}

describe('listSpaces', () => {
  it('200: by name, ignoring case, for every member', async () => {
    const member = await createMember(test, tenant);
    const answer = await test.call('GET', path, { token: member.token });
    expect(answer.body.data.map((space: Record<string, any>) => space.name)).toEqual([
      'archive',
      'Attic',
      'Campus',
      'north',
      'South',
    ]);
    expect(answer.body.pagination).toEqual({ total: 5, limit: 50, offset: 0, hasMore: false });
  });

  it.each([
    ['name', 'archive Attic Campus north South'],
    ['-name', 'South north Campus Attic archive'],
    ['created_at', 'Campus north South Attic archive'],
    ['-created_at', 'archive Attic South north Campus'],
    ['updated_at', 'Campus north Attic archive South'],
    ['-updated_at', 'South archive Attic north Campus'],
  ])('200: sorted by %s', async (sort, expected) => {
    expect((await names({ sort })).join(' ')).toBe(expected);
  });

  it('200: pages', async () => {
    const page = async (offset: number) => (await list({ limit: '2', offset: String(offset) })).body;
    expect((await page(0)).pagination).toEqual({ total: 5, limit: 2, offset: 0, hasMore: true });
    expect((await page(4)).pagination).toEqual({ total: 5, limit: 2, offset: 4, hasMore: false });
    expect(await page(6)).toEqual({ data: [], pagination: { total: 5, limit: 2, offset: 6, hasMore: false } });
    const pages = [await page(0), await page(2), await page(4)];
    const all = pages.flatMap(({ data }) => data.map((space: Record<string, any>) => space.name));
    expect(all).toEqual(['archive', 'Attic', 'Campus', 'north', 'South']);
  });

  it('200: the roots, and the children of one space', async () => {
    expect(await names({ parent_id: 'null' })).toEqual(['archive', 'Campus']);
    expect(await names({ parent_id: ids.Campus! })).toEqual(['north', 'South']);
    expect(await names({ parentId: ids.Campus!.toUpperCase() })).toEqual(['north', 'South']);
    expect(await names({ parent_id: ids.Attic! })).toEqual([]);
    expect(await names({ parent_id: newId() })).toEqual([]);
  });

  it('200: by status', async () => {
    expect(await names({ status: 'active' })).toEqual(['Attic', 'Campus', 'north']);
    expect(await names({ status: 'archived' })).toEqual(['archive']);
    expect(await names({ status: 'active', parent_id: ids.Campus! })).toEqual(['north']);
  });

  it.each([
    ['a name in any case', 'NORTH', ['north']],
    ['words over name and description', 'wood north', ['north']],
    ['part of a word', 'chiv', ['archive']],
    ['letters beyond ASCII', 'über', ['archive']],
    ['a percent sign, literally', '100%', ['north']],
    ['an underscore, literally', 'wood_w', ['north']],
    ['nothing there is', 'zzz', []],
  ])('200: search for %s', async (_what, search, found) => {
    expect(await names({ search })).toEqual(found);
  });

  it('200: other tenants do not see it', async () => {
    const other = await createTenant(test);
    for (const query of ['', `?parent_id=${ids.Campus}`, '?search=north']) {
      const { body } = await test.call('GET', path + query, { token: other.admin.token });
      expect(body.data).toEqual([]);
      expect(body.pagination.total).toBe(0);
    }
  });

  it.each([
    'limit=0',
    'limit=201',
    'offset=-1',
    'sort=capacity',
    'sort=name&sort=name',
    'status=deleted',
    'status=',
    'parent_id=42',
    'parent_id=',
    'parent_id=NULL',
    `search=${'x'.repeat(201)}`,
  ])('400: %s', async (query) => {
    expectError(await list(query), 400, 'VALIDATION_ERROR');
  });

  it('401: no credentials', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
  });
});
