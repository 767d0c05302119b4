import { isLanguage } from '#modules/translation/languages/languages.rules';

/** Minimum length: shorter texts of related languages look alike. */
const fewestLetters = 16;
/** Maximum length that the detector reads; markup is removed because it has no language. */
const maxRead = 2000;

/** Detects the language of a text locally; undefined if it is not certain. */
export async function detectLanguage(text: string): Promise<string | undefined> {
  const words = text.slice(0, maxRead).replaceAll(/<[^>]*>|\{\{.*?\}\}|https?:\S+|\S+@\S+/g, ' ');
  if ((words.match(/\p{L}/gu)?.length ?? 0) < fewestLetters) return undefined;
  // Loaded on demand: the detector needs about 80 MiB, and most installations never use it.
  const { eld } = await import('eld/extrasmall');
  const found = eld.detect(words);
  return found.isReliable() && isLanguage(found.language) ? found.language : undefined;
}
