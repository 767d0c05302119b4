import { decodeProtectedHeader, importJWK, jwtVerify } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';

import type { ChannelMessage } from '#modules/notifications/channels/channel';
import { messageFor } from '#modules/notifications/channels/testing/messages';
import { push } from '#modules/notifications/push/push';
import { newBrowser, type TestBrowser } from '#modules/notifications/push/testing/browser';
import { startPushService, type TestPushService } from '#modules/notifications/push/testing/push-service';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({
  environment: {
    OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32',
    PUBLIC_URL: 'https://atrium.example',
  },
});
const path = '/api/v1/secure/notifications/push';
const never = new AbortController().signal;
let tenant: Tenant;
let service: TestPushService;

beforeEach(async () => {
  tenant = await createTenant(test);
  service = await startPushService();
  test.logLines.length = 0;
});

async function register(token = tenant.admin.token, rest: object = {}): Promise<TestBrowser & { id: string }> {
  const browser = newBrowser(service.origin);
  const body = { ...browser.subscription, ...rest };
  const answer = await test.call('POST', `${path}/subscriptions`, { token, body });
  expect(answer.status).toBe(201);
  return { ...browser, id: answer.body.data.id };
}

const send = (rest: Parameters<typeof messageFor>[1] = {}, signal = never) =>
  push(test.service.services, messageFor(tenant, rest), signal);
const registered = async (token = tenant.admin.token) =>
  (await test.call('GET', `${path}/subscriptions`, { token })).body.data.map(({ id }: { id: string }) => id);
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const long = { title: '"Ü\n'.repeat(60), body: 'Ünïcode 👩‍👩‍👧 "quoted" \\ '.repeat(400) };

describe('the delivered message', () => {
  it('is encrypted for the browser and contains the notification', async () => {
    const [browser, stranger] = [await register(), newBrowser()];
    const message = messageFor(tenant);
    expect(await push(test.service.services, message, never)).toEqual({ kind: 'taken' });
    const [request] = service.received;
    expect(service.received).toHaveLength(1);
    expect(browser.read(request!.body)).toEqual({
      deliveryId: message.deliveryId,
      notificationId: message.notificationId,
      category: message.category,
      title: 'Water off on Monday',
      body: 'From 8 to 10.',
      link: 'https://house.example/notes/1',
    });
    expect(() => stranger.read(request!.body)).toThrow(/authenticate/);
    expect(request).toMatchObject({
      path: new URL(browser.subscription.endpoint).pathname,
      headers: {
        'content-encoding': 'aes128gcm',
        'content-type': 'application/octet-stream',
        topic: message.deliveryId.replaceAll('-', ''),
        ttl: '259200',
        urgency: 'normal',
      },
    });
  });

  it('is signed by the installation, for this push service and for a day at most', async () => {
    await register();
    await send();
    const { authorization } = service.received[0]!.headers;
    const [, token, key] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization!)!;
    const { body } = await test.call('GET', `${path}/key`, { token: tenant.admin.token });
    expect(body).toEqual({ data: { publicKey: key } });
    const raw = Buffer.from(key!, 'base64url');
    expect([raw.length, raw[0]]).toEqual([65, 4]);
    const [x, y] = [raw.subarray(1, 33), raw.subarray(33)].map((part) => part.toString('base64url'));
    const publicKey = await importJWK({ kty: 'EC', crv: 'P-256', x: x!, y: y! }, 'ES256');
    expect(decodeProtectedHeader(token!)).toEqual({ typ: 'JWT', alg: 'ES256' });
    const { payload } = await jwtVerify(token!, publicKey, { audience: service.origin });
    expect(payload.sub).toBe('https://atrium.example');
    expect(payload.exp! - Date.now() / 1000).toBeLessThan(86_400);
  });

  it('leads to a page of the product', async () => {
    const browser = await register();
    await send({ link: '/news/1' });
    expect(browser.read(service.received[0]!.body)).toMatchObject({ link: 'https://atrium.example/news/1' });
  });

  it('has high urgency if it is critical', async () => {
    await register();
    await send({ isCritical: true });
    expect(service.received[0]!.headers['urgency']).toBe('high');
  });

  it('is short enough for every push service, for any text', async () => {
    const browser = await register();
    await send({ texts: long, link: `https://house.example/${'x'.repeat(1400)}` });
    const { body } = service.received[0]!;
    expect(body.length).toBeLessThanOrEqual(4096);
    const read = browser.read(body) as Record<string, string>;
    expect(bytesOf(read)).toBeLessThanOrEqual(3072);
    expect(read['body']).toMatch(/^Ünïcode .*\.\.\.$/s);
    expect(read['title']!.length).toBeLessThanOrEqual(200);
    expect(read['link']).toHaveLength(1422);
  });

  it('goes to every browser of the user, and to no other user', async () => {
    const member = await createMember(test, tenant);
    const [first, second] = [await register(), await register()];
    await register(member.token);
    await register((await createTenant(test)).admin.token);
    expect(await send()).toEqual({ kind: 'taken' });
    const paths = [first, second].map(({ subscription }) => new URL(subscription.endpoint).pathname);
    expect(service.received.map((each) => each.path).toSorted()).toEqual(paths.toSorted());
  });
});

describe('no_address', () => {
  it('without a browser', async () => {
    expect(await send()).toEqual({ kind: 'no_address' });
  });

  it('with an expired browser subscription', async () => {
    await register(undefined, { expirationTime: Date.now() - 1000 });
    expect(await send()).toEqual({ kind: 'no_address' });
    expect(service.received).toEqual([]);
  });

  it.each([404, 410])('after the push service answers %i for all subscriptions, which are deleted', async (status) => {
    await register();
    await register();
    service.behave(status);
    expect(await send()).toEqual({ kind: 'no_address' });
    expect(await registered()).toEqual([]);
    expect(await send()).toEqual({ kind: 'no_address' });
    expect(service.received).toHaveLength(2);
  });

  it('but a browser that subscribes again meanwhile is kept', async () => {
    const { subscription, id } = await register();
    service.behave((response) => {
      const { token } = tenant.admin;
      void test
        .call('POST', `${path}/subscriptions`, { token, body: subscription })
        .then(() => response.writeHead(410).end());
    });
    expect(await send()).toEqual({ kind: 'no_address' });
    expect(await registered()).toEqual([id]);
  });
});

describe('several browsers', () => {
  it('count as sent after one success: a retry would notify that browser twice', async () => {
    const [gone, failing, refusing] = [await register(), await register(), await register()];
    await register();
    service.behave(410, gone.subscription.endpoint);
    service.behave(503, failing.subscription.endpoint);
    service.behave(403, refusing.subscription.endpoint);
    expect(await send()).toEqual({ kind: 'taken' });
    expect(await registered()).not.toContain(gone.id);
    expect(await registered()).toHaveLength(3);
  });

  it('fail if one may still accept it, and respect Retry-After', async () => {
    const [slow, slower, refusing] = [await register(), await register(), await register()];
    const busy = (seconds: string) => (response: Parameters<Parameters<TestPushService['behave']>[0] & object>[0]) =>
      void response.writeHead(429, { 'retry-after': seconds }).end();
    service.behave(busy('7'), slow.subscription.endpoint);
    service.behave(busy('42'), slower.subscription.endpoint);
    service.behave(400, refusing.subscription.endpoint);
    expect(await send()).toMatchObject({ kind: 'failed', retryAfterMs: 42_000 });
  });
});

describe('an internal error', () => {
  const change = (text: string, values: unknown[] = []) =>
    test.service.services.database
      .tenant(tenant.tenantId)
      .interactive.all({ kind: 'write', text, values, prepare: false });

  it('with one browser does not affect the others: they get the message once', async () => {
    const [moved, other] = [await register(), await register()];
    await change('update push_subscriptions set sealed = $3 where tenant_id = $1 and id = $2', [
      tenant.tenantId,
      moved.id,
      'canary',
    ]);
    expect(await send()).toEqual({ kind: 'taken' });
    expect(service.received.map((each) => each.path)).toEqual([new URL(other.subscription.endpoint).pathname]);
    const lines = test.logLines.filter((line) => line.includes('internal error'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'error', subscriptionId: moved.id }]);
  });

  it('with the list of browsers causes no duplicate', async () => {
    const [gone] = [await register(), await register()];
    service.behave(410, gone.subscription.endpoint);
    const { services } = test.service;
    const tenantAccess = services.database.tenant(tenant.tenantId);
    const access = {
      all: (query: Parameters<typeof tenantAccess.all>[0]) => tenantAccess.all(query),
      interactive: { all: () => Promise.reject(new Error('the database is away')) },
    };
    const database = { tenant: () => access, platform: () => services.database.platform() };
    const away = { ...services, database } as unknown as typeof services;
    expect(await push(away, messageFor(tenant), never)).toEqual({ kind: 'taken' });
    expect(test.logLines.filter((line) => line.includes('could not be deleted'))).toHaveLength(1);
    expect(await send()).toEqual({ kind: 'taken' });
    expect(await registered()).not.toContain(gone.id);
  });
});

describe('failed', () => {
  it.each([408, 429, 500, 503])('at %i', async (status) => {
    await register();
    service.behave(status);
    const outcome = await send();
    expect(outcome).toEqual({ kind: 'failed', error: expect.any(Error) });
    expect(String((outcome as { error: unknown }).error)).not.toContain('canary');
    expect(await registered()).toHaveLength(1);
  });

  it.each<[string, Parameters<TestPushService['behave']>[0]]>([
    ['ends the connection', (_response, request) => void request.socket.end()],
    ['answers invalid HTTP', (_response, request) => void request.socket.end('canary\r\n\r\n')],
    [
      'answers without end',
      (response) => {
        const more = () => {
          while (response.writable && response.write('x'.repeat(65_536)));
        };
        response
          .writeHead(201)
          .on('drain', more)
          .on('error', () => undefined);
        more();
      },
    ],
  ])('where the push service %s', async (_what, behave) => {
    await register();
    service.behave(behave);
    expect(await send()).toMatchObject({ kind: 'failed' });
  });

  it('without a listener', async () => {
    const browser = newBrowser('https://127.0.0.1:1024');
    const { token } = tenant.admin;
    await test.call('POST', `${path}/subscriptions`, { token, body: browser.subscription });
    expect(await send()).toMatchObject({ kind: 'failed' });
  });
});

describe('refused', () => {
  it.each([301, 307, 400, 401, 403, 415])('at %i, which is logged without the keys of the browser', async (status) => {
    const [canary, { subscription, id }] = [await startPushService(), await register()];
    service.behave((response) => response.writeHead(status, { location: `${canary.origin}/` }).end('canary'));
    expect(await send()).toEqual({ kind: 'refused' });
    expect(canary.received).toEqual([]);
    const lines = test.logLines.filter((line) => line.includes('refused'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', subscriptionId: id, tenantId: tenant.tenantId, origin: service.origin, status },
    ]);
    expect(test.logLines.join('\n')).not.toContain(new URL(subscription.endpoint).pathname);
  });

  it('at 413 after an attempt without the body', async () => {
    const browser = await register();
    service.behave(413);
    expect(await send({ texts: long })).toEqual({ kind: 'refused' });
    expect(service.received).toHaveLength(2);
    expect(browser.read(service.received[1]!.body)).toMatchObject({ body: '', link: 'https://house.example/notes/1' });
  });

  it('not at 413 if it is accepted without the body', async () => {
    await register();
    service.behave((response, _request, { body }) => void response.writeHead(body.length > 1000 ? 413 : 201).end());
    expect(await send({ texts: { title: 'Water', body: long.body } })).toEqual({ kind: 'taken' });
  });
});

describe('the signal', () => {
  const reason = new Error('the process stops');

  it('ends an attempt if the push service does not answer', async () => {
    await register();
    const controller = new AbortController();
    service.behave(() => controller.abort(reason));
    await expect(send({}, controller.signal)).rejects.toBe(reason);
  });
});

it('a retry has the same topic', async () => {
  await register();
  const message: ChannelMessage = messageFor(tenant);
  for (let attempt = 0; attempt < 2; attempt += 1) await push(test.service.services, message, never);
  expect(new Set(service.received.map(({ headers }) => headers['topic']))).toEqual(
    new Set([message.deliveryId.replaceAll('-', '')]),
  );
});
