import { LocaleNotOffered } from '#modules/users/users.errors';

/** Languages that every user may choose, independent of the languages of the tenant. */
const commonLanguages = ['en', 'de', 'fr', 'es', 'it'];

/**
 * An unchanged locale is always accepted, even if the tenant has removed the language.
 * @throws LocaleNotOffered
 */
export function assertLocaleOffered(locale: string | undefined, languages: readonly string[], present?: string): void {
  if (locale === undefined || locale === present) return;
  if (!commonLanguages.includes(locale) && !languages.includes(locale)) throw LocaleNotOffered();
}

/** The stored E.164 form of a phone number that matches its schema; null clears it, undefined keeps it. */
export function readPhone(text: string | null | undefined): string | null | undefined {
  return text?.replaceAll(/[ ().-]/g, '') ?? text;
}
