import { beforeEach, describe, expect, it } from 'vitest';

import { messageFor } from '#modules/notifications/channels/testing/messages';
import { push } from '#modules/notifications/push/push';
import { newBrowser } from '#modules/notifications/push/testing/browser';
import { startPushService } from '#modules/notifications/push/testing/push-service';
import { appOf, keyOf } from '#test/support/directory';
import { createMember, createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, strictlyLater, useService } from '#test/support/harness';

// Nothing private may be called here.
const test = useService({ now: strictlyLater() });
const path = '/api/v1/secure/notifications/push/subscriptions';
const keyPath = '/api/v1/secure/notifications/push/key';
let tenant: Tenant;

beforeEach(async () => {
  tenant = await createTenant(test);
});

const subscribe = (body: unknown = newBrowser().subscription, token = tenant.admin.token, headers = {}) =>
  test.call('POST', path, { token, body, headers });
const list = async (token = tenant.admin.token) => {
  const answer = await test.call('GET', path, { token });
  expect(answer.status).toBe(200);
  return answer.body.data as Record<string, unknown>[];
};
const stored = () =>
  test.service.services.database.tenant(tenant.tenantId).all<Record<string, any>>({
    kind: 'read',
    text: 'select * from push_subscriptions where tenant_id = $1 order by created_at',
    values: [tenant.tenantId],
    prepare: false,
  });

describe('getPushKey', () => {
  it('200: the same key for all users', async () => {
    const [own, other] = [tenant.admin.token, (await createTenant(test)).admin.token];
    const [first, second] = [
      await test.call('GET', keyPath, { token: own }),
      await test.call('GET', keyPath, { token: other }),
    ];
    expect(first).toMatchObject({ status: 200, body: { data: { publicKey: expect.stringMatching(/^[\w-]{87}$/) } } });
    expect(second.body).toEqual(first.body);
  });

  it('401 without credentials', async () => {
    expectError(await test.call('GET', keyPath), 401, 'AUTHENTICATION_ERROR');
  });
});

describe('subscribePush', () => {
  it('201: returns the description of the browser without its keys', async () => {
    const { endpoint, keys } = newBrowser().subscription;
    const expirationTime = Date.parse('2030-01-01T00:00:00Z');
    const answer = await subscribe({ endpoint, keys, expirationTime }, undefined, { 'user-agent': 'Firefox' });
    expect(answer).toMatchObject({
      status: 201,
      body: {
        data: {
          id: expect.any(String),
          origin: 'https://push.example.com',
          userAgent: 'Firefox',
          createdAt: expect.any(String),
          expiresAt: '2030-01-01T00:00:00.000Z',
        },
      },
    });
    expect(await list()).toEqual([answer.body.data]);
    const rows = await stored();
    for (const secret of [endpoint.split('/').at(-1)!, keys.p256dh, keys.auth]) {
      expect(answer.text).not.toContain(secret);
      expect(JSON.stringify(rows)).not.toContain(secret);
    }
  });

  it.each([
    ['no', undefined],
    ['a null', null],
  ])('201: with %s expirationTime', async (_what, expirationTime) => {
    const { endpoint, keys } = newBrowser().subscription;
    expect((await subscribe({ endpoint, keys, expirationTime })).body.data.expiresAt).toBeNull();
  });

  it('201: the same browser again renews its keys under the same id', async () => {
    const { subscription } = newBrowser();
    const first = await subscribe(subscription);
    const [before] = await stored();
    const { keys } = newBrowser().subscription;
    const second = await subscribe({ ...subscription, keys }, undefined, { 'user-agent': 'Firefox' });
    expect(second.body.data).toEqual({ ...first.body.data, userAgent: 'Firefox' });
    const [after, ...others] = await stored();
    expect(others).toEqual([]);
    expect(after!['sealed']).not.toBe(before!['sealed']);
  });

  it('201: a browser belongs to the latest user of the tenant who subscribed it', async () => {
    const member = await createMember(test, tenant);
    const { subscription } = newBrowser();
    await subscribe(subscription);
    expect((await subscribe(subscription, member.token)).status).toBe(201);
    expect([await list(), await list(member.token)]).toEqual([[], [expect.anything()]]);
  });

  it('201: tenants are independent', async () => {
    const other = await createTenant(test);
    const { subscription } = newBrowser();
    await subscribe(subscription);
    await subscribe(subscription, other.admin.token);
    expect([await list(), await list(other.admin.token)]).toEqual([[expect.anything()], [expect.anything()]]);
  });

  it('201: the oldest of more than ten is deleted', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 11; at += 1) ids.push((await subscribe()).body.data.id);
    expect((await list()).map(({ id }) => id)).toEqual(ids.slice(1).toReversed());
  });

  it('201: the least recently renewed of more than ten is deleted', async () => {
    const first = newBrowser().subscription;
    const ids: string[] = [(await subscribe(first)).body.data.id];
    for (let at = 0; at < 9; at += 1) ids.push((await subscribe()).body.data.id);
    await subscribe(first);
    ids.push((await subscribe()).body.data.id);
    expect((await list()).map(({ id }) => id)).toEqual([...ids.slice(2).toReversed(), ids[0]]);
  });

  it('201: expired subscriptions are deleted first', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 9; at += 1) ids.push((await subscribe()).body.data.id);
    await subscribe({ ...newBrowser().subscription, expirationTime: 1 });
    ids.push((await subscribe()).body.data.id);
    expect((await list()).map(({ id }) => id)).toEqual(ids.toReversed());
    expect(await stored()).toHaveLength(10);
  });

  it('201: belongs to the home tenant of a user who acts on another tenant', async () => {
    const { token } = await logInSystemAdmin(test);
    const { subscription } = newBrowser();
    const answer = await subscribe(subscription, token, { 'x-tenant-id': tenant.tenantId });
    expect(answer.status).toBe(201);
    expect(await stored()).toEqual([]);
    await test.call('DELETE', `${path}/${answer.body.data.id}`, { token });
  });

  it('once for concurrent requests of the same browser', async () => {
    const { subscription } = newBrowser();
    const answers = await Promise.all(Array.from({ length: 50 }, () => subscribe(subscription)));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.data.id}`)).size).toBe(1);
    expect(await stored()).toHaveLength(1);
  });

  it('at most ten for concurrent requests of many browsers', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => subscribe()));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(await stored()).toHaveLength(10);
  });

  it('for one of two users who register the same browser concurrently', async () => {
    const member = await createMember(test, tenant);
    const { subscription } = newBrowser();
    await Promise.all(
      Array.from({ length: 50 }, (_, at) => subscribe(subscription, at % 2 === 0 ? member.token : undefined)),
    );
    expect(await stored()).toHaveLength(1);
  });

  it.each<[string, (body: ReturnType<typeof newBrowser>['subscription']) => unknown]>([
    ['no https', ({ endpoint, ...rest }) => ({ ...rest, endpoint: endpoint.replace('https:', 'http:') })],
    ['no endpoint', ({ keys }) => ({ keys })],
    ['an endpoint that is too long', ({ keys }) => ({ keys, endpoint: `https://a.example/${'x'.repeat(2048)}` })],
    ['no keys', ({ endpoint }) => ({ endpoint })],
    ['no auth', ({ endpoint, keys }) => ({ endpoint, keys: { p256dh: keys.p256dh } })],
    ['keys of another form', ({ endpoint, keys }) => ({ endpoint, keys: { ...keys, auth: 'ä'.repeat(22) } })],
    ['an invalid time', (body) => ({ ...body, expirationTime: -1 })],
    ['a time beyond all years', (body) => ({ ...body, expirationTime: 8.64e15 })],
    ['something else', (body) => ({ ...body, userId: tenant.admin.userId })],
  ])('400: %s', async (_what, change) => {
    expectError(await subscribe(change(newBrowser().subscription)), 400, 'VALIDATION_ERROR');
  });

  it('401 without credentials', async () => {
    expectError(await test.call('POST', path, { body: newBrowser().subscription }), 401, 'AUTHENTICATION_ERROR');
  });

  it('403: for API keys and app accounts, which have no browser', async () => {
    for (const by of [await keyOf(test, tenant, {}), await appOf(test, tenant, {})]) {
      const answer = await test.call('POST', path, { ...by, body: newBrowser().subscription });
      expectError(answer, 403, 'AUTHORIZATION_ERROR');
    }
  });

  it.each([
    'https://127.0.0.1/x',
    'https://2130706433/x',
    'https://[::1]/x',
    'https://[::ffff:10.0.0.1]/x',
    'https://169.254.169.254/latest/meta-data',
    'https://push.example.com:22/x',
    'https://push.example.com:5432/x',
    'https://user@push.example.com/x',
    'https://push.example.com/x#part',
    'https://push.example.com/x y',
    'https://',
    'https://[',
  ])('422: %s is not an allowed address', async (endpoint) => {
    const answer = await subscribe({ ...newBrowser().subscription, endpoint });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'ADDRESS_NOT_ALLOWED');
    expect(await stored()).toEqual([]);
  });

  const point = Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1)]);
  it.each<[string, object]>([
    ['no point of the curve', { p256dh: point.toString('base64url') }],
    ['half a key', { p256dh: point.subarray(0, 33).toString('base64url') }],
    ['a short secret', { auth: 'AAAA' }],
    ['an empty one', { auth: '=' }],
  ])('422 or 400: %s', async (_what, change) => {
    const { endpoint, keys } = newBrowser().subscription;
    const answer = await subscribe({ endpoint, keys: { ...keys, ...change } });
    expect([400, 422]).toContain(answer.status);
    if (answer.status === 422) expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_SUBSCRIPTION');
    expect(await stored()).toEqual([]);
  });
});

describe('unsubscribePush', () => {
  it('204, and 404 afterwards', async () => {
    const { id } = (await subscribe()).body.data;
    const remove = () => test.call('DELETE', `${path}/${id}`, { token: tenant.admin.token });
    expect((await remove()).status).toBe(204);
    expect(await list()).toEqual([]);
    expectError(await remove(), 404, 'NOT_FOUND');
  });

  it("404: another user's, another tenant's, and for administrators of the tenant", async () => {
    const [member, stranger] = [await createMember(test, tenant), await createTenant(test)];
    const { id } = (await subscribe(undefined, member.token)).body.data;
    for (const { token } of [tenant.admin, stranger.admin])
      expectError(await test.call('DELETE', `${path}/${id}`, { token }), 404, 'NOT_FOUND');
    expect(await list(member.token)).toHaveLength(1);
    expect(await list()).toEqual([]);
  });

  it('401 without credentials, 400 for an invalid id', async () => {
    expectError(await test.call('DELETE', `${path}/${tenant.tenantId}`), 401, 'AUTHENTICATION_ERROR');
    expectError(await test.call('DELETE', `${path}/x`, { token: tenant.admin.token }), 400, 'VALIDATION_ERROR');
  });
});

describe('a stored subscription', () => {
  it('is deleted with the user', async () => {
    const member = await createMember(test, tenant);
    await subscribe(undefined, member.token);
    await subscribe();
    const { token } = tenant.admin;
    expect((await test.call('DELETE', `/api/v1/secure/users/${member.userId}`, { token })).status).toBe(204);
    expect((await stored()).map((row) => row['user_id'])).toEqual([tenant.admin.userId]);
  });

  const send = () => push(test.service.services, messageFor(tenant), new AbortController().signal);

  it('cannot be decrypted in another row', async () => {
    await subscribe();
    await subscribe();
    const [first, second] = await stored();
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: 'update push_subscriptions set sealed = $3 where tenant_id = $1 and id = $2',
      values: [tenant.tenantId, second!['id'], first!['sealed']],
      prepare: false,
    });
    expect(await send()).toMatchObject({ kind: 'failed', error: { message: expect.stringMatching(/authenticate/) } });
  });

  it('is not called if its host name resolves to a private address', async () => {
    const service = await startPushService();
    const { subscription } = newBrowser(service.origin.replace('127.0.0.1', 'localhost'));
    expect((await subscribe(subscription)).status).toBe(201);
    expect(await send()).toMatchObject({ kind: 'failed' });
    expect(service.received).toEqual([]);
  });
});
