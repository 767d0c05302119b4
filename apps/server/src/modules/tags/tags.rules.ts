/** A name as names are compared: however its letters are composed, and in any case. */
export function nameKey(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
