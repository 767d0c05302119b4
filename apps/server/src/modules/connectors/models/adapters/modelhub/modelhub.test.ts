import { describe, expect, it } from 'vitest';

import { modelhub } from '#modules/connectors/models/adapters/modelhub/modelhub';

const settings = (rest: object = {}) => ({
  baseUrl: 'https://openrouter.ai/api/v1',
  config: {},
  credentials: null,
  ...rest,
});
const read = (entries: unknown[], task: 'text' | 'image' = 'text') =>
  modelhub.read(JSON.stringify({ data: entries }), task);
const readOne = (entry: object) => read([{ id: 'acme/a', name: 'A', ...entry }]).models[0]!;
const pricesOf = (pricing: string) => {
  const body = `{"data":[{"id":"a","pricing":${pricing}}]}`;
  const { promptPrice, completionPrice } = modelhub.read(body, 'text').models[0]!;
  return [promptPrice, completionPrice];
};

describe('request', () => {
  it.each([
    ['https://openrouter.ai/api/v1', 'https://openrouter.ai/api/v1/models?output_modalities=text'],
    ['https://openrouter.ai/api/v1/', 'https://openrouter.ai/api/v1/models?output_modalities=text'],
    ['https://a.example/?key=1', 'https://a.example/models?key=1&output_modalities=text'],
  ])('%s calls %s', (baseUrl, url) => {
    expect(modelhub.request(settings({ baseUrl }), 'text').url).toBe(url);
  });

  it('sends only the token, if there is one', () => {
    expect(modelhub.request(settings(), 'image').headers).toEqual({ accept: 'application/json' });
    const { headers } = modelhub.request(settings({ credentials: { token: 't', other: 'o' } }), 'image');
    expect(headers).toEqual({ accept: 'application/json', authorization: 'Bearer t' });
  });
});

describe('problem', () => {
  it.each([
    [null, undefined],
    [{}, undefined],
    [{ token: 't' }, undefined],
    [{ token: 5 }, 'auth_config.token has to be a text.'],
    [{ token: 'a\r\nb' }, 'auth_config.token has not the form that the provider expects.'],
  ])('%j: %s', (credentials, problem) => {
    expect(modelhub.problem(settings({ credentials }))).toBe(problem);
  });
});

describe('read', () => {
  it.each([
    // As it was received, to the last zero.
    ['"0.00000015"', '0.00000015'],
    ['"0.0000060"', '0.0000060'],
    ['"0"', '0'],
    ['"0.000"', '0.000'],
    ['"12"', '12'],
    // A number as it was written, which floating point would not keep.
    ['0', '0'],
    ['0.1', '0.1'],
    ['0.10', '0.10'],
    ['0.12345678901234567890123456789', '0.12345678901234567890123456789'],
    ['1e-7', '0.0000001'],
    ['1.5E-7', '0.00000015'],
    ['"2.50e-06"', '0.00000250'],
    ['"1e3"', '1000'],
    ['"1.25e1"', '12.5'],
    ['"0.5e0"', '0.5'],
    ['"0.05e1"', '0.5'],
    // Unknown prices.
    ['"-1"', null],
    ['-1', null],
    ['-0', null],
    ['"-0"', null],
    ['"-1e-7"', null],
    ['""', null],
    ['" 1"', null],
    ['"+1"', null],
    ['".5"', null],
    ['"1."', null],
    ['"1,5"', null],
    ['"free"', null],
    ['"NaN"', null],
    ['"Infinity"', null],
    ['1e400', null],
    ['"1e-999"', null],
    [`"${'1'.repeat(81)}"`, null],
    ['null', null],
    ['true', null],
    ['[0]', null],
    ['{"usd":"0"}', null],
  ])('a price of %s is %s', (received, price) => {
    expect(pricesOf(`{"prompt":${received}}`)).toEqual([price, null]);
  });

  it.each(['null', '"free"', '0', '[]', '{}'])('reads no prices from pricing that is %s', (pricing) => {
    expect(pricesOf(pricing)).toEqual([null, null]);
  });

  it('reads no prices without pricing', () => {
    expect(readOne({})).toMatchObject({
      promptPrice: null,
      completionPrice: null,
      imagePrice: null,
      requestPrice: null,
    });
  });

  it.each<[object, object]>([
    [{ name: undefined }, { name: 'acme/a' }],
    [{ name: '  ' }, { name: 'acme/a' }],
    [{ name: 'A\u0000\u001bB' }, { name: 'AB' }],
    [{ description: undefined }, { description: null }],
    [{ description: 5 }, { description: null }],
    [{ description: 'a\u0000b\nc' }, { description: 'ab\nc' }],
    [{ description: 'a\ud800b' }, { description: 'a\ufffdb' }],
    [{ description: 'x'.repeat(20_000) }, { description: 'x'.repeat(10_000) }],
    [{ context_length: 1 }, { contextLength: 1 }],
    [{ context_length: 0 }, { contextLength: null }],
    [{ context_length: -5 }, { contextLength: null }],
    [{ context_length: 1.5 }, { contextLength: null }],
    [{ context_length: 1e300 }, { contextLength: null }],
    [{ context_length: '4096' }, { contextLength: null }],
    [{ expiration_date: '2026-02-01' }, { expiresAt: '2026-02-01T00:00:00.000Z' }],
    [{ expiration_date: '2026-02-01T10:00:00+02:00' }, { expiresAt: '2026-02-01T08:00:00.000Z' }],
    [{ expiration_date: 'soon' }, { expiresAt: null }],
    [{ expiration_date: '2026-99-99' }, { expiresAt: null }],
    [{ expiration_date: 20_260_201 }, { expiresAt: null }],
  ])('%j becomes %j', (entry, expected) => {
    expect(readOne(entry)).toMatchObject(expected);
  });

  it.each([
    [{ output_modalities: ['text'] }, ['text']],
    [{ output_modalities: ['image'] }, ['image']],
    [{ output_modalities: ['text', 'image'] }, ['text', 'image']],
    [{ output_modalities: ['audio'] }, []],
    [{ output_modalities: [] }, []],
    [{ modality: 'text+image->text' }, ['text']],
    [{ modality: 'text->text+image' }, ['text', 'image']],
    [{ modality: 'text->image' }, ['image']],
    [{ modality: 'text' }, ['text']],
    [{ modality: 5 }, ['text']],
    [{}, ['text']],
    ['canary', ['text']],
    [undefined, ['text']],
  ])('architecture %j makes %j', (architecture, tasks) => {
    const found = (['text', 'image'] as const).filter((task) => read([{ id: 'a', architecture }], task).models.length);
    expect(found).toEqual(tasks);
  });

  it('does not count models for another task as dropped', () => {
    expect(read([{ id: 'a', architecture: { modality: 'text->image' } }], 'text')).toEqual({ models: [], dropped: 0 });
    expect(read([], 'text')).toEqual({ models: [], dropped: 0 });
  });

  it.each([
    [{ id: '' }],
    [{ id: 'with space' }],
    [{ id: 'nul\u0000' }],
    [{ id: 'x'.repeat(201) }],
    [{ id: 'ü' }],
    [{ id: 'a', name: 5 }],
    [{ id: 'a', name: 'x'.repeat(501) }],
    [{ name: 'no id' }],
  ])('drops %j', (entry) => {
    expect(read([entry, { id: 'good' }])).toMatchObject({ models: [{ id: 'good' }], dropped: 1 });
  });

  it('keeps the first of two models with the same id', () => {
    const { models, dropped } = read([
      { id: 'a', name: 'First' },
      { id: 'a', name: 'Second' },
    ]);
    expect([models.map(({ name }) => name), dropped]).toEqual([['First'], 1]);
  });

  it('reads at most 5,000 models', () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ id: `acme/${at}`, name: `Model ${at}` }));
    expect(read(many(5000))).toMatchObject({ models: { length: 5000 }, dropped: 0 });
    expect(read(many(12_000))).toMatchObject({ models: { length: 5000 }, dropped: 7000 });
  });

  it('keeps 1 MiB of descriptions, and later models without them', () => {
    const description = 'x'.repeat(10_000);
    const { models } = read(Array.from({ length: 200 }, (_, at) => ({ id: `acme/${at}`, description })));
    expect(models).toHaveLength(200);
    expect(models.filter((model) => model.description !== null)).toHaveLength(104);
    expect(models.findLastIndex((model) => model.description !== null)).toBe(103);
  });

  it('keeps a text that looks like a price in another field unchanged', () => {
    const description = 'The "prompt": 0.10, is \\"prompt\\": 0.20, or {"prompt":5}';
    const entry = { id: 'acme/a', description, pricing: { prompt: 0.5 } };
    expect(readOne(entry)).toMatchObject({ description, promptPrice: '0.5' });
  });

  it.each(['{"prompt":01}', '{"prompt":1.}', '{"prompt":0x1}', '{"prompt":1 2}', '{"prompt":-}'])(
    'fails for %s, which is not JSON',
    (pricing) => {
      expect(() => pricesOf(pricing)).toThrow(/content/);
    },
  );

  it('treats names of Object.prototype as plain data', () => {
    const body = '{"data":[{"id":"__proto__","__proto__":{"pricing":{"prompt":"0"}},"constructor":1}]}';
    expect(modelhub.read(body, 'text').models).toMatchObject([{ id: '__proto__', promptPrice: null }]);
  });
});
