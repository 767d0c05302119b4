/** The language settings in the `config` of a connector. */
type Config = Readonly<Record<string, unknown>>;

const code = /^[a-z]{2}$/;
const providerCode = /^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,3}$/;
const pair = /^[a-z]{2}-[a-z]{2}$/;

/** The problem of `config.language_map` or `config.pairs`; both are optional. */
export function languageProblem({ language_map: map = {}, pairs = [] }: Config): string | undefined {
  if (typeof map !== 'object' || map === null || Array.isArray(map)) return 'config.language_map has to be an object.';
  const isMap = Object.entries(map).every(
    ([ours, theirs]) => code.test(ours) && typeof theirs === 'string' && providerCode.test(theirs),
  );
  if (!isMap)
    return 'config.language_map has to lead from two letters to a code of the provider, as in {"pt":"pt-BR"}.';
  const isList = Array.isArray(pairs) && pairs.every((value) => typeof value === 'string' && pair.test(value));
  return isList ? undefined : 'config.pairs has to list pairs of languages, as in ["en-es","es-en"].';
}

/** Whether the connector supports the pair; all pairs without `config.pairs`. */
export function isListedPair({ pairs }: Config, { source, target }: { source: string; target: string }): boolean {
  return !Array.isArray(pairs) || pairs.length === 0 || pairs.includes(`${source}-${target}`);
}

/** The code that `config.language_map` gives for a language, else undefined. */
export function mappedLanguage({ language_map: map }: Config, language: string): string | undefined {
  const mapped =
    typeof map === 'object' && map !== null && Object.hasOwn(map, language) ? (map as Config)[language] : undefined;
  return typeof mapped === 'string' ? mapped : undefined;
}

const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });

/** English name of a language, such as "Brazilian Portuguese". */
export function languageName(language: string): string {
  try {
    return names.of(language.replaceAll('_', '-')) ?? language;
  } catch {
    return language;
  }
}
