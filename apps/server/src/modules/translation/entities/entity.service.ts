import { decide } from '#core/base/access/access';
import type { Actor } from '#core/base/access/principal';
import { auditOfDone, auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import {
  placeOf,
  textsIn,
  toEntity,
  type Entity,
  type TranslatedUnit,
} from '#modules/translation/entities/entities.rules';
import { translateEntities, type Accompany } from '#modules/translation/entities/entities.service';
import { entityTypes } from '#modules/translation/entities/entity-types';
import { findLanguages } from '#modules/translation/languages/languages.queries';
import { distinct } from '#modules/translation/languages/languages.rules';
import type { TranslationScope } from '#modules/translation/scope';
import { providersOf } from '#modules/translation/texts/batches.service';
import { toLanguage } from '#modules/translation/texts/texts.service';
import { EntityNotFound } from '#modules/translation/translation.errors';
import type { TranslateEntityBody } from '#modules/translation/translation.schemas';
import type { EntityType } from '#modules/translation/translation.types';

const action = 'translation.entity_translated';
const recordTranslation = {
  space: auditOfDone({ action, resourceType: 'space' }),
  resource: auditOfDone({ action, resourceType: 'resource' }),
  tag: auditOfDone({ action, resourceType: 'tag' }),
  category: auditOfDone({ action, resourceType: 'category' }),
};

/**
 * Fills missing texts in the languages of the tenant, or overwrites given languages, except protected texts written by users.
 * @throws NotPermitted, EntityNotFound, UnknownLanguage, LanguageNotDetected, NothingToTranslate, and what `translate` does where
 * no language succeeds
 */
export async function translateEntity(
  scope: TranslationScope & { actor: Actor },
  body: TranslateEntityBody,
  { protectsHuman }: { protectsHuman: boolean },
) {
  const { actor, db } = scope;
  const { entity_type: entityType, entity_id: id } = body;
  const decision = decide(entityTypes[entityType].access, actor);
  if (!decision.allowed) throw decision.error;
  const source = body.source_language === undefined ? undefined : toLanguage(body.source_language);
  const targets = body.target_languages?.map(toLanguage);
  const manner = { overwrites: targets !== undefined, protects: protectsHuman };
  const record: Accompany = async (tx, written, at) => {
    const details = {
      languages: distinct(written.map(({ language }) => language)),
      fields: distinct(written.map(({ field }) => field)),
    };
    await tx.all(recordTranslation[entityType]({ id, ...auditParams(actor, at, details) }));
  };
  const { written, failure } = await translateEntities(
    scope,
    { entityType, ids: [id], source, targets, ...manner },
    record,
  );
  if (written.length === 0 && failure !== undefined) throw failure;
  const after = await readEntity(db, entityType, id);
  return { data: { ...presentEntity(entityType, after), ...presentWork(written) } };
}

type Read = { entity: Entity; baseLanguage: string };

async function readEntity(db: TenantDb, type: EntityType, id: string): Promise<Read> {
  const { tenantId } = db;
  const [[tenant], [row]] = await db.batch([
    findLanguages({ tenantId }),
    entityTypes[type].texts.find({ tenantId, ids: [id] }),
  ]);
  if (row === undefined) throw EntityNotFound();
  const { default_language: baseLanguage } = tenant!;
  return { entity: toEntity(row, baseLanguage), baseLanguage };
}

function presentEntity(type: EntityType, { entity, baseLanguage }: Read) {
  const { name, description = null } = placeOf(entity, undefined, baseLanguage)?.texts ?? entity.own;
  const languages = Object.keys(entity.translations).filter((language) => language !== baseLanguage);
  const translations = languages.map((language) => {
    const texts = textsIn(entity.translations, language);
    return [language, { name: texts.name ?? null, description: texts.description ?? null }];
  });
  return {
    entity_id: entity.id,
    entity_type: type,
    name: name ?? '',
    description,
    translations_i18n: Object.fromEntries(translations) as Record<
      string,
      { name: string | null; description: string | null }
    >,
  };
}

function presentWork(written: readonly TranslatedUnit[]) {
  return {
    languages_translated: distinct(written.map(({ language }) => language)),
    provider_used: providersOf(written),
  };
}
