import type { FastifyInstance } from 'fastify';

import type { Tracing } from '#core/base/tracing/tracing';
import { hasBody } from '#core/http/request-checks';

/** Begins a span with every request, before it has to wait for anything. */
export function beginSpans(server: FastifyInstance, tracing: Tracing): void {
  server.addHook('onRequest', (request, _reply, done) => {
    const { traceparent } = request.headers;
    request.span = tracing.begin({
      traceparent: typeof traceparent === 'string' ? traceparent : undefined,
      requestId: request.id,
    });
    done();
  });
}

/**
 * Runs the rest of the request inside its span. A request with a body enters again after the body is read, and a request that
 * waited for admission was released inside the span of another one.
 */
export function enterSpans(server: FastifyInstance): void {
  server.addHook('onRequest', ({ span }, _reply, done) => {
    if (span === undefined) done();
    else span.run(done);
  });
  server.addHook('preValidation', (request, _reply, done) => {
    if (request.span === undefined || !hasBody(request)) done();
    else request.span.run(done);
  });
}
