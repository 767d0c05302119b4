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

// What streams is held to its pace instead, and what takes long to the patience of its client.
function hasDeadline(request: FastifyRequest): boolean {
  const { route, isStreamed } = matchedRoute(request).config;
  return route !== undefined && isStreamed !== true && !route.takesLong;
}

function refuse(request: FastifyRequest, reply: FastifyReply, timeoutMs: number): void {
  const { url = '' } = matchedRoute(request);
  if (!reply.sent) void reply.send(new errorCodes.FST_ERR_HANDLER_TIMEOUT(String(timeoutMs), url));
}
