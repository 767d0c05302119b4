import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import {
  expectFailure,
  listen,
  outboundToLoopback,
  resolver,
  serve,
  serveBytes,
} from '#core/platform/outbound/testing/outside';

const repeatable = { isIdempotent: true };

/** A service that goes through these answers, the last one for ever, and counts. */
async function serveEach(...answers: ((response: ServerResponse) => void)[]) {
  const requests: (number | undefined)[] = [];
  const origin = await serve((request, response) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)]!;
    requests.push(request.socket.remotePort);
    answer(response);
  });
  return { origin, requests };
}

const ok = (response: ServerResponse) => void response.end('ok');
const cut = (response: ServerResponse) => void response.socket!.destroy();
const of =
  (status: number, headers = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end();

describe('a call that may be repeated', () => {
  it.each([502, 503, 504])('is repeated once after %i', async (status) => {
    const { origin, requests } = await serveEach(of(status), ok);
    expect((await outboundToLoopback().fetch(origin, repeatable)).status).toBe(200);
    expect(requests).toHaveLength(2);
  });

  it('is repeated once when the connection ends without an answer, on another connection', async () => {
    const { origin, requests } = await serveEach(cut, ok);
    expect((await outboundToLoopback().fetch(origin, repeatable)).status).toBe(200);
    expect(new Set(requests).size).toBe(2);
  });

  it('is repeated with the same body', async () => {
    const bodies: string[] = [];
    const origin = await serve((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => bodies.push(text));
      request.on('end', () => response.writeHead(bodies.length === 1 ? 503 : 200).end());
    });
    await outboundToLoopback().fetch(origin, { ...repeatable, method: 'POST', body: '{"a":1}' });
    expect(bodies).toEqual(['{"a":1}', '{"a":1}']);
  });

  it('is not made a third time', async () => {
    const failing = await serveEach(of(503));
    expect((await outboundToLoopback().fetch(failing.origin, repeatable)).status).toBe(503);
    const cutting = await serveEach(cut);
    await expectFailure(outboundToLoopback().fetch(cutting.origin, repeatable));
    expect([failing.requests.length, cutting.requests.length]).toEqual([2, 2]);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['503 that says when', of(503, { 'retry-after': '1' })],
    ['429', of(429)],
    ['500', of(500)],
    ['404', of(404)],
    ['a redirect', of(302, { location: 'http://127.0.0.1:9/' })],
  ])('is not repeated after %s', async (_what, answer) => {
    const { origin, requests } = await serveEach(answer);
    await outboundToLoopback().fetch(origin, repeatable);
    expect(requests).toHaveLength(1);
  });

  it.each([
    ['within the headers', 'HTTP/1.1 200 OK\r\nContent-'],
    ['within the body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx'],
    ['that is not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ])('is not repeated when an answer has begun: one cut %s', async (_what, bytes) => {
    let requests = 0;
    const origin = await serveBytes((socket) => {
      requests += 1;
      socket.end(bytes);
    });
    await expectFailure(outboundToLoopback().fetch(origin, repeatable));
    expect(requests).toBe(1);
  });

  it('is not repeated at an address that is closed', async () => {
    const { lookup, asked } = resolver([['10.0.0.1']]);
    await expectFailure(outboundToLoopback({ lookup }).fetch('http://name.test/', repeatable));
    expect(asked).toHaveLength(1);
  });

  it('is not repeated after its deadline or when its caller has aborted', async () => {
    const { origin, requests } = await serveEach(() => undefined);
    const outbound = outboundToLoopback();
    await expectFailure(outbound.fetch(origin, { ...repeatable, timeoutMs: 500 }));
    await expectFailure(outbound.fetch(origin, { ...repeatable, signal: AbortSignal.timeout(500) }));
    expect(requests).toHaveLength(2);
  });

  it('is repeated once in ten calls and not more often', async () => {
    const { origin, requests } = await serveEach(of(503));
    const outbound = outboundToLoopback();
    for (let at = 0; at < 50; at += 1) await outbound.fetch(origin, repeatable);
    // The one that each begins with, and five.
    expect(requests).toHaveLength(50 + 6);
  });
});

describe('a call that the other side recognises', () => {
  const recognised = { hasIdempotencyKey: true, method: 'POST', body: 'x' };

  it('uses a kept connection', async () => {
    const { origin, requests } = await serveEach(ok);
    const outbound = outboundToLoopback();
    for (let at = 0; at < 10; at += 1) await (await outbound.fetch(origin, recognised)).text();
    expect(requests).toHaveLength(10);
    expect(new Set(requests).size).toBeLessThanOrEqual(2);
  });

  it('is made once more where a kept connection is cut, on one of its own', async () => {
    const { origin, requests } = await serveEach(ok, cut, ok);
    const outbound = outboundToLoopback();
    for (let at = 0; at < 2; at += 1) expect((await outbound.fetch(origin, recognised)).status).toBe(200);
    expect(requests).toHaveLength(3);
    expect(requests[2]).not.toBe(requests[1]);
  });

  it('is made no third time, and not beyond one in ten', async () => {
    const { origin, requests } = await serveEach(cut);
    const outbound = outboundToLoopback();
    for (let at = 0; at < 50; at += 1) await expectFailure(outbound.fetch(origin, recognised));
    expect(requests).toHaveLength(50 + 6);
  });

  it.each([502, 503, 504])('has its answer in %i', async (status) => {
    const { origin, requests } = await serveEach(of(status), ok);
    expect((await outboundToLoopback().fetch(origin, recognised)).status).toBe(status);
    expect(requests).toHaveLength(1);
  });

  it('is not made once more when an answer has begun, or its time is over', async () => {
    let requests = 0;
    const begun = await serveBytes((socket) => {
      requests += 1;
      socket.end('HTTP/1.1 200 OK\r\nContent-');
    });
    await expectFailure(outboundToLoopback().fetch(begun, recognised));
    expect(requests).toBe(1);
    const silent = await serveEach(() => undefined);
    await expectFailure(outboundToLoopback().fetch(silent.origin, { ...recognised, timeoutMs: 500 }));
    expect(silent.requests).toHaveLength(1);
  });
});

describe('a call that may not be repeated', () => {
  it.each<[string, (response: ServerResponse) => void]>([
    ['503', of(503)],
    ['a cut', cut],
  ])('is made once: %s', async (_what, answer) => {
    const { origin, requests } = await serveEach(answer, ok);
    await outboundToLoopback()
      .fetch(origin, { method: 'POST', body: 'x' })
      .catch(() => undefined);
    expect(requests).toHaveLength(1);
  });

  it('has a connection of its own, so that none is found closed', async () => {
    const { origin, requests } = await serveEach(ok);
    const outbound = outboundToLoopback();
    for (let at = 0; at < 3; at += 1) await outbound.fetch(origin, at === 0 ? repeatable : {});
    expect(new Set(requests).size).toBe(3);
  });
});

describe('kept connections', () => {
  it('carry one call after the other', async () => {
    const { origin, requests } = await serveEach(ok);
    const outbound = outboundToLoopback();
    for (let at = 0; at < 10; at += 1) await (await outbound.fetch(origin, repeatable)).text();
    expect(requests).toHaveLength(10);
    // The first may not be free again by the time of the second call.
    expect(new Set(requests).size).toBeLessThanOrEqual(2);
  });

  it('are gone after the time that they are kept', async () => {
    let closed: Promise<unknown> | undefined;
    const origin = await serve((request, response) => {
      closed ??= new Promise((resolve) => request.socket.once('close', resolve));
      response.end();
    });
    expect((await outboundToLoopback({ limits: { keepAliveMs: 1 } }).fetch(origin, repeatable)).status).toBe(200);
    await closed;
  });

  it('that the other side has closed meanwhile cost no call', async () => {
    const server = createHttpServer((_request, response) => void response.end('ok'));
    const origin = `http://127.0.0.1:${await listen(server)}`;
    const outbound = outboundToLoopback();
    expect((await outbound.fetch(origin, repeatable)).status).toBe(200);
    server.closeAllConnections();
    expect((await outbound.fetch(origin, repeatable)).status).toBe(200);
  });

  it('are limited, and a call without a permit does not wait', async () => {
    const open: ServerResponse[] = [];
    const waiting = Promise.withResolvers<undefined>();
    const origin = await serve((_request, response) => {
      open.push(response);
      if (open.length === 12) waiting.resolve(undefined);
    });
    const outbound = outboundToLoopback();
    const calls = Array.from({ length: 12 }, () => outbound.fetch(origin, repeatable));
    await waiting.promise;
    for (const response of open) response.end();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(12).fill(200));
  });

  it('lead where they led: a name that moves to a closed address takes no call there', async () => {
    const places: (string | undefined)[] = [];
    const server = createHttpServer((request, response) => {
      places.push(request.socket.localAddress);
      response.end();
    });
    const port = await listen(server, '0.0.0.0');
    let address = '127.0.0.1';
    const outbound = outboundToLoopback({
      lookup: (_name, _options, callback) => process.nextTick(() => callback(null, [{ address, family: 4 }])),
    });
    const url = `http://rebind.test:${port}/`;
    for (let at = 0; at < 3; at += 1) await outbound.fetch(url, repeatable);
    await turn();
    address = '127.0.0.2';
    await outbound.fetch(url, repeatable);
    // The same name for a call with a connection of its own is asked for, and judged, again.
    await expectFailure(outbound.fetch(url));
    server.closeAllConnections();
    await turn();
    await expectFailure(outbound.fetch(url, repeatable));
    expect(places).toEqual(Array(4).fill('127.0.0.1'));
  });

  it('are of one origin: the same name at another port, or over TLS, has others', async () => {
    const [first, second] = [await serveEach(ok), await serveEach(ok)];
    const outbound = outboundToLoopback();
    await outbound.fetch(first.origin, repeatable);
    await outbound.fetch(second.origin, repeatable);
    await expectFailure(outbound.fetch(first.origin.replace('http:', 'https:'), repeatable));
    expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
  });

  it('to many origins are let go in turn', async () => {
    const outbound = outboundToLoopback();
    const all = [];
    for (let at = 0; at < 20; at += 1) all.push(await serveEach(ok));
    for (let round = 0; round < 2; round += 1) {
      for (const { origin } of all) expect((await outbound.fetch(origin, repeatable)).status).toBe(200);
    }
    expect(all.every(({ requests }) => requests.length === 2)).toBe(true);
    expect(all.every(({ requests }) => new Set(requests).size === 2)).toBe(true);
  });
});

describe('permits', () => {
  it('are not all for one origin: another is served while it hangs', async () => {
    let hanging = 0;
    const full = Promise.withResolvers<undefined>();
    const hang = await serve(() => {
      hanging += 1;
      if (hanging === 2) full.resolve(undefined);
    });
    const other = await serveEach(ok);
    const outbound = outboundToLoopback({ limits: { maxSockets: 4 } });
    const cancel = new AbortController();
    const calls = Array.from({ length: 10 }, () => expectFailure(outbound.fetch(hang, { signal: cancel.signal })));
    await full.promise;
    expect((await outbound.fetch(other.origin)).status).toBe(200);
    cancel.abort();
    await Promise.all(calls);
    expect(hanging).toBe(2);
  });
});

describe('limits of a caller', () => {
  it('may be less and are never more', async () => {
    const origin = await serve((_request, response) => void response.end('x'.repeat(2000)));
    const outbound = outboundToLoopback({ limits: { maxBodyBytes: 1000, longestBodyBytes: 1000 } });
    await expectFailure(outbound.fetch(origin, { maxBytes: 1_000_000 }));
    const roomy = outboundToLoopback();
    expect((await roomy.fetch(origin, { maxBytes: 2000 })).status).toBe(200);
    await expectFailure(roomy.fetch(origin, { maxBytes: 1999 }));
    const silent = await serve(() => undefined);
    await expectFailure(roomy.fetch(silent, { timeoutMs: 20 }));
    await expectFailure(outboundToLoopback({ limits: { longestMs: 20 } }).fetch(silent, { timeoutMs: 1_000_000 }));
  });

  it('may be more than is given unasked, to the headers too', async () => {
    const hurried = { limits: { headersMs: 50, totalMs: 50 } };
    const slow = await serve((_request, response) => {
      // Not before the others have given up: their time is over by then.
      void expectFailure(outboundToLoopback(hurried).fetch(silent)).then(() => response.end('late'));
    });
    const silent = await serve(() => undefined);
    const answer = await outboundToLoopback(hurried).fetch(slow, { timeoutMs: 60_000 });
    expect(await answer.text()).toBe('late');
    await expectFailure(outboundToLoopback(hurried).fetch(silent));
  });
});
