import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { categoriesOf, path, type Entity } from '#modules/categories/testing/steps';
import { trailOf } from '#test/support/directory';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let other: Tenant;
const steps = categoriesOf(test, () => tenant);
const { create, get, link, unlink, linksOf, ofEntity, entity, removeEntity, problems } = steps;

beforeAll(async () => {
  tenant = await createTenant(test);
  other = await createTenant(test);
});

const usageOf = async (id: string): Promise<number> => (await get(id)).body.data.usage_count;
const ownTenant = (): Entity => ({ entity_type: 'tenant', entity_id: tenant.tenantId });
const types = ['space', 'resource', 'group'] as const;

describe('linkCategory', () => {
  it.each(types)('201: a %s', async (type) => {
    const category = await create();
    const thing = await entity(type);
    const linked = await link(category.id, { ...thing, entity_id: thing.entity_id.toUpperCase() });
    expect({ status: linked.status, body: linked.body }).toEqual({
      status: 201,
      body: {
        data: {
          id: expect.any(String),
          tenant_id: tenant.tenantId,
          category_id: category.id,
          ...thing,
          created_by: tenant.admin.userId,
          created_at: expect.any(String),
        },
      },
    });
    expect((await get(category.id)).body.data).toEqual({ ...category, usage_count: 1 });
  });

  it('201: the tenant itself', async () => {
    const category = await create();
    expect((await link(category.id, ownTenant())).body.data).toMatchObject(ownTenant());
    expect(await usageOf(category.id)).toBe(1);
  });

  it('201: linking again returns the existing link, without a count or a record', async () => {
    const category = await create();
    const thing = await entity();
    const first = await link(category.id, thing);
    expect(await link(category.id, thing)).toMatchObject({ status: 201, body: first.body });
    expect(await usageOf(category.id)).toBe(1);
    expect(await trailOf(test, tenant.tenantId, first.body.data.id)).toMatchObject([
      { action: 'category.linked', user_id: tenant.admin.userId },
    ]);
  });

  it('201, 403: members with and without the permission', async () => {
    const { id } = await create();
    const thing = await entity();
    const [holder, member] = [
      await createMember(test, tenant, { permissions: ['categories.link'] }),
      await createMember(test, tenant),
    ];
    expectError(await link(id, thing, { token: member.token }), 403, 'AUTHORIZATION_ERROR');
    expect((await link(id, thing, { token: holder.token })).body.data.created_by).toBe(holder.userId);
    expectError(await unlink(id, thing, { token: member.token }), 403, 'AUTHORIZATION_ERROR');
    expect((await unlink(id, thing, { token: holder.token })).status).toBe(204);
  });

  it.each([
    ['no body', undefined],
    ['nothing', {}],
    ['no id', { entity_type: 'space' }],
    ['no type', { entity_id: newId() }],
    ['an unknown type', { entity_type: 'user', entity_id: newId() }],
    ['an id that is not a uuid', { entity_type: 'space', entity_id: '42' }],
    ['an additional property', { entity_type: 'space', entity_id: newId(), is_primary: true }],
  ])('400: %s', async (_what, body) => {
    const { id } = await create();
    expectError(await link(id, body), 400, 'VALIDATION_ERROR');
    expect(await usageOf(id)).toBe(0);
  });

  it('400, 401: an invalid uuid in the path; no credentials', async () => {
    expectError(await link('42', await entity()), 400, 'VALIDATION_ERROR');
    expectError(await link(newId(), {}, { token: undefined }), 401, 'AUTHENTICATION_ERROR');
  });

  it('404: an unknown category or record, or one of another tenant', async () => {
    const { id } = await create();
    const theirs = categoriesOf(test, () => other);
    const thing = await entity();
    for (const unknown of [newId(), (await theirs.create()).id])
      expectError(await link(unknown, thing), 404, 'NOT_FOUND');
    for (const type of types) {
      for (const entityId of [newId(), (await theirs.entity(type)).entity_id]) {
        const answer = await link(id, { entity_type: type, entity_id: entityId });
        expectError(answer, 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
      }
    }
    for (const entityId of [newId(), other.tenantId]) {
      const answer = await link(id, { entity_type: 'tenant', entity_id: entityId });
      expectError(answer, 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
    }
    // The id exists, but for another type.
    expectError(await link(id, { ...thing, entity_type: 'resource' }), 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
    expect(await usageOf(id)).toBe(0);
  });
});

describe('unlinkCategory', () => {
  it.each([...types, 'tenant'] as const)('204: a %s that the body names', async (type) => {
    const { id } = await create();
    const thing = type === 'tenant' ? ownTenant() : await entity(type);
    const kept = await entity();
    await link(id, thing);
    await link(id, kept);
    expect((await unlink(id, thing)).status).toBe(204);
    expect((await linksOf(id)).body.data).toMatchObject([kept]);
    expect(await usageOf(id)).toBe(1);
  });

  it('204: a record that the query names, for a body that is missing', async () => {
    const { id } = await create();
    const thing = await entity();
    for (const query of ['entity_type=space&entity_id=', 'entityType=space&entityId=']) {
      await link(id, thing);
      const url = `${path}/${id}/unlink?${query}${thing.entity_id}`;
      expect((await test.call('DELETE', url, { token: tenant.admin.token })).status).toBe(204);
      expect(await usageOf(id)).toBe(0);
    }
  });

  it('400: neither the body nor the query names a record', async () => {
    const { id } = await create();
    const thing = await entity();
    await link(id, thing);
    for (const query of ['', '?entity_type=space', `?entity_id=${thing.entity_id}`]) {
      const url = `${path}/${id}/unlink${query}`;
      const answer = await test.call('DELETE', url, { token: tenant.admin.token });
      expectError(answer, 400, 'VALIDATION_ERROR', 'ENTITY_REQUIRED');
    }
    for (const body of [{}, { entity_type: 'space' }, { ...thing, more: 1 }, { ...thing, entity_id: '42' }]) {
      expectError(await unlink(id, body), 400, 'VALIDATION_ERROR');
    }
    expectError(await unlink('42', thing), 400, 'VALIDATION_ERROR');
    expect(await usageOf(id)).toBe(1);
  });

  it('404: a record that is not linked, whether it exists or not', async () => {
    const { id } = await create();
    const foreign = await categoriesOf(test, () => other).entity();
    for (const thing of [await entity(), foreign, { ...foreign, entity_id: newId() }, ownTenant()]) {
      expectError(await unlink(id, thing), 404, 'NOT_FOUND', 'CATEGORY_LINK_NOT_FOUND');
    }
    expect(await usageOf(id)).toBe(0);
  });

  it('404: an unknown category, and one of another tenant, whose link stays', async () => {
    const theirs = categoriesOf(test, () => other);
    const category = await theirs.create();
    const thing = await theirs.entity();
    await theirs.link(category.id, thing);
    for (const id of [newId(), category.id]) expectError(await unlink(id, thing), 404, 'NOT_FOUND');
    expect((await theirs.linksOf(category.id)).body.data).toHaveLength(1);
  });
});

describe('listEntityCategories', () => {
  it('200: by level and key, in the requested language, all or one page', async () => {
    const thing = await entity();
    const translations = { en: { name: 'Name' }, de: { name: 'Bezeichnung' } };
    const root = await create({ key: 'of-entity-b', translations });
    const part = await create({ key: 'of-entity-0', parent_id: root.id });
    const first = await create({ key: 'of-entity-a' });
    for (const { id } of [part, root, first]) await link(id, thing);
    const { body } = await ofEntity(thing);
    expect(Object.keys(body)).toEqual(['data', 'total']);
    expect(body.total).toBe(3);
    expect(body.data).toEqual([first, root, part].map((category) => ({ ...category, usage_count: 1 })));
    const german = await ofEntity(thing, '&limit=1&offset=1&language=de');
    expect(german.body).toMatchObject({ data: [{ id: root.id, name: 'Bezeichnung', language: 'de' }], total: 3 });
    expect(german.body.data).toHaveLength(1);
    expect((await ofEntity(thing, '&offset=3')).body).toEqual({ data: [], total: 3 });
  });

  it('200: an empty list for a record without categories', async () => {
    for (const thing of [await entity(), await entity('resource'), await entity('group')]) {
      expect((await ofEntity(thing)).body).toEqual({ data: [], total: 0 });
    }
    const own = await createTenant(test);
    const mine = categoriesOf(test, () => own);
    const thing: Entity = { entity_type: 'tenant', entity_id: own.tenantId };
    expect((await mine.ofEntity(thing)).body).toEqual({ data: [], total: 0 });
  });

  it.each([
    '',
    'entity_type=space',
    `entity_id=${newId()}`,
    `entity_type=user&entity_id=${newId()}`,
    'entity_type=space&entity_id=42',
    `entity_type=space&entity_id=${newId()}&limit=0`,
    `entity_type=space&entity_id=${newId()}&language=xyz`,
  ])('400: %s', async (query) => {
    const answer = await test.call('GET', `${path}/entity?${query}`, { token: tenant.admin.token });
    expectError(answer, 400, 'VALIDATION_ERROR');
  });

  it('401, 404: no credentials; a record that is unknown or of another tenant', async () => {
    const thing = await entity();
    expectError(await ofEntity(thing, '', { token: undefined }), 401, 'AUTHENTICATION_ERROR');
    const theirs = categoriesOf(test, () => other);
    const foreign = await theirs.entity();
    await theirs.link((await theirs.create()).id, foreign);
    for (const entityId of [foreign.entity_id, newId()]) {
      const answer = await ofEntity({ entity_type: 'space', entity_id: entityId });
      expectError(answer, 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
    }
    const tenants = await ofEntity({ entity_type: 'tenant', entity_id: other.tenantId });
    expectError(tenants, 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
  });
});

describe('listCategoryLinks', () => {
  it('200: in the order of linking, all or one page', async () => {
    const { id } = await create();
    const things = [await entity('group'), await entity(), ownTenant(), await entity('resource')];
    for (const thing of things) await link(id, thing);
    const { body } = await linksOf(id);
    expect(Object.keys(body)).toEqual(['data']);
    expect(body.data).toMatchObject(things);
    expect((await linksOf(id, '?limit=2&offset=1')).body.data).toEqual(body.data.slice(1, 3));
  });

  it('400, 401, 404: an invalid uuid or page; no credentials; unknown or of another tenant', async () => {
    const { id } = await create();
    for (const query of ['?limit=0', '?limit=201', '?offset=-1']) {
      expectError(await linksOf(id, query), 400, 'VALIDATION_ERROR');
    }
    expectError(await linksOf('42'), 400, 'VALIDATION_ERROR');
    expectError(await linksOf(id, '', { token: undefined }), 401, 'AUTHENTICATION_ERROR');
    const foreign = (await categoriesOf(test, () => other).create()).id;
    for (const unknown of [newId(), foreign]) expectError(await linksOf(unknown), 404, 'NOT_FOUND');
  });
});

describe('the deletion of a linked record', () => {
  it.each(types)('of a %s deletes and uncounts its links, and keeps others', async (type) => {
    const [a, b] = [await create(), await create()];
    const [gone, kept] = [await entity(type), await entity(type)];
    for (const { id } of [a, b]) await link(id, gone);
    await link(a.id, kept);
    expect((await removeEntity(gone)).status).toBe(204);
    expect([await usageOf(a.id), await usageOf(b.id)]).toEqual([1, 0]);
    expect((await linksOf(a.id)).body.data).toMatchObject([kept]);
    expectError(await ofEntity(gone), 404, 'NOT_FOUND');
    expect(await problems()).toEqual([]);
  });

  it('keeps the links if it is refused', async () => {
    const { id } = await create();
    const hall = await entity();
    await link(id, hall);
    const body = { name: 'Part', parent_id: hall.entity_id };
    await test.call('POST', '/api/v1/secure/spaces', { token: tenant.admin.token, body });
    expectError(await removeEntity(hall), 409, 'CONFLICT', 'SPACE_HAS_CHILDREN');
    expect(await usageOf(id)).toBe(1);
  });
});
