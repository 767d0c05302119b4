import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, inject, it } from 'vitest';

import { readConfig } from '#app/config';
import { createRealtime, type Realtime } from '#core/platform/health/realtime';
import { startService, testServiceOf } from '#test/support/harness';
import { useOpened } from '#test/support/opened';

const { open, listen } = useOpened();

const urlOf = async (server: Server) => `http://127.0.0.1:${await listen(server)}`;
const serve = (listener: RequestListener) => urlOf(createServer(listener));

function realtimeAt(url: string): Realtime {
  const realtime = createRealtime({ server: { url, apiKey: 'the key' }, now: () => new Date() });
  open.push(() => realtime.close());
  return realtime;
}

const answer = (response: ServerResponse, body: unknown) =>
  response.setHeader('content-type', 'application/json').end(typeof body === 'string' ? body : JSON.stringify(body));

const node = (uid: string, count: number) => ({
  uid,
  name: uid,
  version: '6.2.1',
  num_clients: count,
  num_users: count,
  num_channels: count,
  uptime: count * 100,
});
const nothing = { nodes: 0, channels: 0, clients: 0, users: 0, uptimeSeconds: 0 };

// Centrifugo, "Server API walkthrough", info.
describe('a server with the HTTP API of Centrifugo', () => {
  it('is asked with its key, and its nodes are summed up', async () => {
    const seen: { method: string | undefined; url: string | undefined; headers: IncomingHttpHeaders; body: string }[] =
      [];
    const url = await serve((request, response) => {
      void text(request).then((body) => {
        seen.push({ method: request.method, url: request.url, headers: request.headers, body });
        answer(response, { result: { nodes: [node('a', 3), { ...node('b', 4), num_channels: 10 }] } });
      });
    });
    const realtime = realtimeAt(`${url}/`);
    expect(await realtime.check(new AbortController().signal)).toEqual({ status: 'healthy', message: 'reachable' });
    expect(realtime.status()).toEqual({
      enabled: true,
      status: 'ok',
      ready: true,
      checkedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      version: '6.2.1',
      message: 'reachable',
      metrics: { nodes: 2, channels: 13, clients: 7, users: 7, uptimeSeconds: 400 },
    });
    expect(seen).toMatchObject([
      {
        method: 'POST',
        url: '/api/info',
        headers: { 'x-api-key': 'the key', 'content-type': 'application/json' },
        body: '{}',
      },
    ]);
  });

  it('may leave out what is zero', async () => {
    const url = await serve((_request, response) => answer(response, { result: { nodes: [{ uid: 'a' }] } }));
    const realtime = realtimeAt(url);
    await realtime.check(new AbortController().signal);
    expect(realtime.status()).toMatchObject({ status: 'ok', version: '', metrics: { ...nothing, nodes: 1 } });
  });
});

const endless = (response: ServerResponse) => {
  const timer = setInterval(() => response.write(' '), 10);
  response.on('close', () => clearInterval(timer));
};

describe('a server that is degraded', () => {
  const good = { result: { nodes: [node('a', 1)] } };
  it.each<[string, RequestListener]>([
    ['never answers', () => undefined],
    ['never ends its answer', (_request, response) => endless(response)],
    ['answers without end', (_request, response) => void response.end('x'.repeat(2_000_000))],
    ['resets the connection', (request) => void request.socket.destroy()],
    ['speaks no HTTP', (request) => void request.socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
    ['refuses the key', (_request, response) => void response.writeHead(401).end(JSON.stringify(good))],
    ['fails', (_request, response) => void response.writeHead(500).end(JSON.stringify(good))],
    ['has an invalid node', (_request, response) => void answer(response, { result: { nodes: [node('a', 1), null] } })],
    ['sends elsewhere', (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end()],
    ['answers nothing', (_request, response) => void response.end()],
    ['answers no JSON', (_request, response) => void answer(response, '<html>')],
    ['answers null', (_request, response) => void answer(response, 'null')],
    ['answers a text', (_request, response) => void answer(response, '"ok"')],
    ['answers an error', (_request, response) => void answer(response, { error: { code: 100, message: 'internal' } })],
    ['has no nodes', (_request, response) => void answer(response, { result: { nodes: [] } })],
    [
      'has an invalid list of nodes',
      (_request, response) => void answer(response, { result: { nodes: { length: 3 } } }),
    ],
    ['counts below zero', (_request, response) => void answer(response, { result: { nodes: [node('a', -1)] } })],
    ['counts in parts', (_request, response) => void answer(response, { result: { nodes: [node('a', 0.5)] } })],
    [
      'counts beyond all numbers',
      (_request, response) => void answer(response, { result: { nodes: [node('a', 1e300)] } }),
    ],
    [
      'sums up beyond all numbers',
      (_request, response) => void answer(response, { result: { nodes: [node('a', 9e15), node('b', 9e15)] } }),
    ],
    [
      'counts in words',
      (_request, response) => void answer(response, { result: { nodes: [{ ...node('a', 1), num_clients: '3' }] } }),
    ],
  ])('%s', async (_how, listener) => {
    const realtime = realtimeAt(await serve(listener));
    const verdict = await realtime.check(new AbortController().signal);
    expect(verdict).toEqual({
      status: 'degraded',
      message: expect.stringMatching(/^(not reachable|gives no usable answer)$/),
    });
    expect(realtime.status()).toMatchObject({
      enabled: true,
      status: 'degraded',
      ready: false,
      version: '',
      metrics: nothing,
    });
  });

  it('is one that is not there, and one whose time is up', async () => {
    const gone = await urlOf(createTcpServer());
    await open.pop()!();
    for (const [url, signal] of [
      [gone, new AbortController().signal],
      [await serve(() => undefined), AbortSignal.abort()],
    ] as const) {
      const realtime = realtimeAt(url);
      expect(await realtime.check(signal)).toEqual({ status: 'degraded', message: 'not reachable' });
    }
  });

  it('keeps strange characters of its version to itself', async () => {
    const version = '<script>\u0000"6.2.1' + 'x'.repeat(100);
    const url = await serve((_request, response) =>
      answer(response, { result: { nodes: [{ ...node('a', 1), version }] } }),
    );
    const realtime = realtimeAt(url);
    await realtime.check(new AbortController().signal);
    expect(realtime.status().version).toMatch(/^script6\.2\.1x{0,40}$/);
    expect(realtime.status().version.length).toBeLessThanOrEqual(40);
  });
});

describe('realtime in health', () => {
  const health = '/api/v1/system/health';

  it('is seen as it was last seen, and never a reason to refuse', async () => {
    let isGood = true;
    let asked = 0;
    const url = await serve((_request, response) => {
      asked += 1;
      answer(response, isGood ? { result: { nodes: [node('a', 5)] } } : 'nonsense');
    });
    const start = async () => {
      const service = await startService({ environment: { REALTIME_URL: url, REALTIME_API_KEY: 'k' } });
      open.push(() => service.close());
      return testServiceOf(service, inject('connection'));
    };
    const test = await start();
    expect((await test.call('GET', health)).body).toMatchObject({
      status: 'ok',
      realtime: { enabled: true, status: 'degraded', message: 'not looked at yet' },
    });
    expect(asked).toBe(0);
    const answers = await Promise.all(Array.from({ length: 200 }, () => test.call('GET', `${health}?level=full`)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(asked).toBe(1);
    expect(answers[0]!.body).toMatchObject({ status: 'healthy', realtime: { status: 'ok', metrics: { clients: 5 } } });
    expect((await test.call('GET', health)).body.realtime).toMatchObject({ status: 'ok', ready: true });

    isGood = false;
    const worse = await start();
    for (const path of [`${health}?level=full`, '/api/v1/system/info']) {
      const { status, body } = await worse.call('GET', path);
      expect(status).toBe(200);
      expect(body).toMatchObject({ status: 'degraded', realtime: { status: 'degraded', ready: false } });
      expect(body.services.realtime).toMatchObject({ status: 'degraded', message: 'gives no usable answer' });
    }
  });

  it.each([
    [{ REALTIME_URL: 'http://127.0.0.1:9999' }, 'REALTIME_URL requires REALTIME_API_KEY.'],
    [{ REALTIME_URL: 'http://127.0.0.1:22', REALTIME_API_KEY: 'k' }, 'REALTIME_URL must be an http or https address'],
  ])('%j stops the start', async (environment, message) => {
    await expect(startService({ environment })).rejects.toThrow(message);
  });

  it('has an address of http or https', () => {
    expect(() => readConfig({ REALTIME_URL: 'redis://127.0.0.1' })).toThrow('REALTIME_URL');
  });
});
