import { beforeAll, describe, expect, it } from 'vitest';

import { appOf, create, keyOf, paths, post, trailOf } from '#test/support/directory';
import { createTenant, unique, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
const path = paths.resources;
let tenant: Tenant;
let admin: Call;
/** An API key and an app account that see `color` and `size` only. */
let limited: [string, Call][];

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  const permissions = { resources: { read: true, write: true, delete: true, properties: ['color', 'size'] } };
  limited = [
    ['key', await keyOf(test, tenant, permissions)],
    ['app account', await appOf(test, tenant, permissions)],
  ];
});

const get = (id: string, by = admin) => test.call('GET', `${path}/${id}`, by);
const patch = (id: string, body: unknown, by = admin) => test.call('PATCH', `${path}/${id}`, { ...by, body });
const stored = async (id: string) => (await get(id)).body.data.properties as Record<string, unknown>;

const typed = (schema: object, body: object = {}) => create(test, admin, 'types', { json_schema: schema, ...body });

describe('a credential that sees some of the properties', () => {
  it('reads only these: in one record, in lists, and in answers to writes', async () => {
    const properties = { color: 'red', canary: 'canary', size: { w: 1 } };
    const { id } = await create(test, admin, 'resources', { properties });
    for (const [, by] of limited) {
      const answers = [
        await get(id, by),
        await test.call('GET', `${path}?limit=200`, by),
        await test.call('GET', `${path}?search=Projector&limit=200`, by),
        await patch(id, { name: 'Projector' }, by),
        await patch(id, {}, by),
      ];
      for (const { status, text, body } of answers) {
        expect(status).toBe(200);
        expect(text).not.toContain('canary');
        const data = Array.isArray(body.data) ? body.data.find((each: { id: string }) => each.id === id) : body.data;
        expect(data.properties).toEqual({ color: 'red', size: { w: 1 } });
      }
    }
    expect(await stored(id)).toEqual(properties);
  });

  it('adds to the stored properties, and removes none', async () => {
    const { id } = await create(test, admin, 'resources', { properties: { hidden: 1, color: 'red', size: 1 } });
    for (const [, by] of limited) {
      expect((await patch(id, { properties: { color: 'blue' } }, by)).body.data.properties).toEqual({
        color: 'blue',
        size: 1,
      });
      expect((await patch(id, { properties: {} }, by)).status).toBe(200);
    }
    expect(await stored(id)).toEqual({ hidden: 1, color: 'blue', size: 1 });
    expect((await patch(id, { properties: { other: 2 } })).body.data.properties).toEqual({ other: 2 });
  });

  it('422: adds more than the size limit allows', async () => {
    const { id } = await create(test, admin, 'resources', { properties: { hidden: 'x'.repeat(20_000) } });
    const room = 32_768 - JSON.stringify({ hidden: 'x'.repeat(20_000), color: '' }).length;
    for (const [, by] of limited) {
      const answer = await patch(id, { properties: { color: 'x'.repeat(room + 1) } }, by);
      expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'PROPERTIES_TOO_LARGE');
      expect((await patch(id, { properties: { color: 'x'.repeat(room) } }, by)).status).toBe(200);
    }
    expectError(await patch(id, { properties: { a: 'x'.repeat(32_768) } }), 400, 'VALIDATION_ERROR');
  });

  it('creates a record with only these', async () => {
    for (const [, by] of limited) {
      const { id, properties } = await create(test, by, 'resources', { properties: { color: 'red' } });
      expect(properties).toEqual({ color: 'red' });
      expect(await stored(id)).toEqual({ color: 'red' });
    }
  });

  it('403: writes another property, whether it exists or not; nothing changes or is recorded', async () => {
    const before = await create(test, admin, 'resources', { properties: { hidden: 1, color: 'red' } });
    for (const [, by] of limited) {
      for (const properties of [
        { hidden: 2 },
        { color: 'blue', hidden: 1 },
        { unknown: 1 },
        { Color: 'red' },
        { toString: 1 },
      ]) {
        const changed = await patch(before.id, { properties, name: 'Changed' }, by);
        expectError(changed, 403, 'AUTHORIZATION_ERROR', 'PROPERTY_NOT_ALLOWED');
        expectError(
          await post(test, by, 'resources', { properties }),
          403,
          'AUTHORIZATION_ERROR',
          'PROPERTY_NOT_ALLOWED',
        );
      }
    }
    expect((await get(before.id)).body).toEqual({ data: before });
    expect(await trailOf(test, tenant.tenantId, before.id)).toHaveLength(1);
  });

  it('403: changes the type, which would reveal whether hidden properties match it', async () => {
    const type = await create(test, admin, 'types', {
      entity_type: 'resource',
      key: unique('type'),
      name: 'Type',
      json_schema: { properties: { hidden: { const: 1 } } },
    });
    const before = await create(test, admin, 'resources', { properties: { hidden: 1, color: 'red' } });
    for (const [, by] of limited) {
      for (const typeId of [type.id, null]) {
        const changed = await patch(before.id, { type_id: typeId }, by);
        expectError(changed, 403, 'AUTHORIZATION_ERROR', 'PROPERTY_NOT_ALLOWED');
      }
    }
    expect((await get(before.id)).body).toEqual({ data: before });
  });

  it('an empty list of names means all of them', async () => {
    const key = await keyOf(test, tenant, { resources: { read: true, write: true, properties: [] } });
    const { id } = await create(test, key, 'resources', { properties: { a: 1, b: 2 } });
    expect((await get(id, key)).body.data.properties).toEqual({ a: 1, b: 2 });
    expect((await patch(id, { properties: { c: 3 } }, key)).body.data.properties).toEqual({ c: 3 });
  });

  it('changed permissions of a key apply to its next request', async () => {
    const created = await test.call('POST', '/api/v1/secure/api-keys', {
      ...admin,
      body: { name: 'Key', permissions: { resources: { read: true, properties: ['a'] } } },
    });
    const by = { headers: { 'x-api-key': created.body.fullKey } };
    const { id } = await create(test, admin, 'resources', { properties: { a: 1, b: 2 } });
    expect((await get(id, by)).body.data.properties).toEqual({ a: 1 });
    const body = { permissions: { resources: { properties: ['b'] } } };
    await test.call('PATCH', `/api/v1/secure/api-keys/${created.body.data.id}`, { ...admin, body });
    expect((await get(id, by)).body.data.properties).toEqual({ b: 2 });
  });

  it('keeps fifty concurrent additions', async () => {
    const names = Array.from({ length: 50 }, (_, at) => `p${at}`);
    const key = await keyOf(test, tenant, { resources: { write: true, properties: names } });
    const { id } = await create(test, admin, 'resources', { properties: { hidden: true } });
    const answers = await Promise.all(names.map((name) => patch(id, { properties: { [name]: 1 } }, key)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(Object.keys(await stored(id))).toHaveLength(51);
  });
});

describe('properties and the type of the record', () => {
  const schema = {
    type: 'object',
    properties: { seats: { type: 'integer', minimum: 1 }, color: { enum: ['red', 'blue'] } },
    required: ['seats'],
    additionalProperties: false,
  };

  it('201 and 422 on creation, with every place and without values', async () => {
    const { id } = await typed(schema);
    expect((await post(test, admin, 'resources', { type_id: id, properties: { seats: 1 } })).status).toBe(201);
    const answer = await post(test, admin, 'resources', {
      type_id: id,
      properties: { seats: 0, color: 'canary', x: 'canary' },
    });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'PROPERTIES_INVALID');
    const { errors } = answer.body.details;
    expect(errors).toHaveLength(3);
    expect(errors).toEqual(
      expect.arrayContaining([
        { path: 'properties.seats', message: 'must be >= 1' },
        { path: 'properties.color', message: 'must be equal to one of the allowed values' },
        { path: 'properties.x', message: 'is not a known property' },
      ]),
    );
    expect(answer.text).not.toContain('canary');
    const missing = await post(test, admin, 'resources', { type_id: id });
    expect(missing.body.details.errors).toEqual([{ path: 'properties.seats', message: 'is required' }]);
  });

  it('a record without a type accepts any properties', async () => {
    expect((await post(test, admin, 'resources', { properties: { anything: [1, { at: 'all' }] } })).status).toBe(201);
  });

  it('200 and 422 on update: of the properties, of the type, of both', async () => {
    const [one, other] = [await typed(schema), await typed({ required: ['color'] })];
    const { id } = await create(test, admin, 'resources', { properties: { seats: 2 } });
    const refused = async (body: object) =>
      expectError(await patch(id, body), 422, 'UNPROCESSABLE_ENTITY', 'PROPERTIES_INVALID');
    await refused({ type_id: other.id });
    expect((await patch(id, { type_id: one.id })).status).toBe(200);
    await refused({ properties: { seats: '2' } });
    await refused({ type_id: other.id });
    await refused({ type_id: other.id, properties: { seats: 2 } });
    expect(await stored(id)).toEqual({ seats: 2 });
    expect((await patch(id, { type_id: other.id, properties: { color: 5 } })).status).toBe(200);
    expect((await patch(id, { type_id: null, properties: {} })).body.data).toMatchObject({
      type_id: null,
      properties: {},
    });
  });

  it('a new schema changes no records, and applies to the next write of each record', async () => {
    const type = await typed({});
    const { id } = await create(test, admin, 'resources', { type_id: type.id, properties: { old: true } });
    const changed = await test.call('PATCH', `${paths.types}/${type.id}`, { ...admin, body: { json_schema: schema } });
    expect(changed.status).toBe(200);
    expect(await stored(id)).toEqual({ old: true });
    for (const body of [{ name: 'Renamed' }, { status: 'archived' }, { properties: { old: true } }]) {
      expectError(await patch(id, body), 422, 'UNPROCESSABLE_ENTITY', 'PROPERTIES_INVALID');
    }
    expect((await patch(id, { name: 'Renamed', properties: { seats: 4 } })).status).toBe(200);
  });

  it('checks the merged properties, and does not name hidden ones', async () => {
    const type = await typed({
      properties: { color: { type: 'string' }, canary: { type: 'integer' } },
      required: ['canary'],
      additionalProperties: false,
    });
    const fits = await create(test, admin, 'resources', { type_id: type.id, properties: { canary: 5 } });
    for (const [, by] of limited) {
      expect((await patch(fits.id, { properties: { color: 'red' } }, by)).status).toBe(200);
      const wrong = await patch(fits.id, { properties: { color: 5 } }, by);
      expect(wrong.body.details.errors).toEqual([{ path: 'properties.color', message: 'must be string' }]);
      const unknown = await patch(fits.id, { properties: { size: 5 } }, by);
      expect(unknown.body.details.errors).toEqual([{ path: 'properties.size', message: 'is not a known property' }]);
      const created = await post(test, by, 'resources', { type_id: type.id, properties: { color: 'red' } });
      expectError(created, 422, 'UNPROCESSABLE_ENTITY', 'PROPERTIES_INVALID');
      expect(created.body.details.errors).toEqual([
        { path: 'properties', message: 'properties that you cannot see do not match the type' },
      ]);
      expect(created.text).not.toContain('canary');
    }
    expect(await stored(fits.id)).toEqual({ canary: 5, color: 'red' });
  });

  it('values and names of properties appear neither in the audit trail nor in the log', async () => {
    const { id } = await create(test, admin, 'resources', { properties: { canaryName: 'canaryValue' } });
    await patch(id, { properties: { canaryName: 'canaryValue2' } });
    expect(JSON.stringify(await trailOf(test, tenant.tenantId, id))).not.toContain('canary');
    expect(test.logLines.length).toBeGreaterThan(0);
    expect(test.logLines.filter((line) => line.includes('canaryValue'))).toEqual([]);
  });
});
