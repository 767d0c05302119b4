import { describe, expect, it } from 'vitest';

import { isUsable, missingSettings, settingsProblem } from '#modules/connectors/settings';
import { adapterOf, adapters } from '#modules/connectors/translation/adapters/adapters';

const settings = (
  config: Record<string, unknown>,
  credentials: Record<string, unknown> | null = { api_key: 'key' },
) => ({
  baseUrl: 'https://a.example',
  config,
  credentials,
});

describe('problem', () => {
  it.each<[string, Record<string, unknown>, (Record<string, unknown> | null)?]>([
    ['openai', { model: 'gpt-5-mini', temperature: 0.2, json_mode: true }],
    ['openai', { model: 'library/model:8b' }, null],
    ['libretranslate', {}],
    ['libretranslate', { language_map: { zh: 'zh-Hans' }, pairs: ['en-zh'] }, null],
    ['deepl', {}],
    ['deepl', { formality: 'more', language_map: { en: 'EN-US', pt: 'pt-BR' } }],
    ['apertium', { language_map: { pt: 'por_BR' }, pairs: ['en-es', 'es-en'] }, null],
    ['apertium', {}],
  ])('of %s with %j: undefined', (adapter, config, credentials) => {
    expect(isUsable(adapters[adapter]!, settings(config, credentials))).toBe(true);
  });

  it.each<[string, Record<string, unknown>, RegExp, (Record<string, unknown> | null)?]>([
    ['openai', {}, /config\.model/],
    ['openai', { model: '' }, /config\.model/],
    ['openai', { model: 'a', temperature: 3 }, /config\.temperature/],
    ['openai', { model: 'a', temperature: '0' }, /config\.temperature/],
    ['openai', { model: 'a', json_mode: 1 }, /config\.json_mode/],
    ['openai', { model: 'a' }, /auth_config\.api_key/, { api_key: 'two\nlines' }],
    ['openai', { model: 'a' }, /auth_config\.api_key/, { api_key: 5 }],
    ['deepl', {}, /auth_config\.api_key/, null],
    ['deepl', {}, /auth_config\.api_key/, {}],
    ['deepl', { formality: 'rude' }, /config\.formality/],
    ['libretranslate', {}, /auth_config\.api_key/, { api_key: '' }],
    ['apertium', {}, /auth_config\.api_key/, { api_key: 'with blanks in it' }],
    ...Object.keys(adapters).flatMap((adapter): [string, Record<string, unknown>, RegExp][] => [
      [adapter, { model: 'a', language_map: [] }, /language_map/],
      [adapter, { model: 'a', language_map: { pt: 'pt&key=x' } }, /language_map/],
      [adapter, { model: 'a', language_map: { PT: 'pt' } }, /language_map/],
      [adapter, { model: 'a', language_map: null }, /language_map/],
      [adapter, { model: 'a', pairs: 'en-es' }, /pairs/],
      [adapter, { model: 'a', pairs: ['en|es'] }, /pairs/],
    ]),
  ])('of %s with %j: %s, without the sent value', (adapter, config, problem, credentials) => {
    const given = settings(config, credentials);
    const [missing] = missingSettings(adapters[adapter]!, given);
    expect(missing ?? settingsProblem(adapters[adapter]!, given)).toMatch(problem);
  });
});

describe('request', () => {
  it.each([
    [
      'openai',
      'https://api.openai.com/v1',
      'https://api.openai.com/v1/chat/completions',
      'https://api.openai.com/v1/models',
    ],
    [
      'openai',
      'http://llm.example:8080/v1/?k=1',
      'http://llm.example:8080/v1/chat/completions?k=1',
      'http://llm.example:8080/v1/models?k=1',
    ],
    [
      'libretranslate',
      'https://libretranslate.com',
      'https://libretranslate.com/translate',
      'https://libretranslate.com/languages',
    ],
    [
      'deepl',
      'https://api-free.deepl.com',
      'https://api-free.deepl.com/v2/translate',
      'https://api-free.deepl.com/v2/usage',
    ],
    ['deepl', 'https://api.deepl.com/v2/', 'https://api.deepl.com/v2/translate', 'https://api.deepl.com/v2/usage'],
    [
      'apertium',
      'https://apertium.org/apy',
      'https://apertium.org/apy/translate',
      'https://apertium.org/apy/listPairs',
    ],
  ])('%s at %s calls %s, and %s for a health check', (adapter, baseUrl, url, check) => {
    const given = { ...settings({ model: 'a' }), baseUrl };
    const wanted = { texts: ['Hello'], source: 'en', target: 'es', isMarkup: false };
    expect(adapters[adapter]!.request(given, wanted).url).toBe(url);
    expect(adapters[adapter]!.check(given).url).toBe(check);
  });

  it('of openai contains the languages by name, with the region of regional ones', () => {
    const given = settings({ model: 'a', language_map: { pt: 'pt-BR' } });
    const { body } = adapters['openai']!.request(given, { texts: ['x'], source: 'en', target: 'pt', isMarkup: false });
    expect(JSON.parse(body).messages[0].content).toContain('from English (en) to Brazilian Portuguese (pt-BR)');
  });
});

describe('read of openai', () => {
  const read = (content: unknown, rest: Record<string, unknown> = {}) =>
    adapters['openai']!.read(
      settings({ model: 'asked-for' }),
      JSON.stringify({ choices: [{ message: { content } }], ...rest }),
      2,
    );

  it.each([
    ['{"translations":["a","b"]}'],
    ['["a","b"]'],
    ['```json\n{"translations": ["a", "b"]}\n```'],
    ['Here you are: {"translations":["a","b"]} I hope that helps.'],
    ['<think>Is it {"translations":["x"]}?</think>\n["a","b"]'],
    [
      [
        { type: 'text', text: '{"translations":' },
        { type: 'text', text: '["a","b"]}' },
      ],
    ],
  ])('accepts %j', (content) => {
    expect(read(content)).toEqual({ texts: ['a', 'b'], model: 'asked-for', tokens: null });
  });

  it.each([
    ['cut', { choices: [{ message: { content: '["a","b"]' }, finish_reason: 'length' }] }],
    ['withheld', { choices: [{ message: { content: '["a","b"]' }, finish_reason: 'content_filter' }] }],
    ['without choices', { choices: [] }],
    ['of another shape', { choices: { message: 'x' } }],
    ['a refusal', { choices: [{ message: { content: null, refusal: 'No.' } }] }],
    ['words only', { choices: [{ message: { content: 'I cannot do that.' } }] }],
  ])('refuses an answer that is %s', (_what, rest) => {
    expect(() => read('', rest)).toThrow(expect.objectContaining({ kind: 'content' }));
  });

  it.each([
    [
      { prompt_tokens: 5, completion_tokens: 7 },
      { input: 5, output: 7, total: 12 },
    ],
    [
      { prompt_tokens: 5, completion_tokens: 7, total_tokens: 20 },
      { input: 5, output: 7, total: 20 },
    ],
    [{ prompt_tokens: -5, completion_tokens: 7 }, null],
    [{ prompt_tokens: '5', completion_tokens: 7 }, null],
    [{ prompt_tokens: 5, completion_tokens: 1e30 }, null],
    [null, null],
  ])('counts the tokens of %j as %j', (usage, tokens) => {
    expect(read('["a","b"]', { usage }).tokens).toEqual(tokens);
  });
});

it.each([
  [{ adapter: 'deepl' }, 'any', 'deepl'],
  [{}, 'deepl', 'deepl'],
  [{ adapter: 'openai' }, 'deepl', 'openai'],
  [{}, 'any', undefined],
  [{ adapter: 'constructor' }, 'any', undefined],
  [{ adapter: 5 }, 'deepl', undefined],
])('the adapter of a connector with %j, called %s, is %s', (config, key, name) => {
  expect(adapterOf({ config, key })).toBe(name === undefined ? undefined : adapters[name]);
});
