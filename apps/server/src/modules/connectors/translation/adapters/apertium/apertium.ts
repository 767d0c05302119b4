import { below, firstProblem, type ProviderSettings } from '#modules/connectors/provider';
import type { TranslationAdapter } from '#modules/connectors/translation/adapter';
import { field, parseJson, textsOf } from '#modules/connectors/translation/answers';
import { languageProblem, mappedLanguage } from '#modules/connectors/translation/languages.rules';

// ISO 639-3 of the languages that Apertium has, by ISO 639-1.
const codes = new Map(
  (
    'af:afr an:arg ar:ara as:asm az:aze ba:bak be:bel bg:bul bn:ben br:bre bs:bos ca:cat cs:ces cv:chv cy:cym da:dan ' +
    'de:deu el:ell en:eng eo:epo es:spa et:est eu:eus fa:pes fi:fin fo:fao fr:fra ga:gle gd:gla gl:glg gu:guj gv:glv ' +
    'he:heb hi:hin hr:hrv hu:hun hy:hye ia:ina id:ind is:isl it:ita ja:jpn ka:kat kk:kaz ku:kmr ky:kir la:lat lt:lit ' +
    'lv:lav mk:mkd ml:mal mr:mar ms:msa mt:mlt nb:nob ne:nep nl:nld nn:nno no:nob oc:oci os:oss pa:pan pl:pol pt:por ' +
    'rm:roh ro:ron ru:rus sc:srd se:sme si:sin sk:slk sl:slv sq:sqi sr:srp sv:swe sw:swa ta:tam te:tel tg:tgk tk:tuk ' +
    'tl:tgl tr:tur tt:tat uk:ukr ur:urd uz:uzb vi:vie yi:yid zh:zho'
  )
    .split(' ')
    .map((line) => line.split(':') as [string, string]),
);

/** Apertium's web service, apertium-apy. `auth_config.api_key` is for servers that require one. */
export const apertium: TranslationAdapter = {
  maxTexts: 1,
  // The server splits longer texts, even inside markers, and drops the rest after ten splits.
  maxCharacters: 900,
  parallel: 4,
  escapes: true,
  // The server marks unknown words with these characters, and later removes them together with those of the text.
  alsoProtects: /[*#@]+/,
  retry: 'apart',
  problem: ({ config, credentials }) =>
    (credentials?.['api_key'] === undefined
      ? undefined
      : firstProblem('auth_config', credentials, { api_key: /^[\x21-\x7e]{1,200}$/ })) ?? languageProblem(config),
  request(settings, { texts, source, target, isMarkup }) {
    const { baseUrl, config, credentials } = settings;
    const [from, to] = [source, target].map(
      (language) => mappedLanguage(config, language) ?? codes.get(language) ?? language,
    );
    const key = credentials?.['api_key'];
    const form = new URLSearchParams({
      langpair: `${from}|${to}`,
      format: isMarkup ? 'html' : 'txt',
      markUnknown: 'no',
      q: texts[0]!,
      ...(typeof key === 'string' ? { key } : {}),
    });
    return {
      url: below(baseUrl, '/translate'),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    };
  },
  read(_settings: ProviderSettings, answer, count) {
    const text = field(field(parseJson(answer), 'responseData'), 'translatedText');
    const [translated] = textsOf([text], count);
    return { texts: [withoutMarks(translated!)], model: null, tokens: null };
  },
  check: ({ baseUrl }) => ({ url: below(baseUrl, '/listPairs'), headers: {} }),
};

/** Those of the text were sent as markers, so the remaining ones are Apertium's marks of unknown words. */
function withoutMarks(text: string): string {
  return text.replaceAll(/(?<![\p{L}\p{N}&])[*#@](?=[\p{L}\p{N}])/gu, '');
}
