import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { create, keyOf, paths, post, trailOf } from '#test/support/directory';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
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

const get = (id: string, by = admin) => test.call('GET', `${path}/${id}`, by);
const remove = (id: string, by = admin) => test.call('DELETE', `${path}/${id}`, by);

describe('createResource', () => {
  it('201: keeps every field and records who created it', async () => {
    const [space, parent] = [await create(test, admin, 'spaces'), await create(test, admin, 'resources')];
    const type = await create(test, admin, 'types');
    const fields = {
      space_id: space.id,
      parent_id: parent.id,
      type_id: type.id,
      name: 'Projector 1',
      description: 'Hangs from the roof',
      translations_i18n: { de: { name: 'Beamer 1', description: null } },
      serial: 'SN-0001',
      capacity: 1,
      address: { city: 'Berlin', floor: '1' },
      geo: { lat: 52.52, lng: 13.405 },
      timezone: 'Europe/Berlin',
      status: 'maintenance',
      properties: { lumen: 3000, ports: ['hdmi'], nested: { a: null } },
    };
    const resource = await create(test, admin, 'resources', fields);
    expect(resource).toEqual({
      id: expect.any(String),
      tenant_id: tenant.tenantId,
      ...fields,
      created_at: expect.any(String),
      updated_at: resource.created_at,
      created_by: tenant.admin.userId,
      updated_by: tenant.admin.userId,
    });
    expect((await get(resource.id)).body).toEqual({ data: resource });
  });

  it('201: only the name is required', async () => {
    expect(await create(test, admin, 'resources', { name: 'Chair' })).toMatchObject({
      space_id: null,
      parent_id: null,
      type_id: null,
      description: null,
      translations_i18n: {},
      serial: null,
      capacity: null,
      address: null,
      geo: null,
      timezone: null,
      status: 'active',
      properties: {},
    });
  });

  it('201: for a member of a group that holds resources.manage, and for a key with the write flag', async () => {
    const byManager = await create(test, { token: manager.token }, 'resources');
    expect(byManager.created_by).toBe(manager.userId);
    const byKey = await create(test, await keyOf(test, tenant, { resources: { write: true } }), 'resources');
    expect(byKey.created_by).toBeNull();
    const [row] = await trailOf(test, tenant.tenantId, byKey.id);
    expect(row).toMatchObject({ action: 'resource.created', user_id: null, details: { actor: { type: 'api_key' } } });
  });

  const good: [string, unknown][] = [
    ['name', '𝕏'.repeat(200)],
    ['description', 'x'.repeat(5000)],
    ['serial', 'x'],
    ['serial', 'x'.repeat(200)],
    ['capacity', 1_000_000],
    ['geo', { lat: -90, lng: 180 }],
    ['status', 'archived'],
    ['timezone', 'Asia/Kolkata'],
    ['properties', { ['k'.repeat(200)]: 'v' }],
    ...['space_id', 'parent_id', 'type_id', 'serial', 'capacity', 'address', 'geo', 'timezone'].map(
      (field): [string, unknown] => [field, null],
    ),
  ];
  it.each(good)('201: %s %j', async (field, value) => {
    expect((await create(test, admin, 'resources', { [field]: value }))[field]).toEqual(value);
  });

  const bad: [string, unknown][] = [
    ['name', ''],
    ['name', ' \t'],
    ['name', null],
    ['name', 'x'.repeat(201)],
    ['description', 'x'.repeat(5001)],
    ['serial', ''],
    ['serial', ' '],
    ['serial', 'x'.repeat(201)],
    ['serial', 5],
    ['capacity', -1],
    ['capacity', 1.5],
    ['geo', { lat: 90.1, lng: 0 }],
    ['status', 'deleted'],
    ['status', null],
    ['translations_i18n', { deu: { name: 'x' } }],
    ['address', []],
    ['timezone', '+02:00'],
    ['properties', []],
    ['properties', null],
    ['parent_id', '42'],
    ['space_id', 'null'],
    ['type_id', ''],
    ['spaceId', newId()],
    ['id', newId()],
    ['tenant_id', newId()],
  ];
  it.each(bad)('400: %s %j', async (field, value) => {
    expectError(await post(test, admin, 'resources', { [field]: value }), 400, 'VALIDATION_ERROR');
  });

  it('401, 403: no credentials, a member without permissions, a read-only key', async () => {
    expectError(await post(test, {}, 'resources'), 401, 'AUTHENTICATION_ERROR');
    const reader = await keyOf(test, tenant, { resources: { read: true, delete: true }, spaces: { write: true } });
    for (const by of [member, reader]) expectError(await post(test, by, 'resources'), 403, 'AUTHORIZATION_ERROR');
  });

  const references: [string, 'spaces' | 'resources' | 'types', string][] = [
    ['space_id', 'spaces', 'SPACE_NOT_FOUND'],
    ['parent_id', 'resources', 'PARENT_NOT_FOUND'],
    ['type_id', 'types', 'TYPE_NOT_FOUND'],
  ];
  it.each(references)(
    '404: %s that is unknown or of another tenant, with the same answer',
    async (field, of, reason) => {
      const foreign = await create(test, stranger, of);
      for (const id of [newId(), foreign.id]) {
        expectError(await post(test, admin, 'resources', { [field]: id }), 404, 'NOT_FOUND', reason);
      }
    },
  );

  it('422: a type for spaces', async () => {
    const type = await create(test, admin, 'types', { entity_type: 'space' });
    const answer = await post(test, admin, 'resources', { type_id: type.id });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'TYPE_ENTITY_MISMATCH');
  });
});

describe('getResource', () => {
  it('200: for every member, and for a key with the read flag', async () => {
    const resource = await create(test, admin, 'resources');
    for (const by of [member, await keyOf(test, tenant, { resources: { read: true } })]) {
      expect((await get(resource.id, by)).body).toEqual({ data: resource });
    }
  });

  it('400, 401, 403, 404: invalid uuid, no credentials, a key without the flag, an unknown id, and the id of another tenant', async () => {
    const { id } = await create(test, admin, 'resources');
    expectError(await get('42'), 400, 'VALIDATION_ERROR');
    expectError(await get(id, {}), 401, 'AUTHENTICATION_ERROR');
    const writer = await keyOf(test, tenant, { resources: { write: true }, spaces: { read: true } });
    expectError(await get(id, writer), 403, 'AUTHORIZATION_ERROR');
    expectError(await get(newId()), 404, 'NOT_FOUND');
    expectError(await get(id, stranger), 404, 'NOT_FOUND');
  });
});

describe('deleteResource', () => {
  it('204: deletes the resource with its tags and feedback, and releases its codes', async () => {
    const { id } = await create(test, admin, 'resources');
    const tag = await create(test, admin, 'tags');
    const entity = { entity_type: 'resource', entity_id: id };
    const feedback = await create(test, admin, 'feedbacks', entity);
    const code = await create(test, admin, 'qrCodes');
    const codeUrl = `${paths.qrCodes}/${code.id}`;
    expect((await test.call('PUT', `${path}/${id}/tags/${tag.id}`, admin)).status).toBe(204);
    expect((await test.call('POST', `${codeUrl}/assign`, { ...admin, body: entity })).status).toBe(200);

    const deleted = await remove(id, { token: manager.token });
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expectError(await get(id), 404, 'NOT_FOUND');
    expectError(await remove(id), 404, 'NOT_FOUND');
    expectError(await test.call('GET', `${paths.feedbacks}/${feedback.id}`, admin), 404, 'NOT_FOUND');
    expect((await test.call('GET', `${paths.tags}/${tag.id}`, admin)).status).toBe(200);
    expect((await test.call('GET', codeUrl, admin)).body.data).toMatchObject({
      code: code.code,
      entity_type: null,
      entity_id: null,
      assigned_at: null,
    });
  });

  it('204: for a key with the delete flag', async () => {
    const { id } = await create(test, admin, 'resources');
    expect((await remove(id, await keyOf(test, tenant, { resources: { delete: true } }))).status).toBe(204);
  });

  it('400, 401, 403, 404: invalid uuid, no credentials, no permission, another tenant', async () => {
    const { id } = await create(test, admin, 'resources');
    expectError(await remove('42'), 400, 'VALIDATION_ERROR');
    expectError(await remove(id, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, await keyOf(test, tenant, { resources: { write: true } })]) {
      expectError(await remove(id, by), 403, 'AUTHORIZATION_ERROR');
    }
    expectError(await remove(newId()), 404, 'NOT_FOUND');
    expectError(await remove(id, stranger), 404, 'NOT_FOUND');
    expect((await get(id)).status).toBe(200);
  });

  it('409: while it has parts', async () => {
    const top = await create(test, admin, 'resources');
    const part = await create(test, admin, 'resources', { parent_id: top.id });
    expectError(await remove(top.id), 409, 'CONFLICT', 'RESOURCE_HAS_CHILDREN');
    expect((await remove(part.id)).status).toBe(204);
    expect((await remove(top.id)).status).toBe(204);
  });

  it('409: a space that contains resources', async () => {
    const space = await create(test, admin, 'spaces');
    const resource = await create(test, admin, 'resources', { space_id: space.id });
    const removeSpace = () => test.call('DELETE', `${paths.spaces}/${space.id}`, admin);
    expectError(await removeSpace(), 409, 'CONFLICT', 'SPACE_HAS_RESOURCES');
    await test.call('PATCH', `${path}/${resource.id}`, { ...admin, body: { space_id: null } });
    expect((await removeSpace()).status).toBe(204);
  });
});
