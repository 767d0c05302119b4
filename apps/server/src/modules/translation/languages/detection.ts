import { isLanguage } from '#modules/translation/languages/languages.rules';

/** With fewer letters than that, related languages look alike. */
const fewestLetters = 16;
/** The detector reads no further, and markup says nothing of the language. */
const mostRead = 2000;

/** The language that a text is written in; undefined unless it is rather certain. Without a call to the outside. */
export async function detectLanguage(text: string): Promise<string | undefined> {
  const words = text.slice(0, mostRead).replaceAll(/<[^>]*>|\{\{.*?\}\}|https?:\S+|\S+@\S+/g, ' ');
  if ((words.match(/\p{L}/gu)?.length ?? 0) < fewestLetters) return undefined;
  // Only here: what the detector knows takes some 80 MiB, and most installations never need it.
  const { eld } = await import('eld/extrasmall');
  const found = eld.detect(words);
  return found.isReliable() && isLanguage(found.language) ? found.language : undefined;
}
