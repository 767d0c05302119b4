import { detectLanguage } from '#modules/translation/languages/detection';
import { findLanguages } from '#modules/translation/languages/languages.queries';
import { distinct, isLanguage } from '#modules/translation/languages/languages.rules';
import type { Translation } from '#modules/translation/memory/memory.service';
import type { TranslationScope } from '#modules/translation/scope';
import { providersOf, translateBatches } from '#modules/translation/texts/batches.service';
import { hasText } from '#modules/translation/texts/texts.rules';
import { toLanguage } from '#modules/translation/texts/texts.service';
import { LanguageNotDetected, NothingToTranslate } from '#modules/translation/translation.errors';
import type { TranslateI18nBody } from '#modules/translation/translation.schemas';
import { fields, type Field } from '#modules/translation/translation.types';

/**
 * Translates into the given languages, or all of the tenant except the source; other texts are returned unchanged.
 * @throws UnknownLanguage, LanguageNotDetected, NothingToTranslate, and the errors of `translate` if no language succeeds
 */
export async function translateI18n(scope: TranslationScope, body: TranslateI18nBody) {
  const { i18n_data: data } = body;
  const wanted = body.target_languages?.map(toLanguage) ?? (await tenantLanguages(scope));
  const { language: source, texts } = await sourceOf(data, body.source_language);
  const populated = fields.filter((field) => hasText(texts[field]));
  const batches = distinct(wanted)
    .filter((target) => target !== source)
    .map((target) => ({ source, target, texts: populated.map((field) => texts[field]!) }));
  const { delivered, failure } = await translateBatches(scope, batches);
  if (delivered.size === 0 && failure !== undefined) throw failure;
  const done = batches.filter((batch) => delivered.has(batch));
  const translated = done.map((batch): [string, TranslateI18nBody['i18n_data'][string]] => {
    const results = delivered.get(batch)!.map(({ text }, at): [Field, string] => [populated[at]!, text]);
    return [batch.target, { ...data[batch.target], ...Object.fromEntries(results) }];
  });
  const translations: Translation[] = [...delivered.values()].flat();
  return {
    data: {
      translations_i18n: complete({ ...data, ...Object.fromEntries(translated) }),
      languages_translated: done.map(({ target }) => target),
      provider_used: providersOf(translations),
      cached: translations.length > 0 && translations.every(({ cached }) => cached),
    },
  };
}

async function tenantLanguages({ db }: TranslationScope): Promise<string[]> {
  const { languages } = (await db.first(findLanguages({ tenantId: db.tenantId })))!;
  return languages.filter(isLanguage);
}

async function sourceOf(data: TranslateI18nBody['i18n_data'], given: string | undefined) {
  const language = given === undefined ? undefined : toLanguage(given);
  const places = language === undefined ? Object.keys(data) : [language];
  const place = places.find((key) => Object.hasOwn(data, key) && fields.some((field) => hasText(data[key]![field])));
  if (place === undefined) throw NothingToTranslate();
  const texts = data[place]!;
  if (isLanguage(place)) return { language: place, texts };
  const detected = await detectLanguage(fields.map((field) => texts[field] ?? '').join('\n'));
  if (detected === undefined) throw LanguageNotDetected();
  return { language: detected, texts };
}

function complete(data: TranslateI18nBody['i18n_data']) {
  const entries = Object.entries(data).map(([language, { name = null, description = null }]) => [
    language,
    { name, description },
  ]);
  return Object.fromEntries(entries) as Record<string, { name: string | null; description: string | null }>;
}
