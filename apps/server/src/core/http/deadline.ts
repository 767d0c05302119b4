import { errorCodes, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

import { matchedRoute } from '#core/http/matched-route';

declare module 'fastify' {
  interface FastifyRequest {
    deadline: NodeJS.Timeout | undefined;
  }
}

/**
 * Answers with 503 what is not answered in time. Fastify's own `handlerTimeout` forgets about requests whose body was read,
 * and has a signal for each request that ends with an error, and its stack, however well it went.
 */
export function keepDeadline(server: FastifyInstance, timeoutMs: number): void {
  server.decorateRequest('deadline', undefined);
  server.addHook('onRequest', (request, reply, done) => {
    if (hasDeadline(request)) request.deadline = setTimeout(refuse, timeoutMs, request, reply, timeoutMs);
    done();
  });
  server.addHook('onResponse', (request, _reply, done) => {
    clearTimeout(request.deadline);
    done();
  });
}

// A stream has a minimum pace instead once it has begun, and a route with `takesLong` ends when its client leaves.
function hasDeadline(request: FastifyRequest): boolean {
  const { route, isStreamed } = matchedRoute(request).config;
  return route !== undefined && (isStreamed !== true || route.mayStream) && !route.takesLong;
}

function refuse(request: FastifyRequest, reply: FastifyReply, timeoutMs: number): void {
  const { url = '' } = matchedRoute(request);
  // A stream that has begun is not late, and an error now would cut it off.
  if (!reply.sent && !reply.raw.headersSent)
    void reply.send(new errorCodes.FST_ERR_HANDLER_TIMEOUT(String(timeoutMs), url));
}
