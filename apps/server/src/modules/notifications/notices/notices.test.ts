import { beforeAll, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { fakeAdapters, path, stepsOf } from '#modules/notifications/notices/testing/steps';
import { race, trailOf } from '#test/support/directory';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

// Its queue is never started: what waits is done here, one after the other.
const test = useService();
let tenant: Tenant;
let member: Call;
let manager: Call;
let stranger: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
  member = { token: (await createMember(test, tenant)).token };
  manager = { token: (await createMember(test, tenant, { permissions: ['notifications.manage'] })).token };
  stranger = await createTenant(test);
});

async function begin() {
  const own = await createTenant(test);
  return { tenant: own, ...stepsOf(test, own) };
}

const good: [string, unknown][] = [
  ['category', 'x'.repeat(120)],
  ['title', 'x'.repeat(200)],
  ['body', ''],
  ['body', 'x'.repeat(10_000)],
  ['link', null],
  ['link', '/'],
  ['link', '/spaces/1?tab=plan#here'],
  ['link', 'https://app.example.com/spaces'],
  ['data', { any: [1, { thing: null }] }],
  ['i18n', { de: { title: 'Zu' }, fr: { body: 'Lundi' }, en: {} }],
  ['isCritical', true],
  ['channels', ['in_app']],
  ['channels', ['in_app', 'push', 'email', 'sms', 'chatapp', 'webhook']],
  ['key', 'x'.repeat(100)],
];
const bad: [string, unknown][] = [
  ['category', ''],
  ['category', 'x'.repeat(121)],
  ['category', 'news.*'],
  ['category', null],
  ['title', ''],
  ['title', ' '],
  ['title', 'x'.repeat(201)],
  ['body', 'x'.repeat(10_001)],
  ['link', ''],
  ['link', 'http://example.com'],
  ['link', 'javascript:alert(1)'],
  ['link', '//example.com'],
  ['link', '/\\example.com'],
  ['link', '/a b'],
  ['data', []],
  ['data', { x: 'x'.repeat(8192) }],
  ['i18n', { deu: { title: 'Zu' } }],
  ['i18n', { de: { title: '' } }],
  ['i18n', { de: { text: 'Zu' } }],
  ['isCritical', 'yes'],
  ['channels', []],
  ['channels', ['in_app', 'in_app']],
  ['channels', ['pigeon']],
  ['key', ''],
  ['audience', {}],
  ['audience', { everyone: false }],
  ['audience', { userIds: ['me'] }],
  ['audience', { userIds: Array.from({ length: 1001 }, newId) }],
  ['audience', { groupIds: Array.from({ length: 101 }, newId) }],
  ['id', newId()],
];

describe('createNotice', () => {
  it('202: the queued notice', async () => {
    const { post, get } = stepsOf(test, tenant);
    const fields = {
      key: 'first',
      category: 'news.office',
      title: 'Closed',
      body: 'On Monday.',
      i18n: { de: { title: 'Zu' } },
      link: '/news/1',
      data: { id: 1 },
      isCritical: true,
      channels: ['in_app', 'email'],
      audience: { userIds: [tenant.admin.userId] },
    };
    const { status, body } = await post(fields, manager);
    expect(status).toBe(202);
    expect(body.data).toEqual({
      ...fields,
      id: expect.any(String),
      status: 'queued',
      createdBy: expect.any(String),
      recipients: 0,
      createdAt: expect.any(String),
      completedAt: null,
    });
    expect((await get(body.data.id, manager)).body.data).toMatchObject(body.data);
    expect(await trailOf(test, tenant.tenantId, body.data.id)).toMatchObject([{ action: 'notice.created' }]);
  });

  it.each(good)('202: %s %j', async (name, value) => {
    const { post } = await begin();
    const { status, body } = await post({ [name]: value });
    expect([status, body.data[name]]).toEqual([202, value]);
  });

  it.each(bad)('400: %s %j', async (name, value) => {
    const { post } = stepsOf(test, tenant);
    expectError(await post({ [name]: value }), 400, 'VALIDATION_ERROR');
  });

  it('403 without the permission, 401 without a session', async () => {
    const { post } = stepsOf(test, tenant);
    expectError(await post({}, member), 403, 'AUTHORIZATION_ERROR');
    expectError(await post({}, {}), 401, 'AUTHENTICATION_ERROR');
  });

  it('422: users and groups of another tenant, with the same answer as unknown ones', async () => {
    const { post } = await begin();
    const known = tenant.admin.userId;
    const audience = { userIds: [newId(), stranger.admin.userId, known], groupIds: [newId()] };
    const refused = await post({ audience });
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'UNKNOWN_AUDIENCE');
    expect(refused.body.details).toMatchObject({ unknownUsers: 3, unknownGroups: 1 });
  });

  it('422: everyone combined with userIds', async () => {
    const { post } = stepsOf(test, tenant);
    const audience = { everyone: true, userIds: [tenant.admin.userId] };
    expectError(await post({ audience }), 422, 'UNPROCESSABLE_ENTITY', 'AMBIGUOUS_AUDIENCE');
  });

  it.each(['security', 'security.login', 'Security.login', ' security'])(
    '422: in the name of the service, %j',
    async (category) => {
      const { post } = stepsOf(test, tenant);
      expectError(await post({ category }), 422, 'UNPROCESSABLE_ENTITY', 'CATEGORY_RESERVED');
    },
  );

  it('400: a category of more than one line', async () => {
    const { post } = stepsOf(test, tenant);
    expectError(await post({ category: 'a\nb' }), 400, 'VALIDATION_ERROR');
  });

  it('422: more than twenty active notices, exact for concurrent requests', async () => {
    const { post, tell, list } = await begin();
    expect(await race(50, () => post())).toEqual({ 202: 20, 422: 30 });
    expectError(await post(), 422, 'UNPROCESSABLE_ENTITY', 'TOO_MANY_NOTICES');
    await tell();
    expect((await post()).status).toBe(202);
    expect((await list('?status=done')).body.pagination.total).toBe(20);
  });

  it('a repeated key returns the same notice, also concurrently; 409: another notice with that key', async () => {
    const { tenant: own, post, list } = await begin();
    const fields = { key: 'k', data: { b: 1, a: { d: 1, c: 2 } }, channels: ['email', 'in_app'] };
    const ids = new Set<string>();
    const counts = await race(50, async () => {
      const answer = await post(fields);
      ids.add(answer.body.data.id);
      return answer;
    });
    expect([counts, ids.size]).toEqual([{ 202: 50 }, 1]);
    expect((await list()).body.pagination.total).toBe(1);
    expect(await trailOf(test, own.tenantId, [...ids][0]!)).toHaveLength(1);
    expectError(await post({ ...fields, title: 'Open' }), 409, 'CONFLICT', 'KEY_TAKEN');
  });
});

describe('listNotices', () => {
  it('200: notices of users, newest first, in pages', async () => {
    const { send, list, ask } = await begin();
    const ids = [];
    for (let at = 0; at < 3; at++) ids.unshift((await send({ title: `${at}` })).id);
    // Notifications of the service are private to their recipient.
    await ask(`update notices set created_by = null where tenant_id = $1 and id = $2`, [ids[0]]);
    const { body } = await list('?limit=1');
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([ids[1]]);
    expect(body.pagination).toEqual({ total: 2, limit: 1, offset: 0, hasMore: true });
    expect(body.data[0]).not.toHaveProperty('body');
  });
});

describe('getNotice', () => {
  it('200: with counts by channel and status', async () => {
    const { send, tell, get, deliver, createPeople, prefer } = await begin();
    const [quiet] = await createPeople(4);
    await prefer({ person: quiet, channel: 'push', enabled: false });
    const { id } = await send();
    await tell();
    await deliver('email', fakeAdapters().adapters);
    const none = { queued: 0, sending: 0, sent: 0, failed: 0, suppressed: 0 };
    expect((await get(id)).body.data).toMatchObject({ status: 'done', recipients: 5, completedAt: expect.any(String) });
    expect((await get(id)).body.data.deliveries).toEqual({
      in_app: { ...none, sent: 5 },
      push: { ...none, queued: 4, suppressed: 1 },
      email: { ...none, sent: 5 },
      sms: none,
      chatapp: none,
      webhook: none,
    });
  });

  it('404: of another tenant, of the service itself, or unknown', async () => {
    const { send, get, cancel, ask } = await begin();
    const { id } = await send();
    for (const call of [get, cancel]) {
      expectError(await call(id, { token: stranger.admin.token }), 404, 'NOT_FOUND');
      expectError(await call(newId()), 404, 'NOT_FOUND');
    }
    await ask(`update notices set created_by = null where tenant_id = $1 and id = $2`, [id]);
    expectError(await get(id), 404, 'NOT_FOUND');
    expectError(await cancel(id), 404, 'NOT_FOUND');
  });
});

describe('cancelNotice', () => {
  it('200: before the fan-out', async () => {
    const { tenant: own, send, cancel, tell, get, log } = await begin();
    const { id } = await send();
    expect((await cancel(id)).body.data).toMatchObject({ id, status: 'cancelled', recipients: 0 });
    await tell();
    expect(await log()).toEqual([]);
    expect((await get(id)).body.data.recipients).toBe(0);
    expect((await trailOf(test, own.tenantId, id)).map(({ action }) => action)).toEqual([
      'notice.created',
      'notice.cancelled',
    ]);
    expectError(await cancel(id), 409, 'CONFLICT', 'NOTICE_ENDED');
  });

  it('200: deliveries to all users that were not sent', async () => {
    const { send, cancel, tell, deliver, log, createPeople } = await begin();
    // More than are suppressed with one statement.
    await createPeople(1510);
    const { id } = await send({ channels: ['in_app', 'email'] });
    await tell();
    const { adapters, messages } = fakeAdapters();
    await deliver('email', adapters);
    expect(messages.length).toBeLessThan(500);
    expect((await cancel(id)).status).toBe(200);
    const before = messages.length;
    await deliver('email', adapters);
    expect(messages).toHaveLength(before);
    expect(await log('&status=queued')).toEqual([]);
    expect((await log('&status=suppressed'))[0]).toMatchObject({
      reason: 'cancelled',
      because: expect.stringMatching(/cancelled it/),
    });
    expectError(await cancel(id), 409, 'CONFLICT', 'NOTICE_ENDED');
  }, 60_000);

  it('409: all deliveries are sent', async () => {
    const { send, cancel, tell } = await begin();
    const { id } = await send({ channels: ['in_app'] });
    await tell();
    expectError(await cancel(id), 409, 'CONFLICT', 'NOTICE_ENDED');
  });
});

it('the path of the deliveries is not read as the id of a notice', async () => {
  const { admin } = stepsOf(test, tenant);
  expect((await test.call('GET', `${path}/deliveries`, admin)).status).toBe(200);
  expectError(await test.call('GET', `${path}/deliveries`, member), 403, 'AUTHORIZATION_ERROR');
});
