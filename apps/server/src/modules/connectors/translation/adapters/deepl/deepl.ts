import { below, firstProblem, headerText, type ProviderSettings } from '#modules/connectors/provider';
import type { TranslationAdapter } from '#modules/connectors/translation/adapter';
import { field, parseJson, textsOf } from '#modules/connectors/translation/answers';
import { languageProblem, mappedLanguage } from '#modules/connectors/translation/languages.rules';

const version = '/v2';
const formality = /^(?:default|more|less|prefer_more|prefer_less)$/;

/**
 * DeepL's API, at `https://api.deepl.com` or `https://api-free.deepl.com`. `auth_config.api_key` is needed,
 * `config.formality` is passed on.
 */
export const deepl: TranslationAdapter = {
  maxTexts: 50,
  // A request is at most 128 KiB, and a character at most four bytes.
  maxCharacters: 24_000,
  parallel: 2,
  escapes: true,
  retry: 'never',
  needs: { auth_config: { api_key: headerText } },
  problem: ({ config }) =>
    (config['formality'] === undefined ? undefined : firstProblem('config', config, { formality })) ??
    languageProblem(config),
  request(settings, { texts, source, target, isMarkup }) {
    const { config } = settings;
    const theirs = (language: string) => (mappedLanguage(config, language) ?? language).toUpperCase();
    const body = {
      text: texts,
      // Only target languages have regional variants.
      source_lang: theirs(source).split(/[-_]/)[0],
      target_lang: theirs(target),
      ...(isMarkup ? { tag_handling: 'xml', ignore_tags: ['x'] } : {}),
      ...(config['formality'] === undefined ? {} : { formality: config['formality'] }),
    };
    return {
      url: at(settings, '/translate'),
      headers: { 'content-type': 'application/json', ...authorization(settings) },
      body: JSON.stringify(body),
    };
  },
  read(_settings, answer, count) {
    const translations = field(parseJson(answer), 'translations');
    const texts = Array.isArray(translations)
      ? translations.map((translation) => field(translation, 'text'))
      : undefined;
    return { texts: textsOf(texts, count), model: null, tokens: null };
  },
  check: (settings) => ({ url: at(settings, '/usage'), headers: authorization(settings) }),
};

function at({ baseUrl }: ProviderSettings, path: string): string {
  const isVersioned = /\/v2\/?$/.test(new URL(baseUrl).pathname);
  return below(baseUrl, `${isVersioned ? '' : version}${path}`);
}

function authorization({ credentials }: ProviderSettings): Record<string, string> {
  return { authorization: `DeepL-Auth-Key ${credentials!['api_key'] as string}` };
}
