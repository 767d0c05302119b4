/** The kind of a browser; it stays the same after an update. */
export function browserKind(userAgent: string | null): string {
  return (userAgent ?? '').replaceAll(/[\d._]+/g, '');
}

/** The network of an address, as wide as one that assigns changing addresses: /16, or /32 for IPv6. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address.split('.').slice(0, 2).join('.');
  // `::` stands for zeros.
  const [head = ''] = address.split('::');
  return [...head.split(':').filter(Boolean), '0', '0'].slice(0, 2).join(':');
}
