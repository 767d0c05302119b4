import { below, firstProblem, headerText } from '#modules/connectors/provider';
import type { TranslationAdapter } from '#modules/connectors/translation/adapter';
import { field, parseJson, textsOf } from '#modules/connectors/translation/answers';
import { languageProblem, mappedLanguage } from '#modules/connectors/translation/languages.rules';

/** LibreTranslate and compatible servers. `auth_config.api_key` is for servers that require one. */
export const libretranslate: TranslationAdapter = {
  maxTexts: 25,
  // The public server accepts 2,000 characters per request.
  maxCharacters: 2000,
  parallel: 2,
  escapes: true,
  // The server decodes entities in its answers, so that markup and text that looks like it are indistinguishable.
  alsoProtects: /[<&>]+/,
  retry: 'apart',
  problem: ({ config, credentials }) =>
    (credentials?.['api_key'] === undefined
      ? undefined
      : firstProblem('auth_config', credentials, { api_key: headerText })) ?? languageProblem(config),
  request({ baseUrl, config, credentials }, { texts, source, target, isMarkup }) {
    const [from, to] = [source, target].map((language) => mappedLanguage(config, language) ?? language);
    const key = credentials?.['api_key'];
    const body = {
      q: texts,
      source: from,
      target: to,
      format: isMarkup ? 'html' : 'text',
      ...(key === undefined ? {} : { api_key: key }),
    };
    return {
      url: below(baseUrl, '/translate'),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
  },
  read: (_settings, answer, count) => ({
    texts: textsOf(field(parseJson(answer), 'translatedText'), count),
    model: null,
    tokens: null,
  }),
  check: ({ baseUrl }) => ({ url: below(baseUrl, '/languages'), headers: {} }),
};
