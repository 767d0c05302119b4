import type { AppError } from '#core/base/errors/app-error';
import type { Transaction } from '#core/data/db/scopes';
import {
  hashOf,
  merge,
  placeOf,
  planUnits,
  toEntity,
  type Entity,
  type Manner,
  type Mark,
  type Source,
  type TranslatedUnit,
  type Unit,
} from '#modules/translation/entities/entities.rules';
import { entityTypes } from '#modules/translation/entities/entity-types';
import { listMarks, saveMarks } from '#modules/translation/entities/marks.queries';
import { detectLanguage } from '#modules/translation/languages/detection';
import { findLanguages } from '#modules/translation/languages/languages.queries';
import { distinct, isLanguage } from '#modules/translation/languages/languages.rules';
import type { TranslationScope } from '#modules/translation/scope';
import { translateBatches, type TextBatch } from '#modules/translation/texts/batches.service';
import { hasText } from '#modules/translation/texts/texts.rules';
import { LanguageNotDetected, NothingToTranslate } from '#modules/translation/translation.errors';
import { fields, type EntityType } from '#modules/translation/translation.types';

/** Records to translate, and options. Languages are valid codes in lower case. */
export type Wish = Manner & {
  entityType: EntityType;
  ids: readonly string[];
  /** Undefined: chosen per record. */
  source: string | undefined;
  /** Undefined: all languages of the tenant except the default one. */
  targets: readonly string[] | undefined;
};

export type Outcome = {
  /** Number of existing records. */
  found: number;
  written: TranslatedUnit[];
  /** Number of texts that could not be translated or exceed a limit. */
  failed: number;
  /** Why something could not be translated. */
  failure: AppError | undefined;
};

/** Runs at the end of the transaction that writes translations; an error rolls it back. */
export type Accompany = (tx: Transaction, written: readonly TranslatedUnit[], at: string) => Promise<void>;

/** Maximum number of attempts for a text that changes during translation. */
const maxRounds = 3;

/**
 * Translates records and stores the results. Providers are called outside transactions; concurrent edits stay, and translations
 * of changed source texts are repeated.
 */
export async function translateEntities(scope: TranslationScope, wish: Wish, accompany: Accompany): Promise<Outcome> {
  const outcome: Outcome = { found: 0, written: [], failed: 0, failure: undefined };
  let outdated: readonly Unit[] | undefined;
  for (let round = 0; round < maxRounds; round++) {
    const snapshot = await readEntities(scope, wish);
    const plan = await planAll(snapshot, wish);
    const units = plan.units.filter((unit) => outdated?.some((other) => isSameSpot(unit, other)) ?? true);
    const { translated, failure } = await translateUnits(scope, units);
    const done = await writeUnits(scope, { ...wish, baseLanguage: snapshot.baseLanguage, accompany }, translated);
    outcome.found = snapshot.entities.length;
    outcome.written.push(...done.written);
    outcome.failed += units.length - translated.length + done.unfit.length;
    // A provider failure may be temporary; a planning problem is not.
    outcome.failure ??= failure ?? plan.failure;
    outdated = done.outdated;
    if (outdated.length === 0) return outcome;
  }
  outcome.failed += outdated?.length ?? 0;
  return outcome;
}

type Snapshot = { baseLanguage: string; languages: readonly string[]; entities: Entity[]; marks: Mark[] };

/** Current records with all data for planning. */
async function readEntities({ db }: TranslationScope, { entityType: type, ids }: Wish): Promise<Snapshot> {
  const { tenantId } = db;
  const [[tenant], rows, marks] = await db.batch([
    findLanguages({ tenantId }),
    entityTypes[type].texts.find({ tenantId, ids }),
    listMarks({ tenantId, type, ids }),
  ]);
  const { default_language: baseLanguage, languages } = tenant!;
  return { baseLanguage, languages, entities: rows.map((row) => toEntity(row, baseLanguage)), marks };
}

async function planAll(
  { baseLanguage, languages, entities, marks }: Snapshot,
  wish: Wish,
): Promise<{ units: Unit[]; failure: AppError | undefined }> {
  const targets = distinct(wish.targets ?? languages.filter(isLanguage));
  const units: Unit[] = [];
  let failure: AppError | undefined;
  for (const entity of entities) {
    const source = await sourceOf(entity, wish.source, baseLanguage);
    if ('error' in source) failure ??= source.error;
    else units.push(...planUnits(entity, source, { ...wish, targets, baseLanguage, marks }));
  }
  return { units, failure };
}

/** Rule 4: the given language, then the base language, then what the content seems to be written in. */
async function sourceOf(
  entity: Entity,
  given: string | undefined,
  baseLanguage: string,
): Promise<Source | { error: AppError }> {
  const found = placeOf(entity, given, baseLanguage);
  if (found === undefined) return { error: NothingToTranslate() };
  const { place, texts } = found;
  const said = place ?? given ?? baseLanguage;
  if (isLanguage(said)) return { place, language: said };
  const language = await detectLanguage(
    fields
      .map((field) => texts[field])
      .filter(hasText)
      .join('\n'),
  );
  return language === undefined ? { error: LanguageNotDetected() } : { place, language };
}

/** Groups texts by language. */
async function translateUnits(scope: TranslationScope, units: readonly Unit[]) {
  const byPair = Map.groupBy(units, ({ source, language }) => `${source.language} ${language}`);
  const batches = [...byPair.values()].map((same): TextBatch & { units: readonly Unit[] } => {
    const { source, language: target } = same[0]!;
    return { source: source.language, target, texts: same.map(({ text }) => text), units: same };
  });
  const { delivered, failure } = await translateBatches(scope, batches);
  const translated = batches.flatMap((batch) =>
    (delivered.get(batch) ?? []).map(({ text: translation, provider }, at): TranslatedUnit => {
      return { ...batch.units[at]!, translation, provider };
    }),
  );
  return { translated, failure };
}

type Writing = Manner & { entityType: EntityType; baseLanguage: string; accompany: Accompany };
type Written = { written: TranslatedUnit[]; outdated: TranslatedUnit[]; unfit: TranslatedUnit[] };

async function writeUnits(
  { db, caller, services }: TranslationScope,
  { entityType: type, baseLanguage, accompany, ...manner }: Writing,
  units: readonly TranslatedUnit[],
): Promise<Written> {
  const byEntity = Map.groupBy(units, ({ entityId }) => entityId);
  if (byEntity.size === 0) return { written: [], outdated: [], unfit: [] };
  const { tenantId } = db;
  const { texts, limits } = entityTypes[type];
  const ids = [...byEntity.keys()];
  const at = services.now().toISOString();
  return db.transaction(async (tx) => {
    const all: Written = { written: [], outdated: [], unfit: [] };
    const rows = await tx.all(texts.lock({ tenantId, ids }));
    const marks = await tx.all(listMarks({ tenantId, type, ids }));
    for (const row of rows) {
      const own = byEntity.get(row.id)!;
      const { translations, ...merged } = merge(toEntity(row, baseLanguage), own, { ...manner, limits, marks });
      for (const kind of ['written', 'outdated', 'unfit'] as const) all[kind].push(...merged[kind]);
      const change = { tenantId, translations, at, userId: caller.userId };
      if (merged.written.length > 0) await tx.all(texts.write(row, change));
    }
    if (all.written.length === 0) return all;
    await tx.all(saveMarks({ tenantId, type, at, rows: toMarks(all.written) }));
    await accompany(tx, all.written, at);
    return all;
  });
}

function toMarks(written: readonly TranslatedUnit[]): string {
  return JSON.stringify(
    written.map(({ entityId, language, field, source, text, translation, provider }) => ({
      entity_id: entityId,
      language,
      field,
      source_language: source.place,
      source_hash: hashOf(text).toString('hex'),
      value_hash: hashOf(translation).toString('hex'),
      provider,
    })),
  );
}

function isSameSpot(left: Unit, right: Unit): boolean {
  return left.entityId === right.entityId && left.language === right.language && left.field === right.field;
}
