import Type from 'typebox';
import { beforeAll, describe, expect, it, vi } from 'vitest';

import { access } from '#core/base/access/access';
import { newId } from '#core/base/crypto/ids';
import { closed } from '#core/base/schemas';
import { defineModule, defineRoute } from '#core/http/route';
import { useEdges } from '#test/support/edge';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';
import { exchange, openConnection } from '#test/support/raw-connection';

const soon = { timeout: 30_000 };

const test = useService({ ownDatabase: true });
const open = useEdges(test);
const me = '/api/v1/auth/me';
const held: { url: string; release(): void }[] = [];
const answer = closed({ ok: Type.Boolean() });
const hold = (url: string) =>
  new Promise<{ ok: boolean }>((resolve) => held.push({ url, release: () => resolve({ ok: true }) }));
const planted = defineModule({
  name: 'planted',
  description: '',
  routes: [
    defineRoute({
      method: 'GET',
      path: '/held',
      operationId: 'held',
      summary: '',
      access: access.member(),
      schema: { response: { 200: answer } },
      handler: () => hold('/held'),
    }),
    defineRoute({
      method: 'POST',
      path: '/parsed',
      operationId: 'parsed',
      summary: '',
      access: access.member(),
      audit: { none: 'planted' },
      schema: { body: closed({}), response: { 200: answer } },
      handler: () => hold('/parsed'),
    }),
  ],
});
let flooding: Tenant;
let quiet: Tenant;
let port: number;
let begun = 0;

beforeAll(async () => {
  [flooding, quiet] = [await createTenant(test), await createTenant(test)];
  const edge = await open({ planted, limits: { maxInFlight: 8 } });
  port = edge.port;
  edge.server.server.on('request', () => (begun += 1));
  // Their credentials are now cached.
  for (const { admin } of [flooding, quiet]) expect(await statusOf(me, admin.token)).toBe(200);
});

const head = (method: string, url: string, token: string) =>
  `${method} ${url} HTTP/1.1\r\nHost: atrium.test\r\nAuthorization: Bearer ${token}\r\n`;
const statusOf = async (url: string, token: string) =>
  (await exchange(port, `${head('GET', url, token)}Connection: close\r\n\r\n`))[0]!.status;

async function flood(count: number, text: string) {
  const connections = await Promise.all(Array.from({ length: count }, () => openConnection(port)));
  for (const connection of connections) connection.send(text);
  return connections;
}

async function drain(connections: Awaited<ReturnType<typeof flood>>) {
  const answers = Promise.all(connections.map((connection) => connection.next()));
  const releasing = setInterval(() => held.splice(0).forEach(({ release }) => release()), 1);
  const statuses = (await answers).map(({ status }) => status);
  clearInterval(releasing);
  for (const connection of connections) connection.destroy();
  return statuses;
}

describe('with 100 concurrent requests of one tenant', () => {
  it('the request of another tenant is processed next', async () => {
    const before = begun;
    const requests = await flood(100, `${head('GET', '/held', flooding.admin.token)}\r\n`);
    await vi.waitUntil(() => held.length === 8 && begun === before + 100, soon);
    const other = statusOf(me, quiet.admin.token);
    await vi.waitUntil(() => begun === before + 101, soon);
    // One of the others may be admitted before it.
    held.splice(0, 2).forEach(({ release }) => release());
    expect(await other).toBe(200);
    expect(new Set(await drain(requests))).toEqual(new Set([200]));
  });

  it('bodies of waiting requests are not parsed', async () => {
    const requests = await flood(8, `${head('GET', '/held', flooding.admin.token)}\r\n`);
    await vi.waitUntil(() => held.length === 8, soon);
    const broken = await openConnection(port);
    const json = 'Content-Type: application/json\r\nContent-Length: 5\r\n\r\n{"a":';
    broken.send(`${head('POST', '/parsed', flooding.admin.token)}${json}`);
    const refusal = broken.next();
    // Of another tenant, so that it is processed by the time that the other one could have been.
    expect(await Promise.race([refusal, statusOf('/api/v1/system/health', quiet.admin.token)])).toBe(200);
    expect(new Set(await drain(requests))).toEqual(new Set([200]));
    expect((await refusal).status).toBe(400);
    broken.destroy();
  });
});

describe('a stranger with invented credentials', () => {
  it('waits among requests with unknown credentials, and blocks no tenant', async () => {
    const requests = await flood(8, `${head('GET', '/held', flooding.admin.token)}\r\n`);
    await vi.waitUntil(() => held.length === 8, soon);
    const strangers = await Promise.all(
      Array.from({ length: 400 }, async () => {
        const [stranger] = await flood(1, `${head('GET', me, newId())}\r\n`);
        return stranger!;
      }),
    );
    // A quarter of the queue is for them; the rest are refused at once.
    const first = await Promise.race(strangers.map((stranger) => stranger.next()));
    expect(first.status).toBe(503);
    const before = begun;
    const other = statusOf(me, quiet.admin.token);
    await vi.waitUntil(() => begun > before, soon);
    held.splice(0, 2).forEach(({ release }) => release());
    expect(await other).toBe(200);
    for (const stranger of strangers) stranger.destroy();
    expect(new Set(await drain(requests))).toEqual(new Set([200]));
  });
});
