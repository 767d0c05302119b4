import fastify from 'fastify';
import { expect, it, onTestFinished, vi } from 'vitest';

import { acceptJsonOnly } from '#core/http/body-parsers';

it('parses one large body in each turn of the event loop, and small ones meanwhile', async () => {
  const server = fastify();
  onTestFinished(() => server.close());
  acceptJsonOnly(server);
  server.decorateRequest('facts', undefined).decorateRequest('admission', undefined);
  server.addHook('onRequest', async (request) => {
    request.facts = { id: request.id, ip: '127.0.0.1', userAgent: null, receivedAt: 0 };
  });
  server.post('/', () => ({ ok: true }));
  await server.ready();
  let turn = 0;
  const next = () => {
    turn += 1;
    immediate = setImmediate(next);
  };
  let immediate = setImmediate(next);
  onTestFinished(() => {
    clearImmediate(immediate);
  });
  const parse = JSON.parse;
  const turns: { size: number; turn: number }[] = [];
  const spy = vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    turns.push({ size: text.length, turn });
    return parse(text, reviver);
  });
  onTestFinished(() => spy.mockRestore());
  const send = (length: number) => {
    const payload = JSON.stringify({ name: 'a'.repeat(length) });
    return server.inject({ method: 'POST', url: '/', headers: { 'content-type': 'application/json' }, payload });
  };
  const answers = await Promise.all([...Array.from({ length: 10 }, () => send(100_000)), send(10)]);
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  const large = turns.filter(({ size }) => size > 100_000).map((one) => one.turn);
  expect(large).toHaveLength(10);
  expect(new Set(large).size).toBe(10);
  expect(turns.find(({ size }) => size < 100)!.turn).toBeLessThanOrEqual(large[1]!);
});
