import { sha256 } from '#core/base/crypto/secrets';
import { hasText, lengthOf } from '#modules/translation/texts/texts.rules';
import { fields, type Field } from '#modules/translation/translation.types';

export type Texts = { readonly [Name in Field]?: string | null };
/** Translations by language, as a record keeps them. */
export type Stored = Readonly<Record<string, Texts>>;

/** Maximum length of name and description in characters, and of all translations in bytes of JSON. */
export type TextLimits = { name: number; description: number; bytes: number; needsName?: boolean };

/** A record with its own texts and its translations. */
export type Entity = { id: string; own: Texts; translations: Stored };

/** Origin of a machine translation. */
export type Mark = {
  entity_id: string;
  language: string;
  field: Field;
  source_language: string | null;
  source_hash: Buffer;
  value_hash: Buffer;
  provider: string;
};

/** Without `overwrites`, only missing texts are filled; `protects` keeps texts written by users. */
export type Manner = { overwrites: boolean; protects: boolean };

/** Source text. `place` is the key of its translation; null for the record's own text. */
export type Source = { language: string; place: string | null };

/** A text to translate into one language. */
export type Unit = {
  entityId: string;
  language: string;
  field: Field;
  text: string;
  source: Source;
  /** Text of the target at the time of planning. */
  seen: string | null;
};

export type TranslatedUnit = Unit & { translation: string; provider: string };

export type Merged = {
  translations: Stored;
  /** Merged translations. */
  written: TranslatedUnit[];
  /** Translations of a source text that has changed. */
  outdated: TranslatedUnit[];
  /** Translations that exceed a limit. */
  unfit: TranslatedUnit[];
};

export function hashOf(text: string): Buffer {
  return sha256(text);
}

/** Categories store their own texts in the translations. */
export function toEntity(
  row: { id: string; name?: string; description?: string | null; translations: Stored },
  baseLanguage: string,
): Entity {
  const { id, name, description = null, translations } = row;
  if (name !== undefined) return { id, own: { name, description }, translations };
  return { id, own: textsIn(translations, baseLanguage), translations };
}

/**
 * The source: the translation into the given language, otherwise the record's own text. Without a language: its own text,
 * otherwise the first translation with text. Undefined without any text.
 */
export function placeOf(
  { own, translations }: Entity,
  given: string | undefined,
  baseLanguage: string,
): { place: string | null; texts: Texts } | undefined {
  const within = (place: string) => ({ place, texts: textsIn(translations, place) });
  const saysSomething = ({ texts }: { texts: Texts }) => fields.some((field) => hasText(texts[field]));
  const self = { place: null, texts: own };
  const others = given === undefined ? Object.keys(translations).toSorted() : [given];
  const elsewhere = others.filter((language) => language !== baseLanguage).map(within);
  const order = given === undefined ? [self, ...elsewhere] : [...elsewhere, self];
  return order.find(saysSomething);
}

/** The texts of a record to translate into these languages. */
export function planUnits(
  entity: Entity,
  source: Source,
  wish: Manner & { targets: readonly string[]; baseLanguage: string; marks: readonly Mark[] },
): Unit[] {
  const texts = source.place === null ? entity.own : textsIn(entity.translations, source.place);
  return wish.targets
    .filter((language) => language !== source.language && language !== wish.baseLanguage)
    .flatMap((language) =>
      fields.flatMap((field): Unit[] => {
        const text = texts[field];
        const seen = textsIn(entity.translations, language)[field] ?? null;
        const mark = findMark(wish.marks, { entityId: entity.id, language, field });
        if (!hasText(text) || !mayPut(seen, mark, wish)) return [];
        return [{ entityId: entity.id, language, field, text, source, seen }];
      }),
    );
}

/** Merges translations into the current state of a record, which may have changed since planning. */
export function merge(
  entity: Entity,
  units: readonly TranslatedUnit[],
  { limits, marks, ...manner }: Manner & { limits: TextLimits; marks: readonly Mark[] },
): Merged {
  const isCurrent = ({ source, field, text }: Unit) =>
    (source.place === null ? entity.own : textsIn(entity.translations, source.place))[field] === text;
  const mayStand = (unit: TranslatedUnit) => {
    const now = textsIn(entity.translations, unit.language)[unit.field] ?? null;
    const mark = findMark(marks, unit);
    // A user has edited it since planning, so the edit stays.
    const isEdited = now !== unit.seen && !isOfMachine(now, mark);
    return !isEdited && mayPut(now, mark, manner);
  };
  const outdated = units.filter((unit) => !isCurrent(unit) && mayStand(unit));
  const current = units.filter((unit) => isCurrent(unit) && mayStand(unit));
  return { ...putAll(entity.translations, current, limits), outdated };
}

/** As many as fit the limits, in order. */
function putAll(translations: Stored, units: readonly TranslatedUnit[], limits: TextLimits): Omit<Merged, 'outdated'> {
  const [written, unfit]: [TranslatedUnit[], TranslatedUnit[]] = [[], []];
  let current = translations;
  for (const unit of units) {
    const next = put(current, unit, limits);
    (next === undefined ? unfit : written).push(unit);
    current = next ?? current;
  }
  return { translations: current, written, unfit };
}

function put(
  translations: Stored,
  { language, field, translation }: TranslatedUnit,
  { needsName = false, bytes, ...longest }: TextLimits,
): Stored | undefined {
  if (!hasText(translation) || lengthOf(translation) > longest[field]) return undefined;
  const texts = { ...textsIn(translations, language), [field]: translation };
  if (needsName && !hasText(texts.name)) return undefined;
  const next = { ...translations, [language]: needsName ? { description: null, ...texts } : texts };
  return Buffer.byteLength(JSON.stringify(next)) > bytes ? undefined : next;
}

function mayPut(now: string | null, mark: Mark | undefined, { overwrites, protects }: Manner): boolean {
  if (!hasText(now)) return true;
  return overwrites && (!protects || isOfMachine(now, mark));
}

function isOfMachine(text: string | null, mark: Mark | undefined): boolean {
  return text !== null && mark !== undefined && hashOf(text).equals(mark.value_hash);
}

type Spot = { entityId: string; language: string; field: Field };

function findMark(marks: readonly Mark[], { entityId, language, field }: Spot): Mark | undefined {
  return marks.find((mark) => mark.entity_id === entityId && mark.language === language && mark.field === field);
}

export function textsIn(translations: Stored, language: string): Texts {
  return Object.hasOwn(translations, language) ? translations[language]! : {};
}
