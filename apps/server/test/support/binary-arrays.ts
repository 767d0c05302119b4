const headBytes = 20;

/** How many items an array in binary has. */
export function lengthOf(array: Buffer): number {
  return array.readInt32BE(12);
}

/** The items of an array of texts in binary, as PostgreSQL would read them; null for a null item. */
export function textsOf(array: Buffer): (string | null)[] {
  const items: (string | null)[] = [];
  for (let at = headBytes; at < array.length;) {
    const size = array.readInt32BE(at);
    at += 4;
    items.push(size === -1 ? null : array.toString('utf8', at, at + size));
    at += Math.max(size, 0);
  }
  return items;
}
