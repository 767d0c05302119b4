import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { customFetch, type DiscoveryRequestOptions } from 'openid-client';
import { describe, expect, it } from 'vitest';

import { expectFailure, listen, outboundToLoopback, serve } from '#core/platform/outbound/testing/outside';

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe('fetch', () => {
  it('sends method, headers and body, and answers what came back', async () => {
    const seen: unknown[] = [];
    const base = await serve((request, response) => {
      void readText(request).then((text) => {
        seen.push([request.method, request.url, request.headers['x-one'], request.headers['content-type'], text]);
        response.writeHead(201, { 'x-two': '2', 'set-cookie': ['a=1', 'b=2'] }).end('{"ok":true}');
      });
    });
    const headers = { 'x-one': '1', 'content-type': 'application/json' };
    const answer = await outboundToLoopback().fetch(`${base}/path?q=1`, { method: 'POST', headers, body: '{"a":1}' });
    expect(seen).toEqual([['POST', '/path?q=1', '1', 'application/json', '{"a":1}']]);
    expect([answer.status, answer.ok, answer.headers.get('x-two')]).toEqual([201, true, '2']);
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(answer).toBeInstanceOf(Response);
    expect(await answer.json()).toEqual({ ok: true });
  });

  it('takes forms and bytes', async () => {
    const base = await serve((request, response) => {
      void readText(request).then((text) => response.end(`${request.headers['content-type']} ${text}`));
    });
    const outbound = outboundToLoopback();
    const form = await outbound.fetch(base, { method: 'POST', body: new URLSearchParams({ a: 'b c' }) });
    expect(await form.text()).toBe('application/x-www-form-urlencoded;charset=UTF-8 a=b+c');
    const bytes = await outbound.fetch(base, { method: 'POST', body: Buffer.from('raw') });
    expect(await bytes.text()).toBe('undefined raw');
  });

  it.each([204, 304, 404, 500])('answers %i as it is', async (status) => {
    const base = await serve((_request, response) => void response.writeHead(status).end());
    const answer = await outboundToLoopback().fetch(base);
    expect([answer.status, await answer.text()]).toEqual([status, '']);
  });

  it('fits where a library takes a fetch of its own', () => {
    const options: DiscoveryRequestOptions = { [customFetch]: outboundToLoopback().fetch };
    expect(options[customFetch]).toBeTypeOf('function');
  });

  it('does not repeat a header that cannot be sent', async () => {
    const headers = { authorization: 'Bearer secret\ncanary' };
    const { cause } = await expectFailure(outboundToLoopback().fetch('http://127.0.0.1:9999', { headers }));
    expect((cause as Error).stack).not.toMatch(/secret|canary/);
  });

  it('uses one connection for each call and names itself neutrally', async () => {
    const ports = new Set<number | undefined>();
    const base = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      response.end(request.headers['user-agent']);
    });
    const outbound = outboundToLoopback();
    for (let at = 0; at < 3; at += 1) expect(await (await outbound.fetch(base)).text()).toBe('Atrium');
    expect(ports.size).toBe(3);
  });

  it('takes no proxy out of the environment', async () => {
    let proxied = 0;
    const proxy = await serve((_request, response) => {
      proxied += 1;
      response.end();
    });
    const base = await serve((_request, response) => void response.end('direct'));
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
    for (const name of names) setVariable(name, name === 'NODE_USE_ENV_PROXY' ? '1' : proxy);
    try {
      expect(await (await outboundToLoopback().fetch(base)).text()).toBe('direct');
    } finally {
      for (const name of names) setVariable(name, undefined);
    }
    expect(proxied).toBe(0);
  });
});

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])('%i is the answer and is not followed', async (status) => {
    let followed = 0;
    const canary = await serve((_request, response) => {
      followed += 1;
      response.end();
    });
    const base = await serve((_request, response) => void response.writeHead(status, { location: canary }).end());
    const answer = await outboundToLoopback().fetch(base, { method: 'POST', body: 'x' });
    expect([answer.status, answer.headers.get('location')]).toEqual([status, canary]);
    expect(followed).toBe(0);
  });
});

describe('limits', () => {
  const limit = 10_000;
  const small = { limits: { maxBodyBytes: limit, longestBodyBytes: limit } };
  const hurried = { limits: { totalMs: 150 } };
  /** No other limit ends a call before the test ends. */
  const endless = { connectMs: 600_000, headersMs: 600_000, totalMs: 600_000, longestMs: 600_000 };

  it('reads a body of exactly the limit and cuts one of a byte more', async () => {
    const base = await serve((request, response) => void response.end('x'.repeat(Number(request.url!.slice(1)))));
    const outbound = outboundToLoopback(small);
    expect((await (await outbound.fetch(`${base}/${limit}`)).text()).length).toBe(limit);
    expect((await expectFailure(outbound.fetch(`${base}/${limit + 1}`))).message).toBe(neutral);
  });

  it('cuts 10 MB with the limits of every day', async () => {
    let sent = 0;
    const base = await serve((_request, response) => {
      const more = () => {
        while (sent < 10_000_000 && response.writable) {
          sent += 65_536;
          if (!response.write(Buffer.alloc(65_536))) return;
        }
        response.end();
      };
      response.on('drain', more).on('error', () => undefined);
      more();
    });
    await expectFailure(outboundToLoopback().fetch(base));
    expect(sent).toBeLessThan(10_000_000);
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('counts %s after decompression', async (encoding, compress) => {
    const base = await serve((request, response) => {
      const body = compress(Buffer.alloc(Number(request.url!.slice(1)), 'x'));
      expect(body.byteLength).toBeLessThan(limit);
      response.writeHead(200, { 'content-encoding': encoding }).end(body);
    });
    const outbound = outboundToLoopback(small);
    expect((await (await outbound.fetch(`${base}/${limit}`)).text()).length).toBe(limit);
    await expectFailure(outbound.fetch(`${base}/${limit + 1}`));
    await expectFailure(outbound.fetch(`${base}/${limit * 100}`));
  });

  it('refuses a damaged compression', async () => {
    const base = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('this is not gzip');
    });
    await expectFailure(outboundToLoopback(small).fetch(base));
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['headers that do not come', () => undefined],
    ['a body that never ends', (response) => trickle(response)],
    ['a body that stops half way', (response) => void response.writeHead(200, { 'content-length': '100' }).write('x')],
  ])('cuts %s', async (_name, answer) => {
    let closed: Promise<unknown> | undefined;
    const base = await serve((request, response) => {
      closed = new Promise((resolve) => request.socket.once('close', resolve));
      answer(response);
    });
    await expectFailure(outboundToLoopback(hurried).fetch(base));
    await closed;
  });

  it('waits for headers no longer than it should', async () => {
    const base = await serve(() => undefined);
    await expectFailure(outboundToLoopback({ limits: { ...endless, headersMs: 50 } }).fetch(base));
  });

  it('waits for a connection no longer than it should', async () => {
    const outbound = outboundToLoopback({ limits: { ...endless, connectMs: 50 }, lookup: () => undefined });
    await expectFailure(outbound.fetch('http://name.test/'));
  });

  it('ends with the signal of the caller', async () => {
    const base = await serve(() => undefined);
    const cancel = new AbortController();
    const call = outboundToLoopback().fetch(base, { signal: cancel.signal });
    cancel.abort(new Error('enough'));
    expect((await expectFailure(call)).message).toBe(neutral);
    await expectFailure(outboundToLoopback().fetch(base, { signal: cancel.signal }));
  });

  it('holds no more sockets at once than allowed, and serves those who wait', async () => {
    let now = 0;
    let maxConcurrent = 0;
    const held: ServerResponse[] = [];
    const answer: RequestListener = (request, response) => {
      maxConcurrent = Math.max(maxConcurrent, (now += 1));
      request.socket.once('close', () => (now -= 1));
      // The first wait until there are as many as may be.
      if (maxConcurrent === 5) response.end();
      else held.push(response);
      if (maxConcurrent === 5) for (const one of held.splice(0)) one.end();
    };
    const bases = [await serve(answer), await serve(answer)];
    const outbound = outboundToLoopback({ limits: { maxSockets: 5 } });
    const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => outbound.fetch(bases[at % 2]!)));
    expect(answers.every(({ ok }) => ok)).toBe(true);
    expect(maxConcurrent).toBe(5);
  });

  it('gives up waiting for a socket, and the sockets come back', async () => {
    const base = await serve((request, response) => void (request.url === '/now' && response.end()));
    const outbound = outboundToLoopback({ limits: { maxSockets: 2 } });
    const cancel = new AbortController();
    const calls = Array.from({ length: 6 }, () => expectFailure(outbound.fetch(base, { signal: cancel.signal })));
    cancel.abort();
    await Promise.all(calls);
    expect((await outbound.fetch(`${base}/now`)).status).toBe(200);
  });

  it('waits for a socket no longer than for an answer', async () => {
    const base = await serve(() => undefined);
    const outbound = outboundToLoopback({ limits: { maxSockets: 1, totalMs: 100 } });
    await Promise.all([expectFailure(outbound.fetch(base)), expectFailure(outbound.fetch(base))]);
  });

  it('refuses calls once closed', async () => {
    const base = await serve((_request, response) => void response.end());
    const outbound = outboundToLoopback();
    await outbound.close();
    await expectFailure(outbound.fetch(base));
  });
});

describe('what a failure tells', () => {
  it('is the same for a closed port, an unknown name, a closed address and a strange answer', async () => {
    const server = createServer();
    const closedPort = `http://127.0.0.1:${await listen(server)}`;
    await new Promise((resolve) => server.close(resolve));
    const garbage = await serve((request) => void request.socket.end('SSH-2.0-OpenSSH_9.6\r\n'));
    const outbound = outboundToLoopback();
    const urls = [closedPort, garbage, 'http://name.invalid/', 'http://10.0.0.1/', 'http://[::1]:9999/', 'nonsense'];
    const failures = await Promise.all(urls.map((url) => expectFailure(outbound.fetch(url))));
    for (const failure of failures) {
      const { name, code, status, message, details, cause } = failure;
      expect([name, code, status, message, details]).toEqual(['OutboundError', 'UPSTREAM_ERROR', 502, neutral, null]);
      expect(cause).toBeDefined();
    }
  });
});

const neutral = 'The outside service gave no usable answer.';

function trickle(response: ServerResponse): void {
  const timer = setInterval(() => response.write('x'), 10);
  response.on('close', () => clearInterval(timer));
}

function setVariable(name: string, value: string | undefined): void {
  const environment = Reflect.get(process, 'env') as Record<string, string | undefined>;
  if (value === undefined) delete environment[name];
  else environment[name] = value;
}
