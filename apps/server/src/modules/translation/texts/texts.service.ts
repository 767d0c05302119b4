import { isLanguage } from '#modules/translation/languages/languages.rules';
import { translate } from '#modules/translation/memory/memory.service';
import type { TranslationScope } from '#modules/translation/scope';
import { lengthOf } from '#modules/translation/texts/texts.rules';
import { UnknownLanguage } from '#modules/translation/translation.errors';
import type { TranslateTextBody } from '#modules/translation/translation.schemas';

/** @throws UnknownLanguage, and the errors of `translate` */
export async function translateText(scope: TranslationScope, body: TranslateTextBody) {
  const { text, preserve_html: html = false } = body;
  const source = toLanguage(body.source_language);
  const target = toLanguage(body.target_language);
  const asked = { source_language: source, target_language: target, char_count: lengthOf(text) };
  if (source === target) {
    const untouched = { translated_text: text, provider_used: 'none', model_used: null, tokens_used: null };
    return { data: { ...asked, ...untouched, cached: false } };
  }
  const { translations, tokens } = await translate(scope, { source, target, html, texts: [text] });
  const { text: translated, provider, model, cached } = translations[0]!;
  return {
    data: {
      ...asked,
      translated_text: translated,
      provider_used: provider,
      model_used: model,
      cached,
      tokens_used: tokens,
    },
  };
}

/** A valid code in lower case. @throws UnknownLanguage */
export function toLanguage(code: string): string {
  const language = code.toLowerCase();
  if (!isLanguage(language)) throw UnknownLanguage();
  return language;
}
