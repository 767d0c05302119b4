export type Translation = { name: string; description: string | null };
/** By language; at least one language. */
export type Translations = Readonly<Record<string, Translation>>;
type TranslationInput = { name: string; description?: string | null };

/** Level of the deepest category; the roots have level 0. */
export const maxLevel = 31;
/** Maximum characters of a name and of a description, and maximum JSON bytes of all translations. */
export const textLimits = { name: 200, description: 5000, bytes: 32_768 };
/** The specification has no paging for these lists; this bounds the size of one answer. */
export const maxListed = 10_000;

type Node = { level: number; path: string };
/** Paths from `from` (inclusive) to `before` (exclusive). */
type PathRange = { from: string; before: string };

/** Every path ends with a slash. */
export function pathOf(parent: Pick<Node, 'path'> | undefined, id: string): string {
  return `${parent?.path ?? ''}${id}/`;
}

/** The category and its descendants; '0' is the character after the slash. */
export function subtreeOf({ path }: Pick<Node, 'path'>): PathRange {
  return { from: path, before: `${path.slice(0, -1)}0` };
}

/** The descendants of the category; no id starts with a character before '0'. */
export function descendantsOf({ path }: Pick<Node, 'path'>): PathRange {
  return { ...subtreeOf({ path }), from: `${path}0` };
}

export function isWithin(node: Pick<Node, 'path'>, ancestor: Pick<Node, 'path'>): boolean {
  return node.path.startsWith(ancestor.path);
}

/** Moves a range of paths; its topmost categories get a new parent. */
export type Relocation = PathRange & {
  parentId: string | null;
  /** Level of the categories that get the new parent. */
  topLevel: number;
  levelDelta: number;
  /** Replaces the part of the path before `keepFrom`, a position that starts at 1. */
  prefix: string;
  keepFrom: number;
};

/** Moves the category and its descendants below the parent, or makes it a root. */
export function moveTo(category: Node & { id: string }, parent: (Node & { id: string }) | undefined): Relocation {
  return {
    ...subtreeOf(category),
    parentId: parent?.id ?? null,
    topLevel: category.level,
    levelDelta: (parent === undefined ? 0 : parent.level + 1) - category.level,
    prefix: parent?.path ?? '',
    keepFrom: category.path.length - pathOf(undefined, category.id).length + 1,
  };
}

/** Moves the children of the category to the target. */
export function moveChildren(category: Node, target: Node & { id: string }): Relocation {
  return {
    ...descendantsOf(category),
    parentId: target.id,
    topLevel: category.level + 1,
    levelDelta: target.level - category.level,
    prefix: target.path,
    keepFrom: category.path.length + 1,
  };
}

export function toTranslations(given: Readonly<Record<string, TranslationInput>>): Translations {
  const entries = Object.entries(given).map(([language, { name, description = null }]) => [
    language,
    { name, description },
  ]);
  return Object.fromEntries(entries) as Translations;
}

/** A given language replaces the stored one; null removes it. */
export function mergeTranslations(
  current: Translations,
  changes: Readonly<Record<string, TranslationInput | null>>,
): Translations {
  const kept = Object.entries(current).filter(([language]) => !Object.hasOwn(changes, language));
  const given = Object.entries(changes).filter((change): change is [string, TranslationInput] => change[1] !== null);
  return { ...Object.fromEntries(kept), ...toTranslations(Object.fromEntries(given)) };
}

/** The form in which texts are compared: Unicode NFC and lower case. */
export function searchText(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

export function searchTextOf(key: string, translations: Translations): string {
  return searchText([key, ...Object.values(translations).map(({ name }) => name)].join('\n'));
}

/**
 * Picks the name and the description separately: each from the first preferred language that has it, else from any language.
 * `language` is the language of the name.
 */
export function localise(translations: Translations, languages: readonly string[]) {
  const order = [...languages, ...Object.keys(translations).toSorted()].filter((each) =>
    Object.hasOwn(translations, each),
  );
  const language = order[0]!;
  const described = order.find((each) => translations[each]!.description !== null);
  return {
    name: translations[language]!.name,
    description: described === undefined ? null : translations[described]!.description,
    language,
  };
}
