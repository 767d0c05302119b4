import Fastify, { type FastifyReply, type FastifyRequest, type InjectOptions } from 'fastify';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';

import type { Service } from '#app/service';
import { createTracing } from '#core/base/tracing/open-telemetry';
import type { Tracing } from '#core/base/tracing/tracing';
import { beginSpans, enterSpans } from '#core/http/traces';
import { createOutbound } from '#core/platform/outbound/outbound';
import { createTenant } from '#test/support/factories';
import { startService, testServiceOf, type TestService } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

type Span = {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: { key: string; value: { stringValue?: string; intValue?: number | string } }[];
  status: { code?: number };
};
type Export = { resourceSpans: { resource: { attributes: Span['attributes'] }; scopeSpans: { spans: Span[] }[] }[] };

const server = 2;
const client = 3;
const waitMs = 30_000;
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

type Collector = { url: string; spans: Span[]; resources: Record<string, unknown>[]; headers: IncomingHttpHeaders[] };

/** A receiver of OTLP in JSON, on a real socket. */
async function startCollector(answer: 'ok' | 'never' = 'ok'): Promise<Collector> {
  const collector: Collector = { url: '', spans: [], resources: [], headers: [] };
  const http = createServer((request, response) => {
    void buffer(request).then((body) => {
      expect([request.method, request.url]).toEqual(['POST', '/v1/traces']);
      collector.headers.push(request.headers);
      if (answer === 'never') return;
      const { resourceSpans } = JSON.parse(body.toString()) as Export;
      for (const { resource, scopeSpans } of resourceSpans) {
        collector.resources.push(valuesOf(resource.attributes));
        collector.spans.push(...scopeSpans.flatMap(({ spans }) => spans));
      }
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  collector.url = await listen(http);
  return collector;
}

async function listen(http: Server): Promise<string> {
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  open.push(() => {
    http.closeAllConnections();
    return new Promise((resolve) => http.close(resolve));
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

function valuesOf(attributes: Span['attributes']): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? (value.intValue && Number(value.intValue))]),
  );
}

async function start(environment: Record<string, string>, logLines: string[] = []): Promise<TestService> {
  const service: Service = await startService({ environment }, logLines);
  open.push(() => service.close());
  return testServiceOf(service, inject('connection'));
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const headers = { traceparent: `00-${traceId}-${spanId}-01` };
const unknownUser = '00000000-0000-7000-8000-000000000001';
const path = `/api/v1/secure/users/${unknownUser}?word=secret-word`;

describe('a request that is part of a trace', () => {
  it('is a span of it, with what was asked of the database as children', async () => {
    const collector = await startCollector();
    const logLines: string[] = [];
    const test = await start(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=a%20secret',
        OTEL_SERVICE_NAME: 'atrium-test',
        ENVIRONMENT: 'staging',
      },
      logLines,
    );
    const { admin } = await createTenant(test);
    const answer = await test.call('GET', path, { token: admin.token, headers });
    expect(answer.status).toBe(404);
    await vi.waitFor(() => expect(logLines.some((line) => line.includes(traceId))).toBe(true), waitMs);
    await open.pop()!();

    const mine = collector.spans.filter((span) => span.traceId === traceId);
    const [request] = mine.filter(({ kind }) => kind === server);
    expect(request).toMatchObject({ name: 'GET /api/v1/secure/users/:id', parentSpanId: spanId });
    expect(valuesOf(request!.attributes)).toEqual({
      'http.request.method': 'GET',
      'http.route': '/api/v1/secure/users/:id',
      'http.response.status_code': 404,
      'atrium.request.id': answer.headers['x-request-id'],
    });
    const children = mine.filter(({ kind }) => kind === client);
    expect(children.length).toBeGreaterThan(0);
    for (const child of children) {
      expect(child.parentSpanId).toBe(request!.spanId);
      expect(valuesOf(child.attributes)).toMatchObject({ 'db.system.name': 'postgresql' });
    }
    expect(collector.resources[0]).toMatchObject({
      'service.name': 'atrium-test',
      'service.version': expect.stringMatching(/^\d+\.\d+\.\d+$/),
      'deployment.environment.name': 'staging',
    });
    expect(collector.headers[0]!['x-collector-key']).toBe('a secret');
    const text = JSON.stringify(collector.spans);
    for (const word of [unknownUser, 'secret-word', admin.token]) expect(text).not.toContain(word);
  });

  it('keeps to what its caller decided', async () => {
    const collector = await startCollector();
    const test = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: '0' });
    await test.call('GET', '/api/v1/system/info');
    await test.call('GET', '/api/v1/system/info', { headers });
    const unwanted = { traceparent: `00-${'a'.repeat(32)}-${spanId}-00` };
    await test.call('GET', '/api/v1/system/info', { headers: unwanted });
    await open.pop()!();
    expect(new Set(collector.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  });

  it('has as its children what was asked to know who calls', async () => {
    const collector = await startCollector();
    const test = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const { admin } = await createTenant(test);
    test.service.services.principals.clear();
    const answer = await test.call('GET', '/api/v1/system/mail-outbox', { token: admin.token, headers });
    expect(answer.status).toBe(403);
    await open.pop()!();
    const mine = collector.spans.filter((span) => span.traceId === traceId);
    expect(mine.filter(({ kind }) => kind === client).length).toBeGreaterThan(0);
  });

  it('keeps apart from others on the same connection, with bodies that come late', async () => {
    const collector = await startCollector();
    const test = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const url = new URL(await test.service.http.listen({ port: 0, host: '127.0.0.1' }));
    const body = JSON.stringify({ email: 'unknown@example.com', password: 'wrong password' });
    const ids = Array.from({ length: 8 }, (_, at) => String(at + 1).repeat(32));
    const socket = connect(Number(url.port), url.hostname);
    open.push(() => socket.destroy());
    let answers = '';
    socket.on('data', (bytes) => (answers += bytes.toString()));
    const write = (part: string) => new Promise((resolve) => socket.write(part, resolve));
    for (const id of ids) {
      const head = `host: atrium.test\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
      await write(`POST /api/v1/public/auth/login HTTP/1.1\r\n${head}\r\ntraceparent: 00-${id}-${spanId}-01\r\n\r\n`);
      await new Promise((resolve) => setImmediate(resolve));
      await write(body.slice(0, 10));
      await new Promise((resolve) => setImmediate(resolve));
      await write(body.slice(10));
      await vi.waitFor(() => expect(answers.split('HTTP/1.1 401')).toHaveLength(ids.indexOf(id) + 2), waitMs);
    }
    await open.pop()!();
    await open.pop()!();
    for (const id of ids) {
      const mine = collector.spans.filter((span) => span.traceId === id);
      const [request] = mine.filter(({ kind }) => kind === server);
      const children = mine.filter(({ kind }) => kind === client);
      expect(children.length).toBeGreaterThan(0);
      expect(new Set(children.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([request!.spanId]));
    }
  });
});

describe('without a collector', () => {
  it('nothing is traced', async () => {
    const logLines: string[] = [];
    const test = await start({}, logLines);
    expect(test.service.services.tracing).toBeUndefined();
    await test.call('GET', '/api/v1/system/info', { headers });
    await vi.waitFor(() => expect(logLines.some((line) => line.includes('system/info'))).toBe(true), waitMs);
    expect(logLines.join('\n')).not.toContain(traceId);
  });

  it.each([
    ['refuses connections', () => Promise.resolve('http://127.0.0.1:1')],
    ['never answers', async () => (await startCollector('never')).url],
  ])('that %s, requests are answered and the process ends', async (_how, urlOf) => {
    const test = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: await urlOf() });
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => test.call('GET', '/api/v1/system/info', { headers })),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    await open.pop()!();
  });
});

describe('createTracing', () => {
  const log = { warn: vi.fn<() => void>(), info: vi.fn<() => void>() };

  async function trace(collector: Collector): Promise<Tracing> {
    const tracing = createTracing({
      endpoint: collector.url,
      headers: {},
      serviceName: 'test',
      version: '0.0.0',
      environment: 'test',
      ratio: 1,
      log,
    });
    return tracing;
  }

  it('makes a span of a call to the outside, without its path and its query', async () => {
    const collector = await startCollector();
    const seen: IncomingHttpHeaders[] = [];
    const outside = await listen(
      createServer((request, response) => {
        seen.push(request.headers);
        response.statusCode = 418;
        response.end();
      }),
    );
    const tracing = await trace(collector);
    const outbound = createOutbound({ allowedRanges: ['127.0.0.1'], ownPort: 0, within: tracing.within });
    const span = tracing.begin({ traceparent: headers.traceparent, requestId: 'r' });
    await new Promise<void>((resolve, reject) =>
      span.run(() => void outbound.fetch(`${outside}/hooks/secret?key=secret`).then(() => resolve(), reject)),
    );
    span.end({ method: 'GET', route: '/x', status: 200 });
    await outbound.fetch(`${outside}/outside-of-any-request`);
    await outbound.close();
    await tracing.close();
    expect(collector.spans.filter(({ kind }) => kind === client).map(({ attributes }) => valuesOf(attributes))).toEqual(
      [
        {
          'http.request.method': 'GET',
          'http.response.status_code': 418,
          'server.address': '127.0.0.1',
          'server.port': Number(new URL(outside).port),
          'url.scheme': 'http',
        },
      ],
    );
    expect(JSON.stringify(collector.spans)).not.toContain('secret');
    expect(seen[0]).not.toHaveProperty('traceparent');
  });

  /** A request that waits in a hook until another one lets it in, each of the two with a statement. */
  async function letIn(hook: 'onRequest' | 'preValidation', waiting: InjectOptions): Promise<Span[]> {
    const collector = await startCollector();
    const tracing = await trace(collector);
    const http = Fastify();
    http.decorateRequest('span', undefined);
    beginSpans(http, tracing);
    let enter: (() => void) | undefined;
    http.addHook(hook, (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
      if (request.url === '/waits') enter = done;
      else done();
    });
    enterSpans(http);
    const ask = () => tracing.within({ name: 'SELECT', attributes: {} }, () => Promise.resolve('answer'));
    http.all('/waits', ask);
    http.get('/ends', () => {
      enter!();
      return ask();
    });
    http.addHook('onResponse', (request, reply, done) => {
      request.span?.end({ method: 'GET', route: request.url, status: reply.statusCode });
      done();
    });
    const waits = http.inject({ url: '/waits', ...waiting });
    await vi.waitFor(() => expect(enter).toBeDefined(), waitMs);
    const answers = await Promise.all([waits, http.inject('/ends')]);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    await tracing.close();
    return collector.spans;
  }

  it.each([
    ['without a body', 'onRequest', { method: 'GET', headers }],
    ['with one', 'preValidation', { method: 'POST', headers, payload: { some: 'thing' } }],
  ] as const)(
    'continues in the span of the request itself when another request let it in: %s',
    async (_how, hook, waiting) => {
      const spans = await letIn(hook, waiting);
      const requests = spans.filter(({ kind }) => kind === server);
      const children = spans.filter(({ kind }) => kind === client);
      expect(requests.map(({ name }) => name).toSorted()).toEqual(['GET /ends', 'GET /waits']);
      expect(children).toHaveLength(2);
      expect(new Set(children.map(({ parentSpanId }) => parentSpanId))).toEqual(
        new Set(requests.map((request) => request.spanId)),
      );
    },
  );

  it('keeps nothing of a request that is not kept, though one that is let it in', async () => {
    const spans = await letIn('onRequest', { headers: { traceparent: `00-${traceId}-${spanId}-00` } });
    expect(spans.map(({ name }) => name).toSorted()).toEqual(['GET /ends', 'SELECT']);
  });

  it('marks what failed, in no words of the failure', async () => {
    const collector = await startCollector();
    const tracing = await trace(collector);
    const span = tracing.begin({ traceparent: undefined, requestId: 'r' });
    const work = () =>
      tracing.within({ name: 'SELECT', attributes: {} }, () => Promise.reject(new TypeError('secret value')));
    await expect(new Promise((resolve, reject) => span.run(() => void work().then(resolve, reject)))).rejects.toThrow(
      'secret value',
    );
    span.end({ method: 'BREW', route: undefined, status: 503 });
    await tracing.close();
    const [child, request] = collector.spans;
    expect([child!.status.code, valuesOf(child!.attributes)]).toEqual([2, { 'error.type': 'TypeError' }]);
    expect([request!.status.code, request!.name]).toEqual([2, 'HTTP']);
    expect(valuesOf(request!.attributes)).toMatchObject({ 'http.request.method': '_OTHER', 'error.type': '503' });
    expect(JSON.stringify(collector.spans)).not.toContain('secret');
  });

  it('keeps no more spans than its queue has room for', async () => {
    const collector = await startCollector();
    const tracing = await trace(collector);
    for (let at = 0; at < 6000; at++) {
      tracing.begin({ traceparent: undefined, requestId: 'r' }).end({ method: 'GET', route: '/x', status: 200 });
    }
    await tracing.close();
    expect(collector.spans.length).toBeLessThanOrEqual(5000);
    expect(collector.spans.length).toBeGreaterThanOrEqual(4096);
  });

  it('says once that the collector does not take spans', async () => {
    log.warn.mockClear();
    const tracing = await trace({ url: 'http://127.0.0.1:1', spans: [], resources: [], headers: [] });
    for (let at = 0; at < 1100; at++) {
      tracing.begin({ traceparent: undefined, requestId: 'r' }).end({ method: 'GET', route: '/x', status: 200 });
    }
    await vi.waitFor(() => expect(log.warn).toHaveBeenCalledOnce(), waitMs);
    await tracing.close();
    expect(log.warn).toHaveBeenCalledOnce();
  });
});
