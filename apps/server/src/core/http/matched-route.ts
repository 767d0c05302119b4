import type { FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    matched: FastifyRequest['routeOptions'] | undefined;
  }
}

/** What the router has found for a request. Fastify puts it together anew each time; this does so once. */
export function matchedRoute(request: FastifyRequest): FastifyRequest['routeOptions'] {
  return (request.matched ??= request.routeOptions);
}
