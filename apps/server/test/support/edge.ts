import type { FastifyInstance } from 'fastify';
import { afterAll, expect } from 'vitest';

import { modules } from '#app/modules';
import { errorStatus, type ErrorCode } from '#core/base/errors/app-error';
import type { Module } from '#core/http/route';
import { createHttpServer, type HttpOptions } from '#core/http/server';
import type { TestService } from '#test/support/harness';
import type { RawAnswer } from '#test/support/raw-connection';

type EdgeOptions = Partial<
  Pick<HttpOptions, 'limits' | 'load' | 'trustedProxies' | 'corsOrigins' | 'authenticate' | 'ending'>
> & {
  planted?: Module;
};

/** Another HTTP edge in front of the same service, on a real port, with limits that a test can wait for. */
async function openEdge(
  test: TestService,
  options: EdgeOptions = {},
): Promise<{ port: number; server: FastifyInstance }> {
  const { services } = test.service;
  const { planted, ...rest } = options;
  const server = await createHttpServer({
    modules: planted === undefined ? modules : [...modules, planted],
    services,
    authenticate: test.service.authenticate,
    trustedProxies: [],
    corsOrigins: [],
    bodyLimitBytes: 1_048_576,
    ...rest,
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  const address = server.server.address();
  return { port: typeof address === 'object' ? address!.port : 0, server };
}

/** The same for all tests of a file, closed after them. */
export function useEdges(test: TestService) {
  const servers: FastifyInstance[] = [];
  afterAll(() => Promise.all(servers.map((server) => server.close())));
  return async (options: EdgeOptions = {}) => {
    const edge = await openEdge(test, options);
    servers.push(edge.server);
    return edge;
  };
}

/** Headers of every answer. */
export function expectSafeHeaders({ headers }: Pick<RawAnswer, 'headers'>): void {
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(Object.keys(headers)).not.toContain('server');
  expect(Object.keys(headers)).not.toContain('x-powered-by');
}

/** The closed standard body with the headers around it. */
export function expectRefusal(answer: RawAnswer, code: ErrorCode): void {
  const status = errorStatus[code];
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status });
  expectSafeHeaders(answer);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  expect(body).toEqual({
    error: code,
    message: expect.any(String),
    statusCode: status,
    requestId: answer.headers['x-request-id'],
    details: body.details === null ? null : expect.any(Object),
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
  if (status === 429 || status === 503) expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
}
