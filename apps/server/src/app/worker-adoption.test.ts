import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type RequestListener,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer } from 'node:net';
import { expect, it, vi } from 'vitest';

import { adoptConnections } from '#app/worker-adoption';
import { useOpened } from '#test/support/opened';
import { openConnection } from '#test/support/raw-connection';

const { open, listen } = useOpened();

const request = 'GET / HTTP/1.1\r\nhost: here\r\n\r\n';

/** A server that does not listen, and a port where another server accepts connections for it. */
async function serve(options: ServerOptions, answer: RequestListener) {
  const http = createHttpServer(options, answer);
  const adopt = adoptConnections(http);
  const refused = vi.fn<() => void>();
  const acceptor = createServer((socket) => {
    const begin = adopt(socket);
    if (begin !== undefined) begin();
    else {
      refused();
      socket.destroy();
    }
  });
  const port = await listen(acceptor);
  const connection = async () => {
    const opened = await openConnection(port);
    open.push(() => opened.destroy());
    return opened;
  };
  return { http, connection, refused };
}

const sayAddress: RequestListener = ({ socket }, response) => {
  response.setHeader('content-length', 9).end(socket.remoteAddress);
};

it('serves with the address of the client', async () => {
  const { connection } = await serve({}, sayAddress);
  const client = await connection();
  client.send(request);
  expect(await client.next()).toMatchObject({ status: 200, body: '127.0.0.1' });
});

it('closes after running requests are answered, and adopts nothing meanwhile', async () => {
  const asked = Promise.withResolvers<ServerResponse>();
  const { http, connection, refused } = await serve({}, (_request, response) => asked.resolve(response));
  const closed = vi.fn<() => void>();
  const close = once(http, 'close').then(closed);
  const client = await connection();
  client.send(request);
  const response = await asked.promise;
  http.close();
  expect(await (await connection()).rest()).toEqual([]);
  expect(refused).toHaveBeenCalledOnce();
  expect(closed).not.toHaveBeenCalled();
  response.setHeader('connection', 'close').setHeader('content-length', 2).end('ok');
  expect(await client.rest()).toMatchObject([{ status: 200, body: 'ok' }]);
  await close;
});

it('knows idle connections', async () => {
  const { http, connection } = await serve({}, sayAddress);
  const client = await connection();
  client.send(request);
  expect((await client.next()).status).toBe(200);
  http.closeIdleConnections();
  expect(await client.rest()).toEqual([]);
});

it('ends slow senders of headers, of a body, and of nothing', async () => {
  const limits = { headersTimeout: 20, requestTimeout: 40, connectionsCheckingInterval: 5 };
  const { connection } = await serve(limits, () => undefined);
  for (const beginning of ['', 'GET / HT', 'POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 9\r\n\r\nhalf']) {
    const client = await connection();
    client.send(beginning);
    expect(await client.rest()).toMatchObject([{ status: 408 }]);
  }
});

it('closes connections above the limit', async () => {
  const { http, connection } = await serve({}, sayAddress);
  http.maxConnections = 1;
  const first = await connection();
  first.send(request);
  await first.next();
  const second = await connection();
  expect(await second.rest()).toEqual([]);
  first.send(request);
  expect((await first.next()).status).toBe(200);
});
