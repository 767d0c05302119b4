type Wanted = { language: string; quality: number };

// A longer list adds nothing: the first languages already decide.
const maxLanguages = 50;

/**
 * The languages of an Accept-Language header, best first (RFC 9110 section 12.5.4), each by its two letters: `de-AT` is
 * `de`. What is malformed, refused with `q=0` or has no two-letter code is left out; so is `*`, which asks for nothing.
 */
export function preferredLanguages(header: string | undefined): string[] {
  const parts = (header ?? '').split(',', maxLanguages).map(parsePart);
  const wanted = parts.filter((part) => part !== undefined && part.quality > 0) as Wanted[];
  // Sorting is stable: of equal qualities the one named first comes first.
  const languages = wanted.toSorted((a, b) => b.quality - a.quality).map(({ language }) => language);
  return [...new Set(languages)];
}

const form = /^([a-z]{2})(?:-[a-z0-9]{1,8})*(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i;

function parsePart(part: string): Wanted | undefined {
  const match = form.exec(part.trim());
  if (match === null) return undefined;
  const [, language, quality = '1'] = match;
  return { language: language!.toLowerCase(), quality: Number(quality) };
}
