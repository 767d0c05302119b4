import type { FastifyRequest } from 'fastify';

import { canonicalAddress } from '#core/net/addresses';

/**
 * The caller's address in one canonical form, so that a second spelling gets no rate limit of its own.
 * A forwarded value that is not an address is replaced by the address of the trusted proxy.
 */
export function clientAddress(request: FastifyRequest): string {
  // A connection that broke meanwhile has no address any more.
  return canonicalAddress(request.ip) ?? canonicalAddress(request.raw.socket.remoteAddress) ?? '0.0.0.0';
}
