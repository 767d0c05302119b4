import { adapterIn, isOf, type Describing, type Named } from '#modules/connectors/kind';
import type { TranslationAdapter } from '#modules/connectors/translation/adapter';
import { apertium } from '#modules/connectors/translation/adapters/apertium/apertium';
import { deepl } from '#modules/connectors/translation/adapters/deepl/deepl';
import { libretranslate } from '#modules/connectors/translation/adapters/libretranslate/libretranslate';
import { openai } from '#modules/connectors/translation/adapters/openai/openai';

/** By the name that `config.adapter` gives, or the connector's `api_key`. */
export const adapters: Readonly<Record<string, TranslationAdapter>> = { openai, libretranslate, deepl, apertium };

/** The categories that translating connectors have. */
export const categories: readonly string[] = ['app_service'];

/** The adapter of a connector; undefined when there is none of that name. */
export function adapterOf(named: Named): TranslationAdapter | undefined {
  return adapterIn({ adapters }, named);
}

/** Whether a connector is one that translates, in whatever languages. */
export function serves(row: Describing): boolean {
  return isOf({ adapters, categories }, row);
}
