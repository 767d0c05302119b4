export type Translation = { name: string; description: string | null };
/** By language; at least one. */
export type Translations = Readonly<Record<string, Translation>>;
type TranslationInput = { name: string; description?: string | null };

/** Of the deepest category; the roots are at 0. */
export const maxLevel = 31;
/** What a name, a description, and all translations together may be long. */
export const textLimits = { name: 200, description: 5000, bytes: 32_768 };
/** Lists of the specification without paging are whole, as far as one answer can hold them. */
export const mostListed = 10_000;

type Node = { level: number; path: string };
/** Texts from the first to before the second. */
type PathRange = { from: string; before: string };

/** A parent's path ends with a slash, and so does its child's. */
export function pathOf(parent: Pick<Node, 'path'> | undefined, id: string): string {
  return `${parent?.path ?? ''}${id}/`;
}

/** The category itself and all below it. '0' is the character after the slash. */
export function subtreeOf({ path }: Pick<Node, 'path'>): PathRange {
  return { from: path, before: `${path.slice(0, -1)}0` };
}

/** All below the category: ids begin with nothing less than '0'. */
export function descendantsOf({ path }: Pick<Node, 'path'>): PathRange {
  return { ...subtreeOf({ path }), from: `${path}0` };
}

export function isWithin(node: Pick<Node, 'path'>, ancestor: Pick<Node, 'path'>): boolean {
  return node.path.startsWith(ancestor.path);
}

/** What becomes of a range of paths whose topmost categories get a new parent. */
export type Relocation = PathRange & {
  parentId: string | null;
  /** At which level those are that get the new parent. */
  topLevel: number;
  levelDelta: number;
  /** What is put in place of the part of the path before `keepFrom`, counted from 1. */
  prefix: string;
  keepFrom: number;
};

/** The category, with all below it, becomes a part of the parent, or a root. */
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

/** The parts of the category become parts of the heir. */
export function handOver(category: Node, heir: Node & { id: string }): Relocation {
  return {
    ...descendantsOf(category),
    parentId: heir.id,
    topLevel: category.level + 1,
    levelDelta: heir.level - category.level,
    prefix: heir.path,
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

/** A language that is given replaces what there is in it; null takes it away. */
export function mergeTranslations(
  current: Translations,
  changes: Readonly<Record<string, TranslationInput | null>>,
): Translations {
  const kept = Object.entries(current).filter(([language]) => !Object.hasOwn(changes, language));
  const given = Object.entries(changes).filter((change): change is [string, TranslationInput] => change[1] !== null);
  return { ...Object.fromEntries(kept), ...toTranslations(Object.fromEntries(given)) };
}

/** As names are compared: however their letters are composed, and in any case. */
export function searchText(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

export function searchTextOf(key: string, translations: Translations): string {
  return searchText([key, ...Object.values(translations).map(({ name }) => name)].join('\n'));
}

/**
 * Name and description in the first of the languages that has one, each for itself; in any language where none of them
 * has. `language` is that of the name.
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
