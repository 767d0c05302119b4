import type { FastifyRequest } from 'fastify';

import { canonicalAddress } from '#core/base/net/addresses';

/**
 * The caller's address in one canonical form, so that a second spelling gets no rate limit of its own.
 * A forwarded value that is not an address is replaced by the address of the trusted proxy.
 */
export function clientAddress(request: FastifyRequest): string {
  // A connection that broke meanwhile has no address any more.
  return canonicalAddress(withoutPort(request.ip)) ?? canonicalAddress(request.raw.socket.remoteAddress) ?? '0.0.0.0';
}

/** Some proxies forward `192.0.2.1:1234` or `[2001:db8::1]:1234` (RFC 7239, section 6). */
function withoutPort(address: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address;
}
