import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { create, keyOf, paths, post, trailOf } from '#test/support/directory';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
const path = paths.feedbacks;
let tenant: Tenant;
let admin: Call;
let person: Person;
let member: Call;
let reader: Call;
let manager: Call;
let stranger: Call;
let key: Call;
let entities: Record<'space' | 'resource', string>;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  person = await createMember(test, tenant);
  member = { token: person.token };
  reader = { token: (await createMember(test, tenant, { permissions: ['feedbacks.read'] })).token };
  manager = { token: (await createMember(test, tenant, { permissions: ['feedbacks.manage'] })).token };
  stranger = { token: (await createTenant(test)).admin.token };
  key = await keyOf(test, tenant, { feedbacks: { read: true } });
  entities = {
    space: (await create(test, admin, 'spaces')).id,
    resource: (await create(test, admin, 'resources')).id,
  };
});

const about = (kind: 'space' | 'resource' = 'space') => ({ entity_type: kind, entity_id: entities[kind] });
const give = (body: object = {}, by = member) => create(test, by, 'feedbacks', { ...about(), ...body });
const get = (id: string, by = admin) => test.call('GET', `${path}/${id}`, by);
const setStatus = (id: string, status: unknown, by = admin) =>
  test.call('PATCH', `${path}/${id}`, { ...by, body: { status } });

describe('createFeedback', () => {
  it.each(['space', 'resource'] as const)('201: every member, about a %s', async (kind) => {
    const feedback = await give({ ...about(kind), rating: 4, message: 'Too warm' });
    expect(feedback).toEqual({
      id: expect.any(String),
      tenant_id: tenant.tenantId,
      ...about(kind),
      rating: 4,
      message: 'Too warm',
      status: 'new',
      created_by: person.userId,
      created_at: expect.any(String),
      updated_at: feedback.created_at,
    });
    expect((await get(feedback.id)).body).toEqual({ data: feedback });
    const trail = await trailOf(test, tenant.tenantId, feedback.id);
    expect(trail).toMatchObject([{ action: 'feedback.created', user_id: person.userId }]);
    expect(JSON.stringify(trail)).not.toContain('Too warm');
  });

  const good: [string, unknown][] = [
    ['rating', 1],
    ['rating', 5],
    ['rating', null],
    ['message', 'x'],
    ['message', '𝕏'.repeat(2000)],
  ];
  it.each(good)('201: %s %j', async (field, value) => {
    expect((await give({ [field]: value }))[field]).toEqual(value);
  });

  it('201: without a rating', async () => {
    expect((await give({})).rating).toBeNull();
  });

  const bad: [string, unknown][] = [
    ['rating', 0],
    ['rating', 6],
    ['rating', 1.5],
    ['rating', '5'],
    ['message', ''],
    ['message', ' \n'],
    ['message', 'x'.repeat(2001)],
    ['message', null],
    ['entity_type', 'user'],
    ['entity_type', null],
    ['entity_id', '42'],
    ['entity_id', null],
    ['status', 'resolved'],
    ['created_by', newId()],
  ];
  it.each(bad)('400: %s %j', async (field, value) => {
    expectError(await post(test, member, 'feedbacks', { ...about(), [field]: value }), 400, 'VALIDATION_ERROR');
  });

  it.each(['entity_type', 'entity_id', 'message'])('400: without %s', async (field) => {
    expectError(await post(test, member, 'feedbacks', { ...about(), [field]: undefined }), 400, 'VALIDATION_ERROR');
  });

  it('401, 403: no credentials, and a key', async () => {
    expectError(await post(test, {}, 'feedbacks', about()), 401, 'AUTHENTICATION_ERROR');
    expectError(await post(test, key, 'feedbacks', about()), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: a record that is unknown, of another tenant, or of the other kind', async () => {
    const foreign = {
      space: (await create(test, stranger, 'spaces')).id,
      resource: (await create(test, stranger, 'resources')).id,
    };
    for (const [kind, ids] of [
      ['space', [newId(), foreign.space, entities.resource]],
      ['resource', [newId(), foreign.resource, entities.space]],
    ] as const) {
      for (const id of ids) {
        const answer = await post(test, member, 'feedbacks', { entity_type: kind, entity_id: id });
        expectError(answer, 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
      }
    }
  });
});

describe('createFeedback', () => {
  it('429: one user above 60 requests an hour, also concurrently; other users are not limited', async () => {
    const by = { token: (await createMember(test, tenant)).token };
    const answers = await Promise.all(Array.from({ length: 70 }, () => post(test, by, 'feedbacks', about())));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(60);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(10);
    expectError(refused[0]!, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_FEEDBACKS');
    const seconds = Number(refused[0]!.headers['retry-after']);
    expect(seconds).toBeGreaterThan(3500);
    expect(seconds).toBeLessThanOrEqual(3600);
    expect((await post(test, member, 'feedbacks', about())).status).toBe(201);
  });
});

describe('getFeedback and listFeedbacks', () => {
  it('200 with the permission, 403 without it, also for the author', async () => {
    const { id } = await give();
    for (const by of [reader, key, admin]) {
      expect((await get(id, by)).status).toBe(200);
      expect((await test.call('GET', path, by)).status).toBe(200);
    }
    for (const by of [member, manager, await keyOf(test, tenant, { tags: { read: true } })]) {
      expectError(await get(id, by), 403, 'AUTHORIZATION_ERROR');
      expectError(await test.call('GET', path, by), 403, 'AUTHORIZATION_ERROR');
    }
  });

  it('400, 404: invalid uuid, an unknown id, and the id of another tenant', async () => {
    const { id } = await give();
    expectError(await get('42'), 400, 'VALIDATION_ERROR');
    expectError(await get(newId()), 404, 'NOT_FOUND');
    expectError(await get(id, stranger), 404, 'NOT_FOUND');
  });

  it('200: the newest first, filtered and paged', async () => {
    const own = await createTenant(test);
    const by = { token: own.admin.token };
    const [space, resource] = [await create(test, by, 'spaces'), await create(test, by, 'resources')];
    const ids: string[] = [];
    for (const [at, entity] of [space, resource, space, space].entries()) {
      const kind = entity === space ? 'space' : 'resource';
      ids.push((await create(test, by, 'feedbacks', { entity_type: kind, entity_id: entity.id, rating: at + 1 })).id);
    }
    await setStatus(ids[2]!, 'resolved', by);
    const found = async (query: string) => {
      const { status, body } = await test.call('GET', `${path}?${query}`, by);
      expect(status).toBe(200);
      return [body.data.map((feedback: { id: string }) => ids.indexOf(feedback.id)), body.pagination.total];
    };
    expect(await found('')).toEqual([[3, 2, 1, 0], 4]);
    expect(await found('sort=created_at')).toEqual([[0, 1, 2, 3], 4]);
    expect(await found('sort=-createdAt')).toEqual([[3, 2, 1, 0], 4]);
    expect(await found('limit=2&offset=1')).toEqual([[2, 1], 4]);
    expect(await found('entityType=resource')).toEqual([[1], 1]);
    expect(await found(`entity_id=${space.id}`)).toEqual([[3, 2, 0], 3]);
    expect(await found(`entity_id=${space.id}&entity_type=resource`)).toEqual([[], 0]);
    expect(await found('status=resolved')).toEqual([[2], 1]);
    expect(await found('status=new&rating=4')).toEqual([[3], 1]);
    expect(await found(`created_by=${own.admin.userId}`)).toEqual([[3, 2, 1, 0], 4]);
    expect(await found(`created_by=${newId()}`)).toEqual([[], 0]);
  });

  it.each(['status=open', 'rating=0', 'rating=6', 'entity_type=user', 'entity_id=42', 'sort=rating', 'limit=201'])(
    '400: %s',
    async (query) => {
      expectError(await test.call('GET', `${path}?${query}`, admin), 400, 'VALIDATION_ERROR');
    },
  );
});

describe('updateFeedback', () => {
  it.each(['in_progress', 'resolved', 'dismissed', 'new'])('200: the status becomes %s', async (status) => {
    const before = await give({ rating: 2 });
    const { status: code, body } = await setStatus(before.id, status, manager);
    expect(code).toBe(200);
    expect(body.data).toEqual({ ...before, status, updated_at: expect.any(String) });
    expect((await get(before.id)).body).toEqual(body);
  });

  it('400, 401, 403, 404: requests that are not allowed', async () => {
    const { id } = await give();
    for (const status of ['open', null, 5, undefined])
      expectError(await setStatus(id, status), 400, 'VALIDATION_ERROR');
    const other = await test.call('PATCH', `${path}/${id}`, { ...admin, body: { status: 'new', message: 'Mine' } });
    expectError(other, 400, 'VALIDATION_ERROR');
    expectError(await setStatus(id, 'resolved', {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, reader, key]) expectError(await setStatus(id, 'new', by), 403, 'AUTHORIZATION_ERROR');
    expectError(await setStatus(newId(), 'resolved'), 404, 'NOT_FOUND');
    expectError(await setStatus(id, 'resolved', stranger), 404, 'NOT_FOUND');
    expect((await get(id)).body.data.status).toBe('new');
  });
});
