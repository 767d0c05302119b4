import type { FastifyRequest } from 'fastify';

import type { RequestFacts } from '#core/base/access/principal';
import { clientAddress } from '#core/http/client-address';

/** The facts of a request before authentication. */
export function factsOf(request: FastifyRequest): RequestFacts {
  return {
    id: request.id,
    ip: clientAddress(request),
    userAgent: request.headers['user-agent']?.slice(0, 256) ?? null,
    receivedAt: request.receivedAt,
  };
}
