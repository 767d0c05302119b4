import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { create, keyOf, paths, trailOf } from '#test/support/directory';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call, strictlyLater } from '#test/support/harness';

const test = useService({ now: strictlyLater() });
const path = paths.resources;
let tenant: Tenant;
let admin: Call;
let member: Call;
let manager: Person;
let stranger: Call;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  member = { token: (await createMember(test, tenant)).token };
  manager = await createMember(test, tenant, { permissions: ['resources.manage'] });
  stranger = { token: (await createTenant(test)).admin.token };
});

const get = (id: string) => test.call('GET', `${path}/${id}`, admin);
const patch = (id: string, body: unknown, by = admin) => test.call('PATCH', `${path}/${id}`, { ...by, body });

/** Creates a chain of nested parts; returns the ids from the root down. */
async function createLine(length: number): Promise<string[]> {
  const ids: string[] = [];
  for (let depth = 0; depth < length; depth++) {
    ids.push((await create(test, admin, 'resources', { parent_id: ids.at(-1) ?? null })).id);
  }
  return ids;
}

const full = {
  description: 'Hangs from the roof',
  translations_i18n: { de: { name: 'Beamer' } },
  serial: 'SN-1',
  capacity: 1,
  address: { city: 'Berlin' },
  geo: { lat: 52.52, lng: 13.405 },
  timezone: 'Europe/Berlin',
  properties: { lumen: 3000 },
};

describe('updateResource', () => {
  const clearable = ['description', 'serial', 'capacity', 'address', 'geo', 'timezone'];
  const changes: [string, unknown][] = [
    ['name', 'Renamed'],
    ['description', ''],
    ['translations_i18n', { de: { description: 'Wirft Bilder' } }],
    ['serial', 'SN-2'],
    ['capacity', 0],
    ['address', { country: 'DE' }],
    ['geo', { lat: 0, lng: 0 }],
    ['timezone', 'Asia/Kathmandu'],
    ['status', 'archived'],
    ['properties', {}],
    ['properties', { other: 1 }],
    ...clearable.map((field): [string, unknown] => [field, null]),
  ];
  it.each(changes)('200: %s becomes %j; other fields keep their values', async (field, value) => {
    const before = await create(test, admin, 'resources', full);
    const changed = await patch(before.id, { [field]: value }, { token: manager.token });
    expect(changed.status).toBe(200);
    expect(changed.body.data).toEqual({
      ...before,
      [field]: value,
      updated_by: manager.userId,
      updated_at: expect.any(String),
    });
    expect(changed.body.data.updated_at > before.updated_at).toBe(true);
    expect((await get(before.id)).body).toEqual(changed.body);
  });

  it('200: an empty patch changes nothing, including `updated_at`', async () => {
    const before = await create(test, admin, 'resources', full);
    expect((await patch(before.id, {}, { token: manager.token })).body).toEqual({ data: before });
    expect(await trailOf(test, tenant.tenantId, before.id)).toHaveLength(1);
  });

  it('200: into a space and out of it, below another resource and back to the root', async () => {
    const [resource, parent] = [await create(test, admin, 'resources'), await create(test, admin, 'resources')];
    const space = await create(test, admin, 'spaces');
    const moved = await patch(resource.id, { parent_id: parent.id, space_id: space.id });
    expect(moved.body.data).toMatchObject({ parent_id: parent.id, space_id: space.id });
    const back = await patch(resource.id, { parent_id: null, space_id: null });
    expect(back.body.data).toMatchObject({ parent_id: null, space_id: null });
  });

  it('200: moves up and sideways within its own branch', async () => {
    const [top, , low] = await createLine(3);
    expect((await patch(low!, { parent_id: top })).status).toBe(200);
  });

  it('200: for a key with the write flag', async () => {
    const before = await create(test, admin, 'resources');
    const key = await keyOf(test, tenant, { resources: { write: true } });
    expect((await patch(before.id, { name: 'By a key' }, key)).body.data).toMatchObject({
      name: 'By a key',
      updated_by: null,
    });
  });

  it.each([
    ['an empty name', { name: '' }],
    ['null for the name', { name: null }],
    ['null for the status', { status: null }],
    ['null for properties', { properties: null }],
    ['an empty serial', { serial: '' }],
    ['a parent that is not a uuid', { parent_id: 'top' }],
    ['a space that is not a uuid', { space_id: '' }],
    ['an unknown property', { tenant_id: newId() }],
    ['no object', []],
    ['no body', undefined],
  ])('400: %s', async (_what, body) => {
    const before = await create(test, admin, 'resources', full);
    expectError(await patch(before.id, body), 400, 'VALIDATION_ERROR');
    expect((await get(before.id)).body).toEqual({ data: before });
  });

  it('401: no credentials, 403 for a member without permissions and a read-only key', async () => {
    const { id } = await create(test, admin, 'resources');
    expectError(await patch(id, { name: 'x' }, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, await keyOf(test, tenant, { resources: { read: true } })]) {
      expectError(await patch(id, { name: 'Mine' }, by), 403, 'AUTHORIZATION_ERROR');
    }
  });

  it.each([{}, { name: 'x' }, { parent_id: null }, { properties: {} }])(
    '404: an unknown id, and the id of another tenant, %j',
    async (body) => {
      const before = await create(test, admin, 'resources');
      expectError(await patch(newId(), body), 404, 'NOT_FOUND');
      expectError(await patch(before.id, body, stranger), 404, 'NOT_FOUND');
      expect((await get(before.id)).body).toEqual({ data: before });
    },
  );

  const references: [string, 'spaces' | 'resources' | 'types', string][] = [
    ['space_id', 'spaces', 'SPACE_NOT_FOUND'],
    ['parent_id', 'resources', 'PARENT_NOT_FOUND'],
    ['type_id', 'types', 'TYPE_NOT_FOUND'],
  ];
  it.each(references)('404: %s that is unknown or of another tenant', async (field, of, reason) => {
    const [before, foreign] = [await create(test, admin, 'resources'), await create(test, stranger, of)];
    for (const id of [newId(), foreign.id]) {
      expectError(await patch(before.id, { [field]: id }), 404, 'NOT_FOUND', reason);
    }
    expect((await get(before.id)).body).toEqual({ data: before });
  });

  it('404: an unknown resource below one that exists', async () => {
    const parent = await create(test, admin, 'resources');
    expectError(await patch(newId(), { parent_id: parent.id }), 404, 'NOT_FOUND');
  });

  it('409: into itself, into its part, into a distant descendant', async () => {
    const line = await createLine(8);
    const before = (await get(line[0]!)).body;
    for (const parentId of [line[0]!, line[0]!.toUpperCase(), line[1]!, line[7]!]) {
      const answer = await patch(line[0]!, { parent_id: parentId, name: 'Moved' });
      expectError(answer, 409, 'CONFLICT', 'RESOURCE_CYCLE');
    }
    expect((await get(line[0]!)).body).toEqual(before);
  });
});
