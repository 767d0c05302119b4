/** The kind of a browser: the same after its next update. */
export function browserKind(userAgent: string | null): string {
  return (userAgent ?? '').replaceAll(/[\d._]+/g, '');
}

/** The network that an address is of, as wide as one that hands out changing addresses: /16, or /32 of IPv6. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address.split('.').slice(0, 2).join('.');
  // What `::` stands for are zeros.
  const [head = ''] = address.split('::');
  return [...head.split(':').filter(Boolean), '0', '0'].slice(0, 2).join(':');
}
