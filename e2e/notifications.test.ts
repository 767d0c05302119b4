import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it, vi } from 'vitest';

import { newTenant, password, type Client } from './support/client.ts';
import { until, Workplace } from './support/service.ts';
import { comeBack } from './support/walk.ts';

vi.setConfig({ testTimeout: 900_000, hookTimeout: 120_000 });

const workplace = new Workplace();
const sinks: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const sink of sinks.splice(0)) await sink.close();
  await workplace.clear();
});

const env = { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' };
const notices = '/api/v1/secure/admin/notifications';
const peopleCount = 30;
const kills = 2;
/** Leases of the dead end after 90 s, and what they held is looked for every minute. */
const timeoutMs = 300_000;

/** A service of the customer's own that counts each id. Shut, it takes every notification and leaves it without an answer. */
async function startSink() {
  let maxAnswered = Number.POSITIVE_INFINITY;
  let open = () => {};
  let opened = Promise.resolve();
  const sink = {
    origin: '',
    taken: new Map<string, number>(),
    total: 0,
    shutAfter(count: number) {
      maxAnswered = sink.total + count;
      opened = new Promise((resolve) => (open = resolve));
    },
    isHolding: () => sink.total > maxAnswered,
    open() {
      maxAnswered = Number.POSITIVE_INFINITY;
      open();
    },
    close,
  };
  const server = createServer((request, response) => {
    const id = request.headers['webhook-id'];
    // Health checks carry no notification.
    if (typeof id !== 'string') return response.end();
    return void text(request)
      .then(async () => {
        sink.total += 1;
        sink.taken.set(id, (sink.taken.get(id) ?? 0) + 1);
        if (sink.isHolding()) await opened;
        response.end();
      })
      .catch(() => undefined);
  });
  function close() {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  sink.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  sinks.push(sink);
  return sink;
}

async function settle(client: Client, origin: string): Promise<void> {
  const connector = {
    api_key: 'own',
    api_name: 'Own service',
    api_base_url: origin,
    config: { adapter: 'webhook', channels: ['webhook'] },
    category: 'communication',
  };
  expect((await client.post('/api/v1/secure/ai/providers', connector)).status).toBe(201);
  const preferences = [{ category: '*', channel: 'webhook', enabled: true }];
  expect((await client.call('PATCH', `${notices}/preferences`, { scope: 'tenant_default', preferences })).status).toBe(
    200,
  );
  for (let at = 1; at < peopleCount; at++) {
    const user = { email: `person-${at}@${client.tenantId}.example.com`, password };
    expect((await client.post('/api/v1/secure/users', user)).status).toBe(201);
  }
}

it('every recipient is notified despite kills of the service, and twice only after a logged interruption', async () => {
  const dataDir = workplace.dataDir();
  const sink = await startSink();
  let service = await workplace.start({ dataDir, env });
  const { client, email } = await newTenant(service.base);
  await settle(client, sink.origin);
  let current = client;
  const ledger: string[] = [];
  for (let round = 0; round <= kills; round++) {
    const notice = {
      key: `notice ${round}`,
      category: 'news',
      title: `Number ${round}`,
      body: '',
      channels: ['in_app', 'webhook'],
      audience: { everyone: true },
    };
    // The first kill is before the first delivery, each later one after more deliveries.
    if (round < kills) sink.shutAfter(round * 10);
    const sent = await current.post(notices, notice);
    expect(sent.status).toBe(202);
    ledger.push(sent.body.data.id);
    if (round === kills) break;
    await until('some are on their way', sink.isHolding);
    await service.kill('SIGKILL');
    sink.open();
    service = await workplace.start({ dataDir, env });
    current = await comeBack(service.base, email);
    // The client repeats the request, because it does not know whether it arrived.
    expect((await current.post(notices, notice)).body.data.id).toBe(sent.body.data.id);
  }

  const open = async (id: string) => {
    const { data } = (await current.get(`${notices}/${id}`)).body;
    return data.status !== 'done' || data.deliveries.webhook.sent < peopleCount;
  };
  for (const id of ledger) await until('all recipients are notified', async () => !(await open(id)), timeoutMs);
  const log: any[] = await current.all(`${notices}/deliveries`);
  expect(log).toHaveLength(ledger.length * peopleCount * 2);
  expect(log.filter(({ status }) => status !== 'sent')).toEqual([]);
  const hooks = log.filter(({ channel }) => channel === 'webhook');
  expect(hooks.filter(({ id }) => !sink.taken.has(id))).toEqual([]);
  expect(sink.taken.size).toBe(hooks.length);
  // Only a delivery that a kill interrupted may be sent again.
  expect(hooks.filter(({ id, interruptions }) => sink.taken.get(id)! > 1 + interruptions)).toEqual([]);
  const again = hooks.filter(({ interruptions }) => interruptions > 0);
  expect(again.length).toBeGreaterThanOrEqual(kills);
  expect(again.length).toBeLessThanOrEqual(kills * 8);
  expect(new Set(log.map(({ noticeId, userId, channel }) => `${noticeId} ${userId} ${channel}`)).size).toBe(log.length);
  expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});
