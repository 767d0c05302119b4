import { SocketAddress, isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/**
 * The caller's address in one canonical form, so that no second spelling of it has a budget of its own.
 * What a trusted proxy forwards and is no address counts as the proxy's own.
 */
export function clientAddress(request: FastifyRequest): string {
  // A connection that broke meanwhile has no address any more.
  return canonicalAddress(request.ip) ?? canonicalAddress(request.raw.socket.remoteAddress) ?? '0.0.0.0';
}

function canonicalAddress(text: string | undefined): string | undefined {
  const version = text === undefined ? 0 : isIP(text);
  if (version === 0) return undefined;
  if (version === 4) return text;
  const [plain] = text!.split('%');
  const { address } = new SocketAddress({ address: plain!, family: 'ipv6' });
  const mapped = address.slice('::ffff:'.length);
  return address.startsWith('::ffff:') && isIP(mapped) === 4 ? mapped : address;
}
