/** Languages that everybody may choose, whatever the tenant speaks. */
const commonLanguages = ['en', 'de', 'fr', 'es', 'it'];

export function isOffered(locale: string, languages: readonly string[]): boolean {
  return commonLanguages.includes(locale) || languages.includes(locale);
}

/** A number as it is stored, E.164, from one that fits its schema; null clears, undefined leaves it. */
export function readPhone(text: string | null | undefined): string | null | undefined {
  return text?.replaceAll(/[ ().-]/g, '') ?? text;
}
