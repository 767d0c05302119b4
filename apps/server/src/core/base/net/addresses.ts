import { BlockList, SocketAddress, isIP } from 'node:net';

/** Says whether a canonical client address is one of those that a list allows. */
export type AddressMatcher = (address: string) => boolean;

/** 4 or 6; 0 if the text is not an IP address. */
export function ipVersion(text: string): number {
  return isIP(text);
}

/** An IP address in the one form it is compared in; v4-mapped ones are IPv4, zones are dropped. Undefined for anything else. */
export function canonicalAddress(text: string | undefined): string | undefined {
  const version = text === undefined ? 0 : isIP(text);
  if (version === 0) return undefined;
  if (version === 4) return text;
  const [plain] = text!.split('%');
  const { address } = new SocketAddress({ address: plain!, family: 'ipv6' });
  const mapped = address.slice('::ffff:'.length);
  return address.startsWith('::ffff:') && isIP(mapped) === 4 ? mapped : address;
}

export type Range = { address: string; family: 'ipv4' | 'ipv6'; bits: number };

/** @param ranges each as `parseRange` takes it; IPv6 ranges never cover IPv4 clients, apart from v4-mapped ones. */
export function createAddressMatcher(ranges: readonly string[]): AddressMatcher {
  // One list for both would match IPv4 clients by the IPv6 range of the mapped addresses.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const text of ranges) {
    const range = parseRange(text);
    if (range !== undefined) lists[range.family].addSubnet(range.address, range.bits, range.family);
  }
  return (address) => {
    const family = familyOf(address);
    return lists[family].check(address, family);
  };
}

/** A written address or CIDR range; the bits beyond its mask are as they were written. */
export function parseRange(text: string): Range | undefined {
  const [written, bitsText, ...rest] = text.split('/');
  if (rest.length > 0 || text.includes('%')) return undefined;
  const address = canonicalAddress(written);
  if (address === undefined) return undefined;
  const family = familyOf(address);
  const width = isIP(written!) === 4 ? 32 : 128;
  const bits = bitsText === undefined ? width : parseBits(bitsText, width);
  if (bits === undefined) return undefined;
  // The range of a mapped address is counted from the start of the IPv6 form.
  if (family === 'ipv4' && width === 128) return foldMapped(address, bits);
  return { address, family, bits };
}

function parseBits(text: string, width: number): number | undefined {
  return /^\d{1,3}$/.test(text) && Number(text) <= width ? Number(text) : undefined;
}

function foldMapped(address: string, bits: number): Range {
  return bits >= 96
    ? { address, family: 'ipv4', bits: bits - 96 }
    : { address: `::ffff:${address}`, family: 'ipv6', bits };
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
