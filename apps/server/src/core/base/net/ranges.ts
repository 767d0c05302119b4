import { SocketAddress, isIP } from 'node:net';

import { createAddressMatcher, parseRange, type Range } from '#core/base/net/addresses';

/**
 * An address or a CIDR range that means the same to every reader: no zone, no mask with a leading zero, which is octal to some,
 * and no host bits, because a single address with a mask would silently stand for its whole network.
 */
export function isAddressRange(text: string): boolean {
  const range = parseRange(text);
  if (range === undefined || /\/0\d/.test(text)) return false;
  const hex = toHex(range.address, range.family);
  return networkOf(hex, range.bits).padEnd(hex.length, '0') === hex;
}

/** An address or CIDR range as it is stored and compared: the network's first address, without a mask that covers one address. */
export function canonicalRange(text: string): string | undefined {
  const range = parseRange(text);
  return range === undefined ? undefined : present(range);
}

/** Network of a client, for limits: its IPv4 address, or its IPv6 /64, the smallest block that a provider assigns. */
export function clientNetwork(address: string): string {
  return address.includes(':') ? present({ address, family: 'ipv6', bits: 64 }) : address;
}

export const isLoopback = createAddressMatcher(['127.0.0.0/8', '::1']);

/** Loopback, private, shared and link-local addresses: they belong to the operator or are shared by many clients. */
export const isLocal = createAddressMatcher([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::/127',
  'fc00::/7',
  'fe80::/10',
]);

export type RangeEntry = { range: string; expiresAt: number };

/** Says whether an address lies in one of many ranges, at a cost that grows with their different sizes, not their number. */
export type RangeTable = { covers(address: string, now: () => number): boolean };

export function createRangeTable(entries: readonly RangeEntry[]): RangeTable {
  const tables = { ipv4: new Map<number, Map<string, number>>(), ipv6: new Map<number, Map<string, number>>() };
  for (const { range: text, expiresAt } of entries) {
    const range = parseRange(text);
    if (range === undefined) continue;
    const bySize = tables[range.family];
    const networks = bySize.get(range.bits) ?? new Map<string, number>();
    const network = networkOf(toHex(range.address, range.family), range.bits);
    networks.set(network, Math.max(expiresAt, networks.get(network) ?? 0));
    bySize.set(range.bits, networks);
  }
  return {
    covers(address, now) {
      const family = address.includes(':') ? 'ipv6' : 'ipv4';
      const bySize = tables[family];
      if (bySize.size === 0) return false;
      const hex = toHex(address, family);
      for (const [bits, networks] of bySize) {
        const expiresAt = networks.get(networkOf(hex, bits));
        if (expiresAt !== undefined && expiresAt > now()) return true;
      }
      return false;
    },
  };
}

function present({ address, family, bits }: Range): string {
  const hex = networkOf(toHex(address, family), bits).padEnd(family === 'ipv4' ? 8 : 32, '0');
  const first = family === 'ipv4' ? dotted(hex) : colons(hex);
  const isOne = bits === (family === 'ipv4' ? 32 : 128);
  return isOne ? first : `${first}/${bits}`;
}

/** The first so many bits, as hexadecimal digits. */
function networkOf(hex: string, bits: number): string {
  const rest = bits % 4;
  const whole = (bits - rest) / 4;
  if (rest === 0) return hex.slice(0, whole);
  const digit = Number.parseInt(hex[whole]!, 16) & (0xf << (4 - rest));
  return hex.slice(0, whole) + (digit & 0xf).toString(16);
}

function toHex(address: string, family: Range['family']): string {
  if (family === 'ipv4') return bytesToHex(address);
  // Mapped ranges that are wider than all of IPv4 are the only ones to end in an IPv4 address.
  const dots = isIP(address.slice(address.lastIndexOf(':') + 1)) === 4 ? address.lastIndexOf(':') + 1 : undefined;
  const plain = dots === undefined ? address : `${address.slice(0, dots)}${toGroups(address.slice(dots))}`;
  const [head, tail] = plain.split('::') as [string, string?];
  const left = groupsOf(head);
  const right = groupsOf(tail ?? '');
  return left + '0'.repeat(32 - left.length - right.length) + right;
}

function groupsOf(text: string): string {
  if (text === '') return '';
  return text
    .split(':')
    .map((group) => group.padStart(4, '0'))
    .join('');
}

function bytesToHex(ipv4: string): string {
  const [a, b, c, d] = ipv4.split('.').map(Number) as [number, number, number, number];
  return (a * 0x1_00_00_00 + b * 0x1_00_00 + c * 0x1_00 + d).toString(16).padStart(8, '0');
}

function toGroups(ipv4: string): string {
  const hex = bytesToHex(ipv4);
  return `${hex.slice(0, 4)}:${hex.slice(4)}`;
}

function dotted(hex: string): string {
  return [0, 2, 4, 6].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join('.');
}

function colons(hex: string): string {
  const address = hex.match(/.{4}/g)!.join(':');
  return new SocketAddress({ address, family: 'ipv6' }).address;
}
