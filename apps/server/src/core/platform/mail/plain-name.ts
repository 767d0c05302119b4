const maxCharacters = 64;
const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * A name that a client chose, as a mail may say it: one short line without anything that a mail program turns into a link.
 * Compatibility characters are resolved first, as such programs do the same.
 */
export function plainName(name: string): string {
  const text = name
    .normalize('NFKC')
    // Invisible characters and marks of direction hide what is written.
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}/\\@:<>[\]|\u3002\u2024\u2044\u2215]+/gu, ' ')
    // A dot between two letters makes a domain of them; one at the end of a word does not.
    .replaceAll(/\.(?=\S)/g, ' ')
    .replaceAll(/(?<!\S)\.+(?!\S)/g, ' ')
    // Mail programs turn seven digits, however they are grouped, into a link that calls the number.
    .replaceAll(/[+(]*\p{Nd}(?:[^\p{L}\p{N}]{0,3}\p{Nd}){6,}/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  return characters.length <= maxCharacters ? text : `${characters.slice(0, maxCharacters).join('').trimEnd()}...`;
}
