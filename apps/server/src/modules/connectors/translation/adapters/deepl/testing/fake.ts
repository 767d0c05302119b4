import { shout, type Fake, type Verdict } from '#modules/connectors/translation/adapters/testing/provider';

const key = 'canary01-2345-6789-abcd-ef0123456789:fx';

/** DeepL's API reference, "Translate text", "Translating XML" and "Error handling". */
export const deeplFake: Fake = {
  adapter: 'deepl',
  basePath: '',
  config: { formality: 'prefer_less', language_map: { en: 'en-GB', pt: 'pt-BR' } },
  credentials: { api_key: key },
  wrongCredentials: { api_key: 'canary of another account' },
  quotaExceeded: { status: 456, body: { message: 'Quota Exceeded canary' } },
  respond({ method, url, headers, body }): Verdict {
    if (headers.authorization !== `DeepL-Auth-Key ${key}`) return refuse(403, 'Forbidden canary');
    if (method === 'GET' && url.pathname === '/v2/usage')
      return { status: 200, body: { character_count: 1, character_limit: 2 } };
    if (method !== 'POST' || url.pathname !== '/v2/translate') return refuse(404, 'Not found');
    if (Buffer.byteLength(body) > 128 * 1024) return refuse(413, 'Payload Too Large');
    return judgeText(JSON.parse(body) as Record<string, any>);
  },
  answer: (texts) => ({ translations: texts.map((text) => ({ detected_source_language: 'EN', text })) }),
};

function judgeText({ text: texts, source_lang: from, target_lang: to, ...rest }: Record<string, any>): Verdict {
  const { tag_handling: handling, ignore_tags: ignored, formality, ...unknown } = rest;
  if (Object.keys(unknown).length > 0 || formality !== 'prefer_less')
    return refuse(400, 'Bad request. Reason: unknown parameter');
  if (!/^[A-Z]{2}$/.test(from as string)) return refuse(400, "Value for 'source_lang' not supported.");
  if (!/^[A-Z]{2}(?:-[A-Z]{2,4})?$/.test(to as string)) return refuse(400, "Value for 'target_lang' not supported.");
  if (!Array.isArray(texts) || texts.length > 50) return refuse(400, 'Too many texts');
  if (handling === undefined) return { texts: (texts as string[]).map((text) => text.toUpperCase()) };
  if (handling !== 'xml' || (ignored as string[]).join() !== 'x') return refuse(400, 'Bad request');
  if (!(texts as string[]).every(isWellFormed)) return refuse(400, 'Tag handling parsing failed, please check input.');
  return { texts: (texts as string[]).map(shout) };
}

/** As strictly as version 2 of its tag handling reads. */
function isWellFormed(text: string): boolean {
  const open: string[] = [];
  for (const [whole, slash, name, end] of text.matchAll(
    /<(\/?)(\w+)(?: \w+="[^"<>]*")*(\/?)>|[<>]|&(?!(?:amp|lt|gt);)/g,
  )) {
    if (name === undefined) return false;
    if (slash === '/' && open.pop() !== name) return false;
    if (slash === '' && end === '') open.push(name);
    if (whole.length > 100) return false;
  }
  return open.length === 0;
}

function refuse(status: number, message: string): Verdict {
  return { status, body: { message } };
}
