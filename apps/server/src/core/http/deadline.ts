import { errorCodes, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

import { matchedRoute } from '#core/http/matched-route';
import { hasBody } from '#core/http/request-checks';

/**
 * Holds answers to `handlerTimeout` also once the body has been read: Node closes the request then, and with that Fastify
 * takes its own deadline back.
 */
export function keepDeadline(server: FastifyInstance): void {
  server.addHook('preValidation', (request, reply, done) => {
    if (hasBody(request)) hold(request, reply);
    done();
  });
}

function hold(request: FastifyRequest, reply: FastifyReply): void {
  const { handlerTimeout: timeoutMs, url = '' } = matchedRoute(request);
  if (timeoutMs === 0) return;
  const timer = setTimeout(
    () => {
      if (!reply.sent) void reply.send(new errorCodes.FST_ERR_HANDLER_TIMEOUT(String(timeoutMs), url));
    },
    Math.max(0, timeoutMs - reply.elapsedTime),
  );
  reply.raw.once('close', () => clearTimeout(timer));
}
