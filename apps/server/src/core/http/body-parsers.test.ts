import fastify from 'fastify';
import { expect, it, onTestFinished, vi } from 'vitest';

import { acceptJsonOnly } from '#core/http/body-parsers';

const start = async () => {
  const server = fastify();
  onTestFinished(() => server.close());
  acceptJsonOnly(server);
  server.decorateRequest('facts', undefined).decorateRequest('admission', undefined);
  server.addHook('onRequest', async (request) => {
    request.facts = { id: request.id, ip: '127.0.0.1', userAgent: null, receivedAt: 0 };
  });
  server.post('/', () => ({ ok: true }));
  await server.ready();
  return (length: number) => {
    const payload = JSON.stringify({ name: 'a'.repeat(length) });
    return server.inject({ method: 'POST', url: '/', headers: { 'content-type': 'application/json' }, payload });
  };
};

it('parses large bodies one at a time and small ones meanwhile, and refuses strangers when too many wait', async () => {
  const send = await start();
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const statuses: number[] = [];
  const large = Array.from({ length: 40 }, async () => statuses.push((await send(100_000)).statusCode));
  expect((await send(10)).statusCode).toBe(200);
  await vi.waitUntil(() => statuses.length === 16, { timeout: 10_000 });
  expect(statuses.toSorted((left, right) => left - right)).toEqual([200, ...Array.from({ length: 15 }, () => 503)]);
  while (statuses.length < 40) await vi.advanceTimersToNextTimerAsync();
  expect(statuses.filter((status) => status === 200)).toHaveLength(25);
  await Promise.all(large);
  vi.runAllTimers();
});
