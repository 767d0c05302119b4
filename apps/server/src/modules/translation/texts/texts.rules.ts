/** Whether the text has anything except white space. */
export function hasText(text: string | null | undefined): text is string {
  return typeof text === 'string' && /\S/.test(text);
}

/** Number of characters (code points). */
export function lengthOf(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}
