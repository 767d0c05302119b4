import type { FastifyInstance } from 'fastify';

import { hasBody } from '#core/http/request-checks';
import type { Tracing } from '#core/tracing/tracing';

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
 * From here on work is part of the span, without a body and with one: whoever waited was let in by the end of another
 * request, which is not its own.
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
