import Fastify from 'fastify';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';

import { AppError } from '#core/base/errors/app-error';
import { watchAbandonment } from '#core/http/abandonment';

/** A server whose only handler runs until its request is abandoned. */
async function serve() {
  const server = Fastify();
  const abandonment = watchAbandonment(server);
  const begun = Promise.withResolvers<AbortSignal>();
  server.post('/', async (_request, reply) => {
    const signal = abandonment(reply);
    begun.resolve(signal);
    if (!signal.aborted) await once(signal, 'abort');
    return reply.status((signal.reason as AppError).status).send('over');
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = server.server.address() as AddressInfo;
  const request = http.request({ port, host: '127.0.0.1', method: 'POST', agent: false });
  request.setHeader('content-type', 'application/json');
  request.end('{}');
  return { server, request, signal: await begun.promise };
}

it('aborts the signal when the client disconnects', async () => {
  const { server, request, signal } = await serve();
  request.on('error', () => undefined);
  // Reading the request body to the end must not count as a disconnect.
  expect(signal.aborted).toBe(false);
  request.destroy();
  if (!signal.aborted) await once(signal, 'abort');
  expect(signal.reason).toBeInstanceOf(AppError);
  await server.close();
});

it('aborts the signal when the server stops', async () => {
  const { server, request, signal } = await serve();
  const answered = once(request, 'response') as Promise<[http.IncomingMessage]>;
  const closed = server.close();
  const [answer] = await answered;
  answer.resume();
  expect([answer.statusCode, signal.aborted]).toEqual([503, true]);
  await closed;
});
