/** Whether there is anything in it but space. */
export function hasText(text: string | null | undefined): text is string {
  return typeof text === 'string' && /\S/.test(text);
}

/** Characters, of which some take two units of a JavaScript string. */
export function lengthOf(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}
