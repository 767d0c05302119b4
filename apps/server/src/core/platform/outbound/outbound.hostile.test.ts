import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

import { makeCertificate, type Certificate } from '#core/platform/outbound/testing/certificates';
import {
  countBytesRead,
  expectFailure,
  listen,
  outboundToLoopback,
  resolver,
  serve,
  serveBytes,
} from '#core/platform/outbound/testing/outside';

const head = 'HTTP/1.1 200 OK\r\n';
const mebibyte = 1_048_576;
const neutral = 'The outside service gave no usable answer.';

/** Sends the same piece for as long as the client takes it. */
function pour(piece: string, first: string): (socket: Socket) => void {
  const bytes = Buffer.from(piece);
  return (socket) => {
    const more = () => {
      while (socket.writable && socket.write(bytes));
    };
    if (first !== '') socket.write(first);
    socket.on('drain', more);
    more();
  };
}

/** The limit of a body and what may come with it: headers, framing, and what was read together with the last bytes. */
const maxReadBytes = 1.5 * mebibyte;
/** Extensions are dropped as they come, and the parser gives up at 16 MiB of them. */
const maxExtensions = 17 * mebibyte;

describe('answers without end', () => {
  it.each<[string, string, string, number?]>([
    ['a body of 10 GB', `${head}Content-Length: 10737418240\r\n\r\n`, 'x'.repeat(65_536)],
    ['a body without a length', `${head}\r\n`, 'x'.repeat(65_536)],
    ['a body in pieces', `${head}Transfer-Encoding: chunked\r\n\r\n`, `8000\r\n${'x'.repeat(0x8000)}\r\n`],
    ['headers', head, `X-Header: ${'x'.repeat(1000)}\r\n`],
    ['one header', `${head}X-Header: `, 'x'.repeat(65_536)],
    ['names of headers', head, 'x'.repeat(65_536)],
    ['bytes that are not HTTP', '', 'x'.repeat(65_536)],
    ['extensions of a piece', `${head}Transfer-Encoding: chunked\r\n\r\n1;`, 'x'.repeat(65_536), maxExtensions],
    ['trailers', `${head}Transfer-Encoding: chunked\r\n\r\n0\r\n`, `X-Trailer: ${'x'.repeat(1000)}\r\n`],
  ])('%s: cut within the limits, and no more is read', async (_what, first, piece, limit = maxReadBytes) => {
    const bytesRead = countBytesRead();
    const failure = await expectFailure(outboundToLoopback().fetch(await serveBytes(pour(piece, first))));
    expect(failure.message).toBe(neutral);
    expect(bytesRead()).toBeGreaterThan(0);
    expect(bytesRead()).toBeLessThan(limit);
  });

  it.each([
    ['informational answers', '', 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'],
    ['empty lines', '', '\r\n'],
    ['one byte at a time', `${head}Content-Length: 100000\r\n\r\n`, 'x'],
    ['one byte of a header at a time', head, 'x'],
  ])('%s: cut when the time is over', async (_what, first, piece) => {
    let closed: Promise<unknown> | undefined;
    const origin = await serveBytes((socket) => {
      socket.write(first);
      const timer = setInterval(() => socket.write(piece), 5);
      closed = new Promise((resolve) => socket.once('close', () => resolve(clearInterval(timer))));
    });
    await expectFailure(outboundToLoopback({ limits: { totalMs: 150 } }).fetch(origin));
    await closed;
  });

  it.each([
    ['gzip', 1],
    ['gzip, gzip', 2],
  ])('a small %s that would be 200 MB: never unpacked beyond the limit', async (encoding, times) => {
    let bomb = gzipSync(Buffer.alloc(200 * mebibyte));
    for (let at = 1; at < times; at += 1) bomb = gzipSync(bomb);
    expect(bomb.byteLength).toBeLessThan(mebibyte);
    const origin = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(bomb);
    });
    const answer = outboundToLoopback().fetch(origin);
    // zlib gives up by itself, before it has more than it may give back; of two compressions none is undone.
    if (times === 1) expect((await expectFailure(answer)).cause).toMatchObject({ code: 'ERR_BUFFER_TOO_LARGE' });
    else expect((await (await answer).arrayBuffer()).byteLength).toBe(bomb.byteLength);
  });
});

describe('invalid answers', () => {
  it.each([
    ['a text', 'hello\r\n\r\n'],
    ['nothing at all', ''],
    ['a half line', 'HTTP/1.'],
    ['an unknown version', 'HTTP/9.9 200 OK\r\n\r\n'],
    ['a status that is not a number', 'HTTP/1.1 abc OK\r\n\r\n'],
    ['a status out of range', 'HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n'],
    ['a change of protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'],
    ['a body that is shorter than said', `${head}Content-Length: 10\r\n\r\nshort`],
    ['a length that is not a number', `${head}Content-Length: ten\r\n\r\nbody`],
    ['a negative length', `${head}Content-Length: -1\r\n\r\nbody`],
    ['two lengths', `${head}Content-Length: 1\r\nContent-Length: 4\r\n\r\nbody`],
    ['a length and pieces', `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`],
    ['a piece of no size', `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\nbody\r\n`],
    ['a last piece that is missing', `${head}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n`],
    ['a header with a control character', `${head}X-A: a\u0001b\r\nContent-Length: 0\r\n\r\n`],
    ['a name with a space', `${head}X A: b\r\nContent-Length: 0\r\n\r\n`],
    ['a half compression', `${head}Content-Encoding: gzip\r\nContent-Length: 10\r\n\r\n${'x'.repeat(10)}`],
  ])('%s', async (_what, bytes) => {
    const origin = await serveBytes((socket) => socket.end(bytes));
    expect((await expectFailure(outboundToLoopback().fetch(origin, { isIdempotent: true }))).message).toBe(neutral);
  });

  it.each(['before', 'within'])('a connection that is reset %s the answer', async (when) => {
    const origin = await serveBytes((socket) => {
      if (when === 'within') socket.write(`${head}Content-Length: 10\r\n\r\nx`, () => socket.resetAndDestroy());
      else socket.resetAndDestroy();
    });
    await expectFailure(outboundToLoopback().fetch(origin));
  });

  it('bytes after the end of an answer are ignored', async () => {
    let connections = 0;
    const answer = (body: string) => `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('data', () => socket.write(answer('mine') + answer('smuggled')));
    });
    const origin = `http://127.0.0.1:${await listen(server)}`;
    const outbound = outboundToLoopback();
    for (let at = 0; at < 5; at += 1) {
      const body = await outbound.fetch(origin, { isIdempotent: true }).then(
        (one) => one.text(),
        () => 'none',
      );
      expect(['mine', 'none']).toContain(body);
    }
    expect(connections).toBeGreaterThan(1);
  });
});

describe('slow names', () => {
  it('cost no more than the time to connect', async () => {
    const never = outboundToLoopback({ limits: { connectMs: 50 }, lookup: () => undefined });
    await expectFailure(never.fetch('http://slow.test/', { isIdempotent: true }));
  });

  it('that answer after the call has ended leave no connection open', async () => {
    const asked: (() => void)[] = [];
    const open = new Set<Socket>();
    const server = createServer((socket) => {
      open.add(socket.on('close', () => open.delete(socket)));
    });
    const port = await listen(server);
    const outbound = outboundToLoopback({
      lookup: (_name, _options, callback) => {
        asked.push(() => callback(null, [{ address: '127.0.0.1', family: 4 }]));
      },
    });
    const cancel = new AbortController();
    const call = outbound.fetch(`http://slow.test:${port}/`, { signal: cancel.signal });
    await expect.poll(() => asked.length).toBe(1);
    cancel.abort();
    await expectFailure(call);
    asked[0]!();
    await outbound.close();
    await expect.poll(() => open.size).toBe(0);
  });
});

describe('certificates', () => {
  const good = makeCertificate({ hosts: ['service.test'] });
  const expired = makeCertificate({
    hosts: ['expired.test'],
    notBefore: new Date(Date.now() - 7_200_000),
    notAfter: new Date(Date.now() - 3_600_000),
  });
  const early = makeCertificate({ hosts: ['early.test'], notBefore: new Date(Date.now() + 1_800_000) });
  setDefaultCACertificates([...getCACertificates('default'), good.cert, expired.cert, early.cert]);

  async function call(certificate: Certificate, host: string) {
    let requests = 0;
    const server = createHttpsServer(certificate, (_request, response) => {
      requests += 1;
      response.end('ok');
    });
    server.on('tlsClientError', () => undefined);
    const url = `https://${host}:${await listen(server)}/`;
    const outbound = outboundToLoopback({ lookup: resolver([['127.0.0.1']]).lookup });
    return { answer: outbound.fetch(url, { headers: { authorization: 'Bearer secret' } }), requests: () => requests };
  }

  it('that is right is taken', async () => {
    const { answer } = await call(good, 'service.test');
    expect(await (await answer).text()).toBe('ok');
  });

  it.each([
    ['has expired', expired, 'expired.test'],
    ['is not valid yet', early, 'early.test'],
    ['is of another name', good, 'other.test'],
    ['has an unknown issuer', makeCertificate({ hosts: ['self.test'] }), 'self.test'],
  ])('that %s: nothing is sent there', async (_what, certificate, host) => {
    const { answer, requests } = await call(certificate, host);
    expect((await expectFailure(answer)).message).toBe(neutral);
    expect(requests()).toBe(0);
  });
});

describe('redirects', () => {
  it.each([
    'http://127.0.0.1:PORT/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://[64:ff9b::7f00:1]:PORT/',
    'http://[2002:7f00:1::]:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f.1:PORT/',
    'http://0177.0.0.1:PORT/',
    'http://①②⑦.⓪.⓪.①:PORT/',
    'file:///etc/passwd',
    '//localhost:PORT/',
  ])('to %s are answers, and are not followed', async (form) => {
    const connections: Socket[] = [];
    const canary = await listen(
      createServer((socket) => void connections.push(socket)),
      '0.0.0.0',
    );
    const location = encodeURI(form.replace('PORT', String(canary)));
    const origin = await serve((_request, response) => void response.writeHead(302, { location }).end());
    const answer = await outboundToLoopback().fetch(origin, { isIdempotent: true });
    expect([answer.status, answer.headers.get('location')]).toEqual([302, location]);
    expect(connections).toEqual([]);
  });
});
