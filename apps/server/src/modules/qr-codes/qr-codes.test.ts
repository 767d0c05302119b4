import jsQr from 'jsqr';
import { PNG } from 'pngjs';
import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { create, keyOf, paths, post, race, trailOf } from '#test/support/directory';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
const path = paths.qrCodes;
let tenant: Tenant;
let admin: Call;
let member: Call;
let manager: Call;
let stranger: Call;
let keys: Record<'read' | 'write' | 'delete' | 'assign', Call>;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  member = { token: (await createMember(test, tenant)).token };
  manager = { token: (await createMember(test, tenant, { permissions: ['resources.manage'] })).token };
  stranger = { token: (await createTenant(test)).admin.token };
  const keyFor = (flag: string) => keyOf(test, tenant, { qrCodes: { [flag]: true } });
  keys = {
    read: await keyFor('read'),
    write: await keyFor('write'),
    delete: await keyFor('delete'),
    assign: await keyFor('assign'),
  };
});

const othersThan = (flag: keyof typeof keys) =>
  Object.entries(keys).flatMap(([name, by]) => (name === flag ? [] : [by]));
const make = (body: object = {}, by = admin) => create(test, by, 'qrCodes', body);
const get = (id: string, by = admin) => test.call('GET', `${path}/${id}`, by);
const remove = (id: string, by = admin) => test.call('DELETE', `${path}/${id}`, by);
const resolve = (code: string, by = admin) => test.call('GET', `${path}/resolve/${code}`, by);
const image = (id: string, by: Call = admin) =>
  test.raw({ method: 'GET', url: `${path}/${id}/image`, headers: { authorization: `Bearer ${by.token}` } });
const assign = (id: string, entity_type: unknown, entity_id: unknown, by = admin) =>
  test.call('POST', `${path}/${id}/assign`, { ...by, body: { entity_type, entity_id } });

describe('createQrCode', () => {
  it('201: an opaque code without an assignment', async () => {
    const code = await make({ label: 'Sheet 1' });
    expect(code).toEqual({
      id: expect.any(String),
      tenant_id: tenant.tenantId,
      code: expect.stringMatching(/^[\w-]{22}$/),
      entity_type: null,
      entity_id: null,
      label: 'Sheet 1',
      created_by: tenant.admin.userId,
      created_at: expect.any(String),
      updated_at: code.created_at,
      assigned_at: null,
    });
    expect((await get(code.id)).body).toEqual({ data: code });
    expect(code.code).not.toContain(code.id.slice(0, 8));
    expect(JSON.stringify(await trailOf(test, tenant.tenantId, code.id))).not.toContain(code.code);
  });

  it('201: unique codes, for a manager and a key with the write flag', async () => {
    const codes = await Promise.all(
      Array.from({ length: 50 }, (_, at) => make({}, at % 2 === 0 ? manager : keys.write)),
    );
    expect(new Set(codes.map(({ code }) => code)).size).toBe(50);
  });

  it.each([
    ['label', 'x'.repeat(200)],
    ['label', null],
  ])('201: %s %j', async (field, value) => {
    expect((await make({ [field]: value }))[field]).toBe(value);
  });

  it.each([
    ['label', ''],
    ['label', ' '],
    ['label', 'x'.repeat(201)],
    ['code', 'x'.repeat(22)],
    ['entity_id', newId()],
  ])('400: %s %j', async (field, value) => {
    expectError(await post(test, admin, 'qrCodes', { [field]: value }), 400, 'VALIDATION_ERROR');
  });

  it('401, 403: no credentials, a member without permissions, keys with other flags', async () => {
    expectError(await post(test, {}, 'qrCodes'), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, ...othersThan('write')]) {
      expectError(await post(test, by, 'qrCodes'), 403, 'AUTHORIZATION_ERROR');
    }
  });
});

describe('getQrCode and listQrCodes', () => {
  it('200 for every member and a key with the read flag, 403 for other keys', async () => {
    const { id } = await make();
    for (const by of [member, keys.read]) {
      expect((await get(id, by)).status).toBe(200);
      expect((await test.call('GET', path, by)).status).toBe(200);
    }
    for (const by of othersThan('read')) {
      expectError(await get(id, by), 403, 'AUTHORIZATION_ERROR');
      expectError(await test.call('GET', path, by), 403, 'AUTHORIZATION_ERROR');
    }
    expectError(await get('42'), 400, 'VALIDATION_ERROR');
    expectError(await get(newId()), 404, 'NOT_FOUND');
    expectError(await get(id, stranger), 404, 'NOT_FOUND');
  });

  it('200: the newest first, filtered and paged, with the exact total', async () => {
    const by = { token: (await createTenant(test)).admin.token };
    const [space, resource] = [await create(test, by, 'spaces'), await create(test, by, 'resources')];
    const ids: string[] = [];
    for (let at = 0; at < 5; at++) ids.push((await make({}, by)).id);
    await assign(ids[0]!, 'space', space.id, by);
    await assign(ids[1]!, 'resource', resource.id, by);
    await assign(ids[2]!, 'resource', resource.id, by);
    const found = async (query: string) => {
      const { status, body } = await test.call('GET', `${path}?${query}`, by);
      expect(status).toBe(200);
      return [body.data.map((code: { id: string }) => ids.indexOf(code.id)), body.pagination.total];
    };
    expect(await found('')).toEqual([[4, 3, 2, 1, 0], 5]);
    expect(await found('sort=created_at&limit=2')).toEqual([[0, 1], 5]);
    expect(await found('entity_type=space')).toEqual([[0], 1]);
    expect(await found(`entityId=${resource.id}`)).toEqual([[2, 1], 2]);
    expect(await found('assigned=true')).toEqual([[2, 1, 0], 3]);
    expect(await found('assigned=false')).toEqual([[4, 3], 2]);
    await remove(ids[4]!, by);
    expect(await found('')).toEqual([[3, 2, 1, 0], 4]);
    for (const query of ['assigned=maybe', 'entity_type=user', 'entity_id=42', 'sort=code']) {
      expectError(await test.call('GET', `${path}?${query}`, by), 400, 'VALIDATION_ERROR');
    }
  });
});

describe('assignQrCode', () => {
  it.each(['space', 'resource'] as const)('200: assigns a code to a %s, and removes the assignment', async (kind) => {
    const code = await make();
    const { id } = await create(test, admin, `${kind}s`);
    const on = await assign(code.id, kind, id);
    expect(on.status).toBe(200);
    expect(on.body.data).toEqual({
      ...code,
      entity_type: kind,
      entity_id: id,
      assigned_at: expect.any(String),
      updated_at: on.body.data.assigned_at,
    });
    const off = await assign(code.id, null, null);
    expect(off.body.data).toEqual({ ...code, updated_at: expect.any(String) });
  });

  it('200: moves an assigned code; repeating the call changes nothing', async () => {
    const code = await make();
    const [space, resource] = [await create(test, admin, 'spaces'), await create(test, admin, 'resources')];
    await assign(code.id, 'space', space.id, manager);
    const moved = await assign(code.id, 'resource', resource.id, keys.assign);
    expect(moved.body.data).toMatchObject({ entity_type: 'resource', entity_id: resource.id });
    expect((await assign(code.id, 'resource', resource.id)).body).toEqual(moved.body);
    const trail = await trailOf(test, tenant.tenantId, code.id);
    expect(trail.slice(1).map(({ action, details }) => [action, details.entityType, details.entityId])).toEqual([
      ['qr_code.assigned', 'space', space.id],
      ['qr_code.assigned', 'resource', resource.id],
    ]);
  });

  it('400, 401, 403: requests that are not allowed', async () => {
    const [{ id }, space] = [await make(), await create(test, admin, 'spaces')];
    for (const [kind, entityId] of [
      ['user', space.id],
      ['space', '42'],
      ['space', undefined],
      [undefined, null],
    ]) {
      expectError(await assign(id, kind, entityId), 400, 'VALIDATION_ERROR');
    }
    expectError(await assign(id, 'space', space.id, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, ...othersThan('assign')]) {
      expectError(await assign(id, 'space', space.id, by), 403, 'AUTHORIZATION_ERROR');
    }
  });

  it('404: a code or a record that is unknown, of another tenant, or of the other kind', async () => {
    const [code, space, foreign] = [
      await make(),
      await create(test, admin, 'spaces'),
      await create(test, stranger, 'spaces'),
    ];
    expectError(await assign(newId(), 'space', space.id), 404, 'NOT_FOUND');
    expectError(await assign(code.id, 'space', foreign.id, stranger), 404, 'NOT_FOUND');
    for (const [kind, id] of [
      ['space', newId()],
      ['space', foreign.id],
      ['resource', space.id],
    ]) {
      expectError(await assign(code.id, kind, id), 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
    }
    expect((await get(code.id)).body).toEqual({ data: code });
  });

  it('422: only one of entity_type and entity_id', async () => {
    const [{ id }, space] = [await make(), await create(test, admin, 'spaces')];
    for (const [kind, entityId] of [
      ['space', null],
      [null, space.id],
    ]) {
      expectError(await assign(id, kind, entityId), 422, 'UNPROCESSABLE_ENTITY', 'ENTITY_INCOMPLETE');
    }
  });

  it('fifty concurrent assignments are serialised: each answer has an audit event, and the last one stays', async () => {
    const spaces = await Promise.all(Array.from({ length: 50 }, () => create(test, admin, 'spaces')));
    for (let round = 0; round < 20; round++) {
      const { id } = await make();
      expect(await race(50, (at) => assign(id, 'space', spaces[at]!.id))).toEqual({ 200: 50 });
      const trail = (await trailOf(test, tenant.tenantId, id)).filter(({ action }) => action === 'qr_code.assigned');
      expect(new Set(trail.map(({ details }) => details.entityId)).size).toBe(50);
      const { entity_type, entity_id } = (await get(id)).body.data;
      expect([entity_type, spaces.some((space) => space.id === entity_id)]).toEqual(['space', true]);
    }
  });

  it('fifty concurrent assignments to one record change it once', async () => {
    const space = await create(test, admin, 'spaces');
    for (let round = 0; round < 20; round++) {
      const { id } = await make();
      expect(await race(50, () => assign(id, 'space', space.id))).toEqual({ 200: 50 });
      expect(await trailOf(test, tenant.tenantId, id)).toHaveLength(2);
    }
  });
});

describe('resolveQrCode', () => {
  it('200: returns the record of the code, for every member and a key with the read flag', async () => {
    const [code, resource] = [await make({ label: 'L' }), await create(test, admin, 'resources', { name: 'Beamer' })];
    const free = { id: code.id, code: code.code, label: 'L', entity_type: null, entity_id: null, entity_name: null };
    expect((await resolve(code.code)).body).toEqual({ data: free });
    await assign(code.id, 'resource', resource.id);
    for (const by of [member, keys.read]) {
      expect((await resolve(code.code, by)).body).toEqual({
        data: { ...free, entity_type: 'resource', entity_id: resource.id, entity_name: 'Beamer' },
      });
    }
    const space = await create(test, admin, 'spaces', { name: 'Hall 7' });
    await assign(code.id, 'space', space.id);
    expect((await resolve(code.code)).body.data).toMatchObject({ entity_type: 'space', entity_name: 'Hall 7' });
  });

  it('400, 401, 403, 404: no code, no credentials, no permission, an unknown code, and a code of another tenant', async () => {
    const { code } = await make();
    for (const text of ['x', 'x'.repeat(23), `${'x'.repeat(21)}%20`, newId()]) {
      expectError(await resolve(text), 400, 'VALIDATION_ERROR');
    }
    expectError(await resolve(code, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of othersThan('read')) expectError(await resolve(code, by), 403, 'AUTHORIZATION_ERROR');
    expectError(await resolve('x'.repeat(22)), 404, 'NOT_FOUND');
    expectError(await resolve(code, stranger), 404, 'NOT_FOUND');
  });

  it('404: a deleted code', async () => {
    const { id, code } = await make();
    expect((await remove(id, keys.delete)).status).toBe(204);
    expectError(await resolve(code), 404, 'NOT_FOUND');
    expectError(await get(id), 404, 'NOT_FOUND');
    expectError(await remove(id), 404, 'NOT_FOUND');
  });
});

describe('getQrCodeImage', () => {
  it('200: an image that contains only the code', async () => {
    const { id, code } = await make();
    const response = await image(id, member);
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-type']).toBe('image/png');
    const { data, width, height } = PNG.sync.read(response.rawPayload);
    expect(jsQr.default(new Uint8ClampedArray(data), width, height)?.data).toBe(code);
  });

  it('400, 401, 404 in the standard body: invalid uuid, no credentials, an unknown id, and the id of another tenant', async () => {
    const { id } = await make();
    const url = (of: string) => `${path}/${of}/image`;
    expectError(await test.call('GET', url('42'), admin), 400, 'VALIDATION_ERROR');
    expectError(await test.call('GET', url(id)), 401, 'AUTHENTICATION_ERROR');
    expectError(await test.call('GET', url(id), keys.write), 403, 'AUTHORIZATION_ERROR');
    expectError(await test.call('GET', url(newId()), admin), 404, 'NOT_FOUND');
    expectError(await test.call('GET', url(id), stranger), 404, 'NOT_FOUND');
  });
});

describe('deleteQrCode', () => {
  it('401, 403, 404: no credentials, no permission, another tenant', async () => {
    const { id } = await make();
    expectError(await remove(id, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, ...othersThan('delete')]) expectError(await remove(id, by), 403, 'AUTHORIZATION_ERROR');
    expectError(await remove(id, stranger), 404, 'NOT_FOUND');
    expect((await remove(id, manager)).status).toBe(204);
  });

  it('fifty concurrent requests delete once', async () => {
    for (let round = 0; round < 20; round++) {
      const { id } = await make();
      expect(await race(50, () => remove(id))).toEqual({ 204: 1, 404: 49 });
    }
  });
});
