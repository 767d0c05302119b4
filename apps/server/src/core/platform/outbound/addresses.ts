import { BlockList, SocketAddress, isIP } from 'node:net';

import { createAddressMatcher } from '#core/base/net/addresses';

/** Says which IP addresses may be connected to. */
export type AddressGuard = { isAllowed(address: string): boolean };

type Plain = { address: string; family: 'ipv4' | 'ipv6' };

// IANA's special-purpose registry, and 168.63.129.16, where a large cloud answers for its machines' metadata.
const closedIpv4 = blockList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]);

// Everything that is not global unicast is closed without being named: loopback, unique local, link-local, multicast.
const globalIpv6 = blockList(['2000::/3']);
const closedIpv6 = blockList(['2001::/23', '2001:db8::/32', '3fff::/20']);

/** @param allowedRanges addresses and CIDR ranges that are open although they are private. */
export function createAddressGuard(allowedRanges: readonly string[]): AddressGuard {
  const isOpened = createAddressMatcher(allowedRanges);
  return {
    isAllowed(text) {
      const plain = unwrap(text);
      if (plain === undefined) return false;
      const { address, family } = plain;
      if (isOpened(address)) return true;
      if (family === 'ipv4') return !closedIpv4.check(address, family);
      return globalIpv6.check(address, family) && !closedIpv6.check(address, family);
    },
  };
}

/** The IPv4 address inside of a mapped (RFC 4291), translated (RFC 6052) or 6to4 (RFC 3056) one, or the address itself. */
function unwrap(text: string): Plain | undefined {
  const version = isIP(text);
  if (version === 4) return { address: text, family: 'ipv4' };
  // A zone names an interface of this machine, which no public address needs.
  if (version === 0 || text.includes('%')) return undefined;
  const groups = groupsOf(text);
  const prefix = groups.slice(0, 6).join(':');
  if (prefix === '0:0:0:0:0:ffff' || prefix === '64:ff9b:0:0:0:0') return ipv4Of(groups[6]!, groups[7]!);
  if (groups[0] === '2002') return ipv4Of(groups[1]!, groups[2]!);
  return { address: text, family: 'ipv6' };
}

/** The eight groups in hexadecimal without leading zeros. */
function groupsOf(ipv6: string): string[] {
  const { hostname } = new URL(`http://[${ipv6}]`);
  const [head, tail] = hostname.slice(1, -1).split('::');
  const first = split(head);
  const last = split(tail);
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return [...first, ...zeros, ...last];
}

function split(groups: string | undefined): string[] {
  return groups === undefined || groups === '' ? [] : groups.split(':');
}

function ipv4Of(high: string, low: string): Plain {
  const bits = Number.parseInt(high, 16) * 0x1_0000 + Number.parseInt(low, 16);
  const bytes = [24, 16, 8, 0].map((shift) => Math.floor(bits / 2 ** shift) % 256);
  return { address: bytes.join('.'), family: 'ipv4' };
}

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address, bits] = range.split('/') as [string, string?];
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    const start = new SocketAddress({ address, family });
    list.addSubnet(start, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits));
  }
  return list;
}
