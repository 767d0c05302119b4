import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from 'typebox';
import { beforeAll, describe, expect, it, vi } from 'vitest';

import { access } from '#core/base/access/access';
import { AppError } from '#core/base/errors/app-error';
import { FileContent } from '#core/http/downloads';
import { JsonStream } from '#core/http/json-streams';
import { defineModule, defineRoute } from '#core/http/route';
import { expectRefusal, useEdges } from '#test/support/edge';
import { useService } from '#test/support/harness';
import { exchange, openConnection } from '#test/support/raw-connection';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const test = useService();
const openEdge = useEdges(test);
let port: number;

const content = 'The quick brown fox jumps over the lazy dog.';
const waitOptions = { timeout: 30_000 };
const opened = new Set<Readable>();
const opening = Promise.withResolvers<Readable>();
let received: string[] = [];

/** What a source of the test does: all bytes, fewer, a failure half way, or more than any client reads. */
const sources: Record<string, () => Readable> = {
  whole: () => Readable.from([Buffer.from(content)]),
  short: () => Readable.from([Buffer.from(content.slice(0, 10))]),
  broken: () =>
    Readable.from(
      (async function* () {
        yield Buffer.from(content.slice(0, 10));
        await Promise.resolve();
        throw new Error('the disk is gone');
      })(),
      { objectMode: false },
    ),
  silent: () => new Readable({ read: () => undefined }),
  hanging: () => {
    const source = new Readable({ read: () => undefined });
    source.push(content.slice(0, 10));
    return source;
  },
  unopened: () => Readable.from([]),
  endless: () =>
    Readable.from(
      (async function* () {
        for (;;) yield await Promise.resolve(Buffer.alloc(65_536));
      })(),
      { objectMode: false },
    ),
};

const why = 'a planted route of a test';
const planted = defineModule({
  name: 'planted',
  description: 'Streams',
  routes: [
    defineRoute({
      method: 'POST',
      path: '/planted/upload',
      operationId: 'plantedUpload',
      summary: '',
      access: access.public(why),
      schema: { upload: ['*/*'], response: { 204: null } },
      audit: { none: why },
      async handler({ upload }) {
        let text = '';
        for await (const chunk of upload.stream) text += String(chunk);
        received.push(text);
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/planted/refused',
      operationId: 'plantedRefusal',
      summary: '',
      access: access.public(why),
      schema: { upload: ['*/*'], response: { 204: null } },
      audit: { none: why },
      async handler({ upload }) {
        await upload.stream[Symbol.asyncIterator]().next();
        throw new AppError('UNPROCESSABLE_ENTITY', 'No.');
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/planted/list',
      operationId: 'plantedList',
      summary: '',
      access: access.public(why),
      schema: { response: { 200: Type.Object({ data: Type.Array(Type.Integer()) }) } },
      mayStream: true,
      handler: () => new JsonStream(slowList()),
    }),
    ...Object.entries(sources).map(([name, source]) =>
      defineRoute({
        method: 'GET',
        path: `/planted/${name}`,
        operationId: `planted${name}`,
        summary: '',
        access: access.public(why),
        schema: { response: { 200: FileContent } },
        handler: () => ({
          name: 'a.txt',
          contentType: 'text/plain',
          sizeBytes: name === 'endless' ? 1e12 : content.length,
          etag: 'abc',
          open: (range?: { start: number; end: number }) => {
            if (name === 'unopened') return opening.promise;
            const stream =
              range === undefined ? source() : Readable.from([Buffer.from(content.slice(range.start, range.end + 1))]);
            opened.add(stream);
            stream.once('close', () => opened.delete(stream));
            return Promise.resolve(stream);
          },
        }),
      }),
    ),
  ],
});

async function* slowList() {
  yield '{"data":[0';
  for (let item = 1; item <= 4; item++) {
    await sleep(2 * handlerTimeoutMs);
    yield `,${item}`;
  }
  yield ']}';
}

const handlerTimeoutMs = 200;

beforeAll(async () => {
  const limits = {
    handlerTimeoutMs,
    idleMs: 2000,
    uploadPaceMs: 2000,
    requestTimeoutMs: 600,
    headersTimeoutMs: 500,
    timeoutCheckMs: 50,
    uploadLingerMs: 200,
  };
  ({ port } = await openEdge({ planted, limits }));
});

const head = (length: number | string, path = '/planted/upload') =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: ${length}\r\n\r\n`;

describe('an upload', () => {
  it('takes as long as it likes while bytes come', async () => {
    received = [];
    const connection = await openConnection(port);
    connection.send(head(25 * 16_384));
    // In all longer than any request may wait for its next bytes, and four times what an ordinary one may take.
    for (let at = 0; at < 25; at++) {
      connection.send('ab'.repeat(8192));
      await sleep(100);
    }
    expect((await connection.next()).status).toBe(204);
    expect(received).toEqual(['ab'.repeat(25 * 8192)]);
    connection.send('GET /api/v1/system/health HTTP/1.1\r\nhost: x\r\n\r\n');
    expect((await connection.next()).status).toBe(200);
    connection.destroy();
  });

  it('408 when none come any more', async () => {
    const [answer, ...others] = await exchange(port, `${head(20)}ab`);
    expectRefusal(answer!, 'REQUEST_TIMEOUT');
    expect(others).toEqual([]);
  });

  it('408 when they come at a quarter of 16 KiB/s', async () => {
    const connection = await openConnection(port);
    connection.send(head(1_000_000));
    const dripping = setInterval(() => connection.send('a'.repeat(400)), 100);
    const [answer] = await connection.rest().finally(() => clearInterval(dripping));
    expectRefusal(answer!, 'REQUEST_TIMEOUT');
  });

  it('408 when they come by the drop', async () => {
    const connection = await openConnection(port);
    connection.send(head(1000));
    const dripping = setInterval(() => connection.send('a'), 20);
    const [answer, ...others] = await connection.rest().finally(() => clearInterval(dripping));
    expectRefusal(answer!, 'REQUEST_TIMEOUT');
    expect(others).toEqual([]);
  });

  it('that is refused half way gets its answer, though the client sends all before it reads', async () => {
    const edge = await openEdge({ planted, limits: { uploadLingerMs: 30_000 } });
    const body = Buffer.alloc(20_000_000, 'a');
    const socket = connect({ port: edge.port, host: '127.0.0.1' });
    await once(socket, 'connect');
    socket.write(head(body.length, '/planted/refused'));
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.write(body, (error) => (error ? reject(error) : resolve()));
    });
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 422 /);
    socket.destroy();
  });

  it.each([
    ['has stopped for a moment', false],
    ['goes on sending', true],
  ])(
    '503 when the process ends before it: a client that %s reads the answer before the connection closes',
    async (_how, sends) => {
      const ending = new AbortController();
      const edge = await openEdge({ planted, ending: ending.signal });
      const connection = await openConnection(edge.port);
      const begun = once(edge.server.server, 'request');
      connection.send(`${head(100_000_000)}${'a'.repeat(5000)}`);
      await begun;
      ending.abort();
      const sending = setInterval(() => sends && connection.send('a'.repeat(5000)), 5);
      const answer = await connection.next().finally(() => clearInterval(sending));
      expectRefusal(answer, 'SERVICE_UNAVAILABLE');
      connection.destroy();
    },
  );

  it('400 without a length, or in pieces of unknown number', async () => {
    const unknown = head(0).replace('content-length: 0', 'transfer-encoding: chunked');
    const connection = await openConnection(port);
    connection.send(`${unknown}2\r\nab\r\n0\r\n\r\n`);
    const answer = await connection.next();
    expectRefusal(answer, 'BAD_REQUEST');
    expect(JSON.parse(answer.body).details).toEqual({ code: 'LENGTH_REQUIRED' });
    connection.destroy();
  });

  it('of a client that vanishes is never taken for whole', async () => {
    received = [];
    const connection = await openConnection(port);
    connection.send(`${head(20)}half`);
    connection.destroy();
    await exchange(port, `${head(20)}ab`);
    expect(received).toEqual([]);
  });

  it('that is refused ends soon, however much is still announced', async () => {
    const [answer] = await exchange(port, `${head(1_000_000_000, '/api/v1/secure/files?name=x')}ab`);
    expectRefusal(answer!, 'AUTHENTICATION_ERROR');
  });
});

const get = (path: string, headers = '', method = 'GET') =>
  `${method} /planted/${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}\r\n`;
const ask = async (headers: string) => (await exchange(port, get('whole', headers)))[0]!;

describe('a download', () => {
  it.each([
    ['bytes=0-3', 'The ', 'bytes 0-3/44'],
    ['bytes=40-', 'dog.', 'bytes 40-43/44'],
    ['bytes=-4', 'dog.', 'bytes 40-43/44'],
    ['bytes=40-9999', 'dog.', 'bytes 40-43/44'],
    ['bytes=0-0', 'T', 'bytes 0-0/44'],
    ['bytes=-99999', 'The quick brown fox jumps over the lazy dog.', 'bytes 0-43/44'],
    ['bytes=40-99999999999999999999', 'dog.', 'bytes 40-43/44'],
  ])('206: %s', async (range, body, place) => {
    const answer = await ask(`range: ${range}\r\n`);
    expect(answer).toMatchObject({ status: 206, body });
    expect(answer.headers).toMatchObject({ 'content-range': place, 'content-length': String(body.length) });
  });

  it.each([
    ['no range', ''],
    ['several ranges', 'range: bytes=0-1,5-6\r\n'],
    ['nonsense', 'range: bytes=x\r\n'],
    ['nothing but a dash', 'range: bytes=-\r\n'],
    ['a range that ends before it begins', 'range: bytes=5-2\r\n'],
    ['another unit', 'range: lines=0-1\r\n'],
    ['a range of another content', 'range: bytes=0-1\r\nif-range: "other"\r\n'],
    ['a range of an unknown date', 'range: bytes=0-1\r\nif-range: Sat, 21 Nov 2026 00:00:00 GMT\r\n'],
    ['another content known', 'if-none-match: "other", W/"another"\r\n'],
  ])('200: the whole file for %s', async (_what, headers) => {
    expect(await ask(headers)).toMatchObject({ status: 200, body: content });
  });

  it('206 for a range of this content', async () => {
    expect(await ask('range: bytes=0-1\r\nif-range: "abc"\r\n')).toMatchObject({ status: 206, body: 'Th' });
  });

  it.each([['"abc"'], ['W/"abc"'], ['"x", "abc"'], ['*']])('304: %s is known', async (tags) => {
    const answer = await ask(`if-none-match: ${tags}\r\n`);
    expect(answer).toMatchObject({ status: 304, body: '' });
    expect(answer.headers.etag).toBe('"abc"');
  });

  it.each([['bytes=44-'], ['bytes=100-200'], ['bytes=-0'], ['bytes=99999999999999999999-']])(
    '416: %s',
    async (range) => {
      const answer = await ask(`range: ${range}\r\n`);
      expectRefusal(answer, 'RANGE_NOT_SATISFIABLE');
      expect(answer.headers['content-range']).toBe('bytes */44');
    },
  );

  it('HEAD: the headers of the whole file, and nothing is opened', async () => {
    const connection = await openConnection(port);
    connection.send(get('endless', 'range: bytes=0-1\r\n', 'HEAD'));
    const answer = await connection.next({ isHead: true });
    expect(answer).toMatchObject({ status: 200, headers: { 'content-length': '1000000000000', etag: '"abc"' } });
    expect(opened.size).toBe(0);
    connection.destroy();
  });

  it.each([['short'], ['broken']])('of a %s source closes the connection within the answer', async (name) => {
    await expect(exchange(port, get(name).replace('connection: close\r\n', ''))).rejects.toThrow(
      'ended within an answer',
    );
    await vi.waitUntil(() => opened.size === 0, waitOptions);
  });

  it('of a source that hangs closes the connection within the answer', async () => {
    await expect(exchange(port, get('hanging'))).rejects.toThrow('ended within an answer');
    await vi.waitUntil(() => opened.size === 0, waitOptions);
  });

  it('503 if the source sends no byte, or does not open; it is released even if it opens later', async () => {
    for (const name of ['silent', 'unopened']) {
      const [answer] = await exchange(port, get(name));
      expectRefusal(answer!, 'SERVICE_UNAVAILABLE');
    }
    await vi.waitUntil(() => opened.size === 0, waitOptions);
    const late = Readable.from(['late']);
    opening.resolve(late);
    await vi.waitUntil(() => late.destroyed, waitOptions);
  });

  it.each(['silent', 'hanging'])('releases a %s source at once when the client vanishes', async (name) => {
    const edge = await openEdge({ planted, limits: { idleMs: 1_000_000 } });
    const vanishing = await openConnection(edge.port);
    vanishing.send(get(name));
    await vi.waitUntil(() => opened.size === 1, waitOptions);
    vanishing.destroy();
    await vi.waitUntil(() => opened.size === 0, waitOptions);
  });

  it('releases everything when the client vanishes, and when it stops reading', async () => {
    const vanishing = await openConnection(port);
    vanishing.send(get('endless'));
    await vi.waitUntil(() => opened.size === 1, waitOptions);
    vanishing.destroy();
    await vi.waitUntil(() => opened.size === 0, waitOptions);
    const stalled = new Socket().connect(port, '127.0.0.1');
    stalled.pause();
    stalled.on('error', () => undefined);
    stalled.write(get('endless'));
    await vi.waitUntil(() => opened.size === 1, waitOptions);
    await vi.waitUntil(() => opened.size === 0, waitOptions);
    stalled.destroy();
  });
});

it('a list that is sent while it is read goes on when the time for an answer is over', async () => {
  const answer = await fetch(`http://127.0.0.1:${port}/planted/list`);
  expect([answer.status, await answer.json()]).toEqual([200, { data: [0, 1, 2, 3, 4] }]);
});
