import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { create, keyOf, paths, post, trailOf } from '#test/support/directory';
import { createMember, createTenant, unique, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
const path = paths.types;
let tenant: Tenant;
let admin: Call;
let member: Call;
let manager: Call;
let stranger: Call;
let key: Call;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  member = { token: (await createMember(test, tenant)).token };
  manager = { token: (await createMember(test, tenant, { permissions: ['type_definitions.manage'] })).token };
  stranger = { token: (await createTenant(test)).admin.token };
  key = await keyOf(test, tenant, { typeDefinitions: { read: true } });
});

const get = (id: string, by = admin) => test.call('GET', `${path}/${id}`, by);
const patch = (id: string, body: unknown, by = admin) => test.call('PATCH', `${path}/${id}`, { ...by, body });
const remove = (id: string, by = admin) => test.call('DELETE', `${path}/${id}`, by);
const ofBytes = (bytes: number) => ({ examples: ['ü', 'x'.repeat(bytes - 22)] });
const schema = { type: 'object', properties: { seats: { type: 'integer' } }, required: ['seats'] };

describe('createTypeDefinition', () => {
  it('201: keeps every field and records who created it', async () => {
    const fields = {
      entity_type: 'space',
      key: unique('room').toLowerCase(),
      name: 'Meeting room',
      description: 'With a table',
      json_schema: schema,
    };
    const type = await create(test, admin, 'types', fields);
    expect(type).toEqual({
      id: expect.any(String),
      tenant_id: tenant.tenantId,
      ...fields,
      created_by: tenant.admin.userId,
      created_at: expect.any(String),
      updated_at: type.created_at,
    });
    expect((await get(type.id)).body).toEqual({ data: type });
  });

  it('201: for a member of a group that holds type_definitions.manage', async () => {
    expect((await post(test, manager, 'types')).status).toBe(201);
  });

  it('201: the same key for spaces and for resources, and in another tenant', async () => {
    const same = { key: unique('same').toLowerCase() };
    expect((await post(test, admin, 'types', { ...same, entity_type: 'space' })).status).toBe(201);
    expect((await post(test, admin, 'types', { ...same, entity_type: 'resource' })).status).toBe(201);
    expect((await post(test, stranger, 'types', { ...same, entity_type: 'space' })).status).toBe(201);
  });

  const good: [string, unknown][] = [
    ['key', 'a'],
    ['key', `-${'0'.repeat(99)}`],
    ['name', '𝕏'.repeat(200)],
    ['description', ''],
    ['description', 'x'.repeat(5000)],
    ['description', null],
    ['json_schema', {}],
    ['json_schema', { properties: { ['k'.repeat(200)]: {} } }],
    ['json_schema', ofBytes(32_768)],
  ];
  it.each(good)('201: %s %j', async (field, value) => {
    expect((await create(test, admin, 'types', { [field]: value }))[field]).toEqual(value);
  });

  const bad: [string, unknown][] = [
    ['entity_type', 'user'],
    ['entity_type', null],
    ['key', ''],
    ['key', 'x'.repeat(101)],
    ['key', 'Room'],
    ['key', 'meeting_room'],
    ['key', 'a\n'],
    ['name', ''],
    ['name', ' '],
    ['name', 'x'.repeat(201)],
    ['description', 'x'.repeat(5001)],
    ['json_schema', null],
    ['json_schema', true],
    ['json_schema', []],
    ['json_schema', '{}'],
    ['json_schema', ofBytes(32_769)],
    ['id', newId()],
    ['tenant_id', newId()],
  ];
  it.each(bad)('400: %s %j', async (field, value) => {
    expectError(await post(test, admin, 'types', { [field]: value }), 400, 'VALIDATION_ERROR');
  });

  it.each(['entity_type', 'key', 'name', 'json_schema'])('400: without %s', async (field) => {
    expectError(await post(test, admin, 'types', { [field]: undefined }), 400, 'VALIDATION_ERROR');
  });

  it('401, 403: no credentials, a member without permissions, a key with the read flag', async () => {
    expectError(await post(test, {}, 'types'), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, key]) expectError(await post(test, by, 'types'), 403, 'AUTHORIZATION_ERROR');
  });

  it('409: a duplicate key', async () => {
    const type = await create(test, admin, 'types');
    expectError(await post(test, admin, 'types', { key: type.key }), 409, 'CONFLICT', 'TYPE_KEY_TAKEN');
  });

  it('422: an invalid schema; the answer contains the places', async () => {
    const answer = await post(test, admin, 'types', {
      json_schema: { properties: { a: { pattern: '(a+)+$' }, b: { minimum: 'canary' } } },
    });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_JSON_SCHEMA');
    expect(answer.body.details.errors).toEqual([
      { path: 'json_schema.properties.a.pattern', message: 'is not a supported keyword' },
      { path: 'json_schema.properties.b.minimum', message: 'must be number' },
    ]);
    expect(answer.text).not.toContain('canary');
  });
});

describe('getTypeDefinition and listTypeDefinitions', () => {
  it('200: for every member, and for a key with the flag', async () => {
    const { id } = await create(test, admin, 'types');
    for (const by of [member, key]) {
      expect((await get(id, by)).status).toBe(200);
      expect((await test.call('GET', path, by)).status).toBe(200);
    }
    const blind = await keyOf(test, tenant, { resources: { read: true } });
    expectError(await get(id, blind), 403, 'AUTHORIZATION_ERROR');
    expectError(await test.call('GET', path, blind), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: an unknown id, and the id of another tenant', async () => {
    const { id } = await create(test, admin, 'types');
    expectError(await get(newId()), 404, 'NOT_FOUND');
    expectError(await get(id, stranger), 404, 'NOT_FOUND');
    expectError(await get('42'), 400, 'VALIDATION_ERROR');
  });

  it('200: sorts, filters, searches and pages', async () => {
    const own = await createTenant(test);
    const by = { token: own.admin.token };
    for (const [key_, name, entity_type] of [
      ['c', 'alpha', 'space'],
      ['a', 'Beta', 'resource'],
      ['b', 'gamma', 'resource'],
    ] as const) {
      await create(test, by, 'types', { key: key_, name, entity_type, description: `about ${name}` });
    }
    const keys = async (query: string) => {
      const { status, body } = await test.call('GET', `${path}?${query}`, by);
      expect(status).toBe(200);
      return [body.data.map((type: { key: string }) => type.key).join(''), body.pagination.total];
    };
    expect(await keys('')).toEqual(['cab', 3]);
    expect(await keys('sort=-name')).toEqual(['bac', 3]);
    expect(await keys('sort=key')).toEqual(['abc', 3]);
    expect(await keys('sort=-createdAt')).toEqual(['bac', 3]);
    expect(await keys('entityType=resource')).toEqual(['ab', 2]);
    expect(await keys('key=b')).toEqual(['b', 1]);
    expect(await keys('search=ABOUT%20al')).toEqual(['c', 1]);
    expect(await keys('limit=2&offset=1')).toEqual(['ab', 3]);
    expect(await keys('key=none')).toEqual(['', 0]);
  });

  it.each(['entity_type=user', 'key=', 'key=A', 'sort=id', 'limit=0'])('400: %s', async (query) => {
    expectError(await test.call('GET', `${path}?${query}`, admin), 400, 'VALIDATION_ERROR');
  });
});

describe('updateTypeDefinition', () => {
  const changes: [string, unknown][] = [
    ['name', 'Renamed'],
    ['description', null],
    ['json_schema', { properties: { a: {} } }],
    ['key', `renamed-${newId()}`],
  ];
  it.each(changes)('200: %s becomes %j; other fields keep their values', async (field, value) => {
    const before = await create(test, admin, 'types', { json_schema: schema, description: 'D' });
    const { status, body } = await patch(before.id, { [field]: value }, manager);
    expect(status).toBe(200);
    expect(body.data).toEqual({ ...before, [field]: value, updated_at: expect.any(String) });
    expect(body.data.updated_at > before.updated_at).toBe(true);
    expect((await get(before.id)).body).toEqual(body);
  });

  it('200: an empty patch changes nothing', async () => {
    const before = await create(test, admin, 'types');
    expect((await patch(before.id, {})).body).toEqual({ data: before });
    expect(await trailOf(test, tenant.tenantId, before.id)).toHaveLength(1);
  });

  it('400, 401, 403, 404: requests that are not allowed', async () => {
    const { id } = await create(test, admin, 'types');
    for (const body of [{ entity_type: 'space' }, { name: null }, { json_schema: null }, { key: 'X' }, []]) {
      expectError(await patch(id, body), 400, 'VALIDATION_ERROR');
    }
    expectError(await patch(id, { name: 'x' }, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, key]) expectError(await patch(id, { name: 'x' }, by), 403, 'AUTHORIZATION_ERROR');
    expectError(await patch(newId(), { name: 'x' }), 404, 'NOT_FOUND');
    expectError(await patch(id, { name: 'x' }, stranger), 404, 'NOT_FOUND');
  });

  it('409: the key of another type', async () => {
    const [one, two] = [await create(test, admin, 'types'), await create(test, admin, 'types')];
    expectError(await patch(one.id, { key: two.key }), 409, 'CONFLICT', 'TYPE_KEY_TAKEN');
    expect((await patch(one.id, { key: one.key })).status).toBe(200);
  });

  it('422: an invalid schema; the previous one stays', async () => {
    const before = await create(test, admin, 'types', { json_schema: schema });
    const answer = await patch(before.id, { json_schema: { $ref: '#' } });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_JSON_SCHEMA');
    expect((await get(before.id)).body).toEqual({ data: before });
  });
});

describe('deleteTypeDefinition', () => {
  it('204: a type that no record uses', async () => {
    const { id } = await create(test, admin, 'types');
    expect((await remove(id, manager)).status).toBe(204);
    expectError(await get(id), 404, 'NOT_FOUND');
    expectError(await remove(id), 404, 'NOT_FOUND');
  });

  it.each(['space', 'resource'] as const)('409: a type while a %s uses it', async (entityType) => {
    const { id } = await create(test, admin, 'types', { entity_type: entityType });
    const collection = entityType === 'space' ? 'spaces' : 'resources';
    const record = await create(test, admin, collection, { type_id: id });
    expectError(await remove(id), 409, 'CONFLICT', 'TYPE_IN_USE');
    const url = `${paths[collection]}/${record.id}`;
    expect((await test.call('PATCH', url, { ...admin, body: { type_id: null } })).status).toBe(200);
    expect((await remove(id)).status).toBe(204);
  });

  it('401, 403, 404: no credentials, a member without permissions, a key, another tenant', async () => {
    const { id } = await create(test, admin, 'types');
    expectError(await remove(id, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, key]) expectError(await remove(id, by), 403, 'AUTHORIZATION_ERROR');
    expectError(await remove(id, stranger), 404, 'NOT_FOUND');
    expectError(await remove(newId()), 404, 'NOT_FOUND');
  });
});
