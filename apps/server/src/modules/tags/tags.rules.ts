/** The form in which names are compared: Unicode NFC and lower case. */
export function nameKey(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
