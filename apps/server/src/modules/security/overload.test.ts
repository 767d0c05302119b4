import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { beforeAll, describe, expect, it, vi } from 'vitest';

import { access } from '#core/base/access/access';
import { closed } from '#core/base/schemas';
import { JsonStream } from '#core/http/json-streams';
import { defineModule, defineRoute } from '#core/http/route';
import { defaultSecurityConfig } from '#core/platform/limits/config';
import { expectRefusal, useEdges } from '#test/support/edge';
import { createTenant, logInSystemAdmin } from '#test/support/factories';
import { useService } from '#test/support/harness';
import { exchange, openConnection } from '#test/support/raw-connection';

const test = useService({ ownDatabase: true });
const open = useEdges(test);
const config = '/api/v1/system/security/config';
const held: (() => void)[] = [];
const planted = defineModule({
  name: 'planted',
  description: '',
  routes: [
    defineRoute({
      method: 'GET',
      path: '/held',
      operationId: 'held',
      summary: '',
      access: access.public('planted'),
      schema: { response: { 200: closed({ ok: Type.Boolean() }) } },
      handler: () => new Promise((resolve) => held.push(() => resolve({ ok: true }))),
    }),
    defineRoute({
      method: 'GET',
      path: '/streamed',
      operationId: 'streamed',
      summary: '',
      access: access.public('planted'),
      schema: { response: { 200: closed({ ok: Type.Boolean() }) } },
      mayStream: true,
      handler: () => new Promise((resolve) => held.push(() => resolve(new JsonStream(endless())))),
    }),
  ],
});
async function* endless() {
  for (;;) yield await Promise.resolve(' '.repeat(65_536));
}

let token: string;
let asTenant: string;

beforeAll(async () => {
  ({ token } = await logInSystemAdmin(test));
  asTenant = (await createTenant(test)).admin.token;
});

const configure = async (changes: object) => {
  const body = { ...defaultSecurityConfig, ...changes };
  expect((await test.call('PATCH', config, { token, body })).status).toBe(200);
};
const get = (url: string, bearer?: string) =>
  `GET ${url} HTTP/1.1\r\nHost: atrium.test\r\n${bearer === undefined ? '' : `Authorization: Bearer ${bearer}\r\n`}`;
const statusOf = async (port: number, url: string, bearer?: string) =>
  (await exchange(port, `${get(url, bearer)}Connection: close\r\n\r\n`))[0]!.status;

describe('the queue', () => {
  let edge: { port: number; server: FastifyInstance };
  const me = '/api/v1/auth/me';

  beforeAll(async () => {
    edge = await open({ planted, limits: { maxInFlight: 4 } });
  });

  /** Four requests in progress, until they are released. */
  async function occupy() {
    const connections = await Promise.all(Array.from({ length: 4 }, () => openConnection(edge.port)));
    for (const connection of connections) connection.send(`${get('/held')}\r\n`);
    await vi.waitUntil(() => held.length === 4, { timeout: 30_000 });
    return async () => {
      for (const release of held.splice(0)) release();
      await Promise.all(connections.map((connection) => connection.next()));
      for (const connection of connections) connection.destroy();
    };
  }

  it('keeps no permit for clients that leave while their credential is verified', async () => {
    const verified = Promise.withResolvers<void>();
    let verifying = 0;
    const slow = await open({
      limits: { maxInFlight: 4 },
      async authenticate(credentials, facts) {
        verifying += 1;
        await verified.promise;
        return test.service.authenticate({ ...credentials, authorization: `Bearer ${asTenant}` }, facts);
      },
    });
    const connections = await Promise.all(Array.from({ length: 4 }, () => openConnection(slow.port)));
    connections.forEach((connection, at) => connection.send(`${get(me, `unknown-${at}`)}\r\n`));
    await vi.waitUntil(() => verifying === 4, { timeout: 30_000 });
    for (const connection of connections) connection.destroy();
    const countConnections = () =>
      new Promise<number>((resolve) => slow.server.server.getConnections((_error, count) => resolve(count)));
    await vi.waitUntil(async () => (await countConnections()) === 0, { timeout: 30_000 });
    verified.resolve();
    expect(await statusOf(slow.port, me, 'unknown')).toBe(200);
    expect(await statusOf(slow.port, me, 'unknown')).toBe(200);
  });

  it('gives a permit to answers that may stream, until they do', async () => {
    await configure({ queue_enabled: false });
    const connections = await Promise.all(Array.from({ length: 4 }, () => openConnection(edge.port)));
    for (const connection of connections) connection.send(`${get('/streamed')}\r\n`);
    await vi.waitUntil(() => held.length === 4, { timeout: 30_000 });
    expect(await statusOf(edge.port, me, asTenant)).toBe(503);
    for (const release of held.splice(0)) release();
    await vi.waitUntil(async () => (await statusOf(edge.port, me, asTenant)) === 200, { timeout: 30_000 });
    for (const connection of connections) connection.destroy();
    await configure({});
  });

  it('disabled: 503 with Retry-After at once, but never for health and administration', async () => {
    await configure({ queue_enabled: false });
    const leave = await occupy();
    const [refused] = await exchange(edge.port, `${get(me, asTenant)}Connection: close\r\n\r\n`);
    expectRefusal(refused!, 'SERVICE_UNAVAILABLE');
    expect(await statusOf(edge.port, '/api/v1/system/health')).toBe(200);
    expect(await statusOf(edge.port, config, token)).toBe(200);
    await leave();
    expect(await statusOf(edge.port, me, asTenant)).toBe(200);
  });

  it('503 after the waiting time, and when the queue is full', async () => {
    await configure({ queue_max_size: 100, queue_timeout_ms: 1000 });
    const leave = await occupy();
    const connections = await Promise.all(Array.from({ length: 101 }, () => openConnection(edge.port)));
    const first = Promise.race(
      connections.map(async (connection) => {
        connection.send(`${get(me, asTenant)}\r\n`);
        return connection.next();
      }),
    );
    expectRefusal(await first, 'SERVICE_UNAVAILABLE');
    for (const connection of connections) connection.destroy();
    const late = await openConnection(edge.port);
    late.send(`${get(me, asTenant)}\r\n`);
    expectRefusal(await late.next(), 'SERVICE_UNAVAILABLE');
    late.destroy();
    await leave();
    expect(await statusOf(edge.port, me, asTenant)).toBe(200);
  });

  it('answers each of two hundred waiting requests as others end', async () => {
    await configure({});
    const leave = await occupy();
    const connections = await Promise.all(Array.from({ length: 200 }, () => openConnection(edge.port)));
    const answers = Promise.all(
      connections.map((connection) => {
        connection.send(`${get(me, asTenant)}\r\n`);
        return connection.next();
      }),
    );
    await leave();
    expect(new Set((await answers).map(({ status }) => status))).toEqual(new Set([200]));
    for (const connection of connections) connection.destroy();
  });

  it('keeps no permit for a request whose body is arriving; complete requests wait', async () => {
    await configure({});
    const logIn = 'POST /api/v1/public/auth/login HTTP/1.1\r\nHost: atrium.test\r\nContent-Type: application/json\r\n';
    let begun = 0;
    edge.server.server.on('request', () => (begun += 1));
    const senders = await Promise.all(Array.from({ length: 8 }, () => openConnection(edge.port)));
    for (const sender of senders.slice(0, 4)) sender.send(`${logIn}Content-Length: 2\r\n\r\n{`);
    for (const sender of senders.slice(4)) sender.send(`${logIn}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`);
    await vi.waitUntil(() => begun === 8, { timeout: 30_000 });
    expect(await statusOf(edge.port, me, asTenant)).toBe(200);
    const leave = await occupy();
    let answered = 0;
    const answers = senders.map(async (sender, at) => {
      sender.send(at < 4 ? '}' : '1\r\n}\r\n0\r\n\r\n');
      const { status } = await sender.next();
      answered += 1;
      return status;
    });
    expect(await statusOf(edge.port, config, token)).toBe(200);
    expect(answered).toBe(0);
    await leave();
    expect(new Set(await Promise.all(answers))).toEqual(new Set([400]));
    for (const sender of senders) sender.destroy();
  });

  it('keeps no permit for a closed connection', async () => {
    const leave = await occupy();
    for (let at = 0; at < 50; at++) {
      const connection = await openConnection(edge.port);
      connection.send(`${get('/held')}\r\n`);
      connection.destroy();
    }
    await leave();
    for (const release of held.splice(0)) release();
    for (let at = 0; at < 10; at++) expect(await statusOf(edge.port, me, asTenant)).toBe(200);
  });
});

describe('load shedding', () => {
  let cpu = 0;
  let checks = 0;
  const load = {
    cpuPercent: () => {
      checks += 1;
      return cpu;
    },
    delayMs: () => 0,
    isBusy: () => false,
    close: () => undefined,
  };

  it('refuses requests without credentials, never health, administration and authenticated requests; and ends again', async () => {
    await configure({ circuit_breaker_check_interval_seconds: 1, circuit_breaker_duration_seconds: 5 });
    const { port } = await open({ planted, load });
    const me = '/api/v1/auth/me';
    const anonymous = '/api/v1/public/auth/jwks-that-is-not-there';
    expect(await statusOf(port, anonymous)).toBe(404);
    cpu = 99;
    await vi.waitUntil(async () => (await statusOf(port, anonymous)) === 503, { timeout: 30_000 });
    const [refused] = await exchange(port, `${get(anonymous)}Connection: close\r\n\r\n`);
    expectRefusal(refused!, 'SERVICE_UNAVAILABLE');
    expect(await statusOf(port, me, asTenant)).toBe(200);
    expect(await statusOf(port, '/api/v1/system/health')).toBe(200);
    expect(await statusOf(port, config, token)).toBe(200);
    cpu = 0;
    await configure({ circuit_breaker_enabled: false });
    expect(await statusOf(port, anonymous)).toBe(404);
    expect(checks).toBeGreaterThan(0);
  });
});
