import type { FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    matched: FastifyRequest['routeOptions'] | undefined;
  }
}

/** The route that the router found for a request. Fastify builds it again on each access; this reads it once. */
export function matchedRoute(request: FastifyRequest): FastifyRequest['routeOptions'] {
  return (request.matched ??= request.routeOptions);
}
