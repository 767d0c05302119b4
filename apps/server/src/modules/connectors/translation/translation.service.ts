import type { Services } from '#core/platform/services';
import { ProviderFailure } from '#modules/connectors/calls/failures';
import { callProviders, type Provider, type ProviderCall } from '#modules/connectors/calls/provider-calls.service';
import { isUsable } from '#modules/connectors/settings';
import type { TokenUse, TranslationAdapter } from '#modules/connectors/translation/adapter';
import { adapterOf, serves } from '#modules/connectors/translation/adapters/adapters';
import { isListedPair } from '#modules/connectors/translation/languages.rules';
import { takeApart } from '#modules/connectors/translation/protection/layout';
import { isSegment } from '#modules/connectors/translation/protection/pieces.rules';
import { translateAll } from '#modules/connectors/translation/segments';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound'>;

/** Changes with the protection rules, so that the memory does not return translations of older rules. */
export const protectionVersion = 2;

export type TextsToTranslate = Pick<ProviderCall<unknown>, 'tenantId' | 'caller' | 'signal' | 'timeouts'> & {
  operation: 'translation.text' | 'translation.i18n' | 'translation.entity' | 'translation.entity_type';
  texts: readonly string[];
  /** Two different languages (ISO 639-1). */
  source: string;
  target: string;
  html: boolean;
};

export type TranslatedTexts = {
  /** In the order of the texts. */
  texts: string[];
  /** The api_key of the connector, or "none" if there was nothing to translate. */
  provider: string;
  model: string | null;
  tokens: TokenUse | null;
};

/**
 * Translates all texts with the first provider whose answer keeps every placeholder and tag. Texts without words stay
 * unchanged.
 * @throws NoProvider (503) without a connector for the pair, ProvidersRefused (422) if all refuse, ProvidersFailed (502)
 *   if one failed
 */
export async function translateTexts(services: Dependencies, wanted: TextsToTranslate): Promise<TranslatedTexts> {
  const { texts, source, target, html: isHtml, ...call } = wanted;
  const isIdle = texts.every((text) => !takeApart(text, { isHtml }).some(isSegment));
  if (isIdle) return { texts: [...texts], provider: 'none', model: null, tokens: null };
  const { result, provider } = await callProviders(services, {
    ...call,
    isIdempotent: true,
    characters: texts.reduce((sum, text) => sum + text.length, 0),
    serves: (row) => serves(row) && isListedPair(row.config, { source, target }),
    attempt: async (settings, fetch) => {
      const engine = { adapter: usableAdapter(settings), settings, fetch };
      const translated = await translateAll(engine, { texts, source, target, isHtml });
      return { result: translated, ...(translated.tokens === null ? {} : { tokens: translated.tokens.total }) };
    },
  });
  return { ...result, provider: provider.key };
}

/** Settings may have been stored before the adapter required more. */
function usableAdapter(settings: Provider): TranslationAdapter {
  const adapter = adapterOf(settings)!;
  if (!isUsable(adapter, settings)) throw new ProviderFailure('credentials');
  return adapter;
}
