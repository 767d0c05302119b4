import { LocaleNotOffered } from '#modules/users/users.errors';

/** Languages that everybody may choose, whatever the tenant speaks. */
const commonLanguages = ['en', 'de', 'fr', 'es', 'it'];

/** Whoever sends back what is there changes nothing, whatever the tenant has stopped speaking. @throws LocaleNotOffered */
export function assertLocaleOffered(locale: string | undefined, languages: readonly string[], present?: string): void {
  if (locale === undefined || locale === present) return;
  if (!commonLanguages.includes(locale) && !languages.includes(locale)) throw LocaleNotOffered();
}

/** A number as it is stored, E.164, from one that fits its schema; null clears, undefined leaves it. */
export function readPhone(text: string | null | undefined): string | null | undefined {
  return text?.replaceAll(/[ ().-]/g, '') ?? text;
}
