import { adapterIn, isOf, type Describing, type Named } from '#modules/connectors/kind';
import type { TranslationAdapter } from '#modules/connectors/translation/adapter';
import { apertium } from '#modules/connectors/translation/adapters/apertium/apertium';
import { deepl } from '#modules/connectors/translation/adapters/deepl/deepl';
import { libretranslate } from '#modules/connectors/translation/adapters/libretranslate/libretranslate';
import { openai } from '#modules/connectors/translation/adapters/openai/openai';

/** Adapters by `config.adapter` or api_key. */
export const adapters: Readonly<Record<string, TranslationAdapter>> = { openai, libretranslate, deepl, apertium };

/** Categories of translation connectors. */
export const categories: readonly string[] = ['app_service'];

/** The adapter of a connector; undefined for an unknown name. */
export function adapterOf(named: Named): TranslationAdapter | undefined {
  return adapterIn({ adapters }, named);
}

/** Whether it is a translation connector, for any languages. */
export function serves(row: Describing): boolean {
  return isOf({ adapters, categories }, row);
}
