import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { create, keyOf, paths, post } from '#test/support/directory';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
const path = paths.spaces;
let tenant: Tenant;
let admin: Call;
let stranger: Call;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  stranger = { token: (await createTenant(test)).admin.token };
});

const get = (id: string) => test.call('GET', `${path}/${id}`, admin);
const patch = (id: string, body: unknown, by = admin) => test.call('PATCH', `${path}/${id}`, { ...by, body });
const typed = (json_schema: object, by = admin) => create(test, by, 'types', { entity_type: 'space', json_schema });
const seats = { properties: { seats: { type: 'integer' } }, required: ['seats'], additionalProperties: false };

describe('the type of a space', () => {
  it('201, 200: is set, changed and removed', async () => {
    const [one, other] = [await typed(seats), await typed({})];
    const space = await create(test, admin, 'spaces', { type_id: one.id, properties: { seats: 4 } });
    expect(space.type_id).toBe(one.id);
    expect((await patch(space.id, { type_id: other.id })).body.data.type_id).toBe(other.id);
    expect((await patch(space.id, { name: 'Renamed' })).body.data.type_id).toBe(other.id);
    expect((await patch(space.id, { type_id: null })).body.data).toMatchObject({
      type_id: null,
      properties: { seats: 4 },
    });
  });

  it('404: an unknown type, and a type of another tenant, with the same answer', async () => {
    const space = await create(test, admin, 'spaces');
    const foreign = await typed({}, stranger);
    for (const type_id of [newId(), foreign.id]) {
      expectError(await post(test, admin, 'spaces', { type_id }), 404, 'NOT_FOUND', 'TYPE_NOT_FOUND');
      expectError(await patch(space.id, { type_id }), 404, 'NOT_FOUND', 'TYPE_NOT_FOUND');
    }
    expectError(await patch(newId(), { type_id: (await typed({})).id }), 404, 'NOT_FOUND');
  });

  it('422: a type for resources', async () => {
    const type = await create(test, admin, 'types', { entity_type: 'resource' });
    const answer = await post(test, admin, 'spaces', { type_id: type.id });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'TYPE_ENTITY_MISMATCH');
  });

  it('422: properties that do not match, on creation and on every update', async () => {
    const type = await typed(seats);
    const bad = { type_id: type.id, properties: { seats: 'canary', canary: 1 } };
    const created = await post(test, admin, 'spaces', bad);
    expectError(created, 422, 'UNPROCESSABLE_ENTITY', 'PROPERTIES_INVALID');
    expect(created.body.details.errors).toEqual([
      { path: 'properties.seats', message: 'must be integer' },
      { path: 'properties.canary', message: 'is not a known property' },
    ]);
    const space = await create(test, admin, 'spaces', { properties: { seats: 'many' } });
    expectError(await patch(space.id, { type_id: type.id }), 422, 'UNPROCESSABLE_ENTITY', 'PROPERTIES_INVALID');
    expect((await patch(space.id, { type_id: type.id, properties: { seats: 5 } })).status).toBe(200);
    const before = await get(space.id);
    expectError(await patch(space.id, { properties: {} }), 422, 'UNPROCESSABLE_ENTITY', 'PROPERTIES_INVALID');
    const url = `${paths.types}/${type.id}`;
    await test.call('PATCH', url, { ...admin, body: { json_schema: { required: ['floor'] } } });
    expectError(await patch(space.id, { name: 'x' }), 422, 'UNPROCESSABLE_ENTITY', 'PROPERTIES_INVALID');
    expect((await get(space.id)).body).toEqual(before.body);
  });

  it('409 before 422: a cycle is reported before other errors', async () => {
    const type = await typed(seats);
    const space = await create(test, admin, 'spaces');
    const answer = await patch(space.id, { parent_id: space.id, type_id: type.id });
    expectError(answer, 409, 'CONFLICT', 'SPACE_CYCLE');
  });

  it('a limit on properties of resources does not apply to spaces', async () => {
    const permissions = { spaces: { read: true, write: true }, resources: { read: true, properties: ['a'] } };
    const key = await keyOf(test, tenant, permissions);
    const space = await create(test, key, 'spaces', { properties: { a: 1, b: 2 } });
    expect((await patch(space.id, { properties: { c: 3 } }, key)).body.data.properties).toEqual({ c: 3 });
  });
});

describe('listSpaces', () => {
  it('200: by type and by tag', async () => {
    const [type, tag] = [await typed({}), await create(test, admin, 'tags')];
    const otherTag = await create(test, admin, 'tags');
    const a = await create(test, admin, 'spaces', { name: 'a', type_id: type.id });
    const b = await create(test, admin, 'spaces', { name: 'b', type_id: type.id });
    const c = await create(test, admin, 'spaces', { name: 'c', parent_id: b.id });
    for (const { id } of [b, c]) await test.call('PUT', `${path}/${id}/tags/${tag.id}`, admin);
    await test.call('PUT', `${path}/${a.id}/tags/${otherTag.id}`, admin);
    const found = async (query: string, by = admin) => {
      const { body } = await test.call('GET', `${path}?${query}`, by);
      expect(body.pagination.total).toBe(body.data.length);
      return body.data.map((space: { id: string }) => space.id);
    };
    expect(await found(`type_id=${type.id}`)).toEqual([a.id, b.id]);
    expect(await found(`tagId=${tag.id.toUpperCase()}`)).toEqual([b.id, c.id]);
    expect(await found(`tag_id=${tag.id}&type_id=${type.id}`)).toEqual([b.id]);
    expect(await found(`tag_id=${tag.id}&parent_id=${b.id}`)).toEqual([c.id]);
    expect(await found('type_id=null')).toContain(c.id);
    expect(await found('type_id=null')).not.toContain(a.id);
    expect(await found(`type_id=${newId()}`)).toEqual([]);
    expect(await found(`tag_id=${tag.id}`, stranger)).toEqual([]);
  });

  it.each(['type_id=42', 'type_id=', 'tag_id=null', 'tag_id=42'])('400: %s', async (query) => {
    expectError(await test.call('GET', `${path}?${query}`, admin), 400, 'VALIDATION_ERROR');
  });
});

describe('deleteSpace', () => {
  it('204: deletes its tags and feedback, and releases its codes', async () => {
    const [space, tag, code] = [
      await create(test, admin, 'spaces'),
      await create(test, admin, 'tags'),
      await create(test, admin, 'qrCodes'),
    ];
    const entity = { entity_type: 'space', entity_id: space.id };
    const feedback = await create(test, admin, 'feedbacks', entity);
    await test.call('PUT', `${path}/${space.id}/tags/${tag.id}`, admin);
    await test.call('POST', `${paths.qrCodes}/${code.id}/assign`, { ...admin, body: entity });
    expect((await test.call('DELETE', `${path}/${space.id}`, admin)).status).toBe(204);
    expectError(await test.call('GET', `${paths.feedbacks}/${feedback.id}`, admin), 404, 'NOT_FOUND');
    const after = await test.call('GET', `${paths.qrCodes}/${code.id}`, admin);
    expect(after.body.data).toMatchObject({ entity_type: null, entity_id: null, assigned_at: null });
  });
});
