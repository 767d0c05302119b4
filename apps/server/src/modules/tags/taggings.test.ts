import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { create, keyOf, paths, race, trailOf } from '#test/support/directory';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let admin: Call;
let member: Call;
let stranger: Call;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  member = { token: (await createMember(test, tenant)).token };
  stranger = { token: (await createTenant(test)).admin.token };
});

describe.each(['spaces', 'resources'] as const)('tags of %s', (collection) => {
  const kind = collection.slice(0, -1);
  const url = (id: string, tagId?: string) =>
    `${paths[collection]}/${id}/tags${tagId === undefined ? '' : `/${tagId}`}`;
  const put = (id: string, tagId: string, by = admin) => test.call('PUT', url(id, tagId), by);
  const remove = (id: string, tagId: string, by = admin) => test.call('DELETE', url(id, tagId), by);
  const tagsOf = async (id: string): Promise<string[]> =>
    (await test.call('GET', url(id), admin)).body.data.map((tag: { id: string }) => tag.id);
  const pair = async (by = admin): Promise<[string, string]> => [
    (await create(test, by, collection)).id,
    (await create(test, by, 'tags')).id,
  ];

  it('204: adds and removes a tag, and records each change once', async () => {
    const [id, tagId] = await pair();
    for (let times = 0; times < 2; times++) {
      const answer = await put(id, tagId);
      expect([answer.status, answer.text]).toEqual([204, '']);
    }
    expect(await tagsOf(id)).toEqual([tagId]);
    for (let times = 0; times < 2; times++) expect((await remove(id, tagId)).status).toBe(204);
    expect(await tagsOf(id)).toEqual([]);
    const trail = await trailOf(test, tenant.tenantId, id);
    expect(trail.map(({ action, details }) => [action, details.tagId])).toEqual([
      [`${kind}.created`, undefined],
      [`${kind}.tagged`, tagId],
      [`${kind}.untagged`, tagId],
    ]);
  });

  it('204: for users and keys that may change the record', async () => {
    const [id, tagId] = await pair();
    const manager = { token: (await createMember(test, tenant, { permissions: [`${collection}.manage`] })).token };
    for (const by of [manager, await keyOf(test, tenant, { [collection]: { write: true } })]) {
      expect((await put(id, tagId, by)).status).toBe(204);
      expect((await remove(id, tagId, by)).status).toBe(204);
    }
  });

  it('200: lists by name with pages, for callers that may read the record', async () => {
    const { id } = await create(test, admin, collection);
    const names = ['b', 'A', 'c'].map((name) => `${name} ${newId()}`);
    for (const name of names) await put(id, (await create(test, admin, 'tags', { name })).id);
    for (const by of [member, await keyOf(test, tenant, { [collection]: { read: true } })]) {
      const { body } = await test.call('GET', `${url(id)}?limit=2`, by);
      expect(body.data.map((tag: { name: string }) => tag.name)).toEqual([names[1], names[0]]);
      expect(body.pagination).toEqual({ total: 3, limit: 2, offset: 0, hasMore: true });
    }
    expectError(await test.call('GET', `${url(id)}?limit=0`, admin), 400, 'VALIDATION_ERROR');
  });

  it('400, 401, 403: invalid uuid, no credentials, no permission', async () => {
    const [id, tagId] = await pair();
    expectError(await put('42', tagId), 400, 'VALIDATION_ERROR');
    expectError(await put(id, '42'), 400, 'VALIDATION_ERROR');
    const other = collection === 'spaces' ? 'resources' : 'spaces';
    const reader = await keyOf(test, tenant, {
      [collection]: { read: true },
      [other]: { write: true },
      tags: { read: true },
    });
    for (const call of [put, remove]) {
      expectError(await call(id, tagId, {}), 401, 'AUTHENTICATION_ERROR');
      for (const by of [member, reader]) expectError(await call(id, tagId, by), 403, 'AUTHORIZATION_ERROR');
    }
    expectError(await test.call('GET', url(id), {}), 401, 'AUTHENTICATION_ERROR');
    const writer = await keyOf(test, tenant, { [collection]: { write: true } });
    expectError(await test.call('GET', url(id), writer), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: a record or a tag that is unknown or of another tenant; nothing changes', async () => {
    const [[id, tagId], [foreignId, foreignTagId]] = [await pair(), await pair(stranger)];
    await put(id, tagId);
    for (const call of [put, remove]) {
      for (const missing of [newId(), foreignId]) expectError(await call(missing, tagId), 404, 'NOT_FOUND');
      for (const missing of [newId(), foreignTagId]) expectError(await call(id, missing), 404, 'NOT_FOUND');
      expectError(await call(id, tagId, stranger), 404, 'NOT_FOUND');
    }
    for (const missing of [newId(), foreignId]) {
      expectError(await test.call('GET', url(missing), admin), 404, 'NOT_FOUND');
    }
    expect(await tagsOf(id)).toEqual([tagId]);
  });

  it('fifty concurrent requests add a tag once', async () => {
    for (let round = 0; round < 20; round++) {
      const [id, tagId] = await pair();
      expect(await race(50, () => put(id, tagId))).toEqual({ 204: 50 });
      expect(await tagsOf(id)).toEqual([tagId]);
      expect(await race(50, () => remove(id, tagId))).toEqual({ 204: 50 });
      expect(await trailOf(test, tenant.tenantId, id)).toHaveLength(3);
    }
  });

  it('a tag that is deleted while it is being added is on no record afterwards', async () => {
    for (let round = 0; round < 20; round++) {
      const [id, tagId] = await pair();
      const [tagged, deleted] = await Promise.all([
        put(id, tagId),
        test.call('DELETE', `${paths.tags}/${tagId}`, admin),
      ]);
      expect([204, 404]).toContain(tagged.status);
      expect(deleted.status).toBe(204);
      expect(await tagsOf(id)).toEqual([]);
    }
  });
});
