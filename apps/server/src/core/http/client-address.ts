import type { FastifyRequest } from 'fastify';

import { canonicalAddress } from '#core/net/addresses';

/**
 * The caller's address in one canonical form, so that no second spelling of it has a budget of its own.
 * What a trusted proxy forwards and is no address counts as the proxy's own.
 */
export function clientAddress(request: FastifyRequest): string {
  // A connection that broke meanwhile has no address any more.
  return canonicalAddress(request.ip) ?? canonicalAddress(request.raw.socket.remoteAddress) ?? '0.0.0.0';
}
