import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { connectorAt } from '#modules/connectors/translation/adapters/testing/provider';
import { hasApertium, startApertium, type Apertium } from '#modules/connectors/translation/testing/apertium';
import {
  connect,
  expectSound,
  htmlTexts,
  plainTexts,
  translate,
} from '#modules/connectors/translation/testing/samples';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({ environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });
const own = { adapter: 'apertium', basePath: '', config: {}, credentials: null };
const timeouts = { attemptMs: 60_000, totalMs: 60_000 };

describe.skipIf(!hasApertium)('Apertium itself, from apertium-apy and apertium-eng-spa', () => {
  let engine: Apertium;
  let tenant: Tenant;

  beforeAll(async () => {
    [engine, tenant] = await Promise.all([startApertium(), createTenant(test)]);
    await connect(test, tenant, [connectorAt(own, engine, { api_key: 'real' })]);
  });
  afterAll(() => engine.stop());

  const spanish = async (texts: readonly string[], html = false) =>
    (await translate(test, tenant, texts, { html, timeouts })).texts;

  it('translates in both directions', async () => {
    const there = await translate(test, tenant, ['The red house is big.', 'Good morning']);
    const texts = ['La casa roja es grande.', 'Buenos días'];
    expect(there).toEqual({ texts, provider: 'real', model: null, tokens: null });
    const back = await translate(test, tenant, ['La casa roja es grande.'], { source: 'es', target: 'en' });
    expect(back.texts).toEqual(['The red house is big.']);
  });

  it('keeps placeholders, lines, the marks of Apertium, and characters of all kinds', async () => {
    expectSound(plainTexts, await spanish(plainTexts), false);
    expect(await spanish(['Hello {{name}}, the red house is *big*.'])).toEqual([
      'Hola {{name}}, la casa roja es *grande*.',
    ]);
  });

  it('keeps tags and their attributes', async () => {
    const texts = await spanish(htmlTexts, true);
    expectSound(htmlTexts, texts, true);
    expect(texts[5]).toMatch(/^<table><tr><td>C.* u.*<\/td><td><\/td><\/tr><\/table>$/);
    expect(await spanish(['<p>The house is <a href="/x?a&amp;b">big</a>.</p>'], true)).toEqual([
      '<p>La casa es <a href="/x?a&amp;b">grande</a>.</p>',
    ]);
  });

  it('removes the mark of Apertium from unknown words', async () => {
    const [text] = await spanish(['The Frobnicator is blorgish and quuxes.']);
    expect(text).toMatch(/Frobnicator.*blorgish.*quuxes/);
    expect(text).not.toMatch(/[*#@]/);
  });

  it('translates 10,000 characters completely, and many texts in order', async () => {
    const long = 'The red house is big, {{name}}. '.repeat(312);
    expect(await spanish([long])).toEqual(['La casa roja es grande, {{name}}. '.repeat(312)]);
    const many = Array.from({ length: 60 }, (_, index) => `The red house ${index + 2}`);
    expect(await spanish(many)).toEqual(many.map((_, index) => `La casa roja ${index + 2}`));
  });

  it('keeps the parts of a text in order', async () => {
    const part = fc.constantFrom(
      'the house ',
      'big ',
      'is ',
      'my {{x}}',
      "friend's ",
      '<b>',
      '</b>',
      '<i>red ',
      '</i>',
      '<br>',
      ', ',
      '%s ',
      '&amp; ',
      '* ',
      'of ',
      '&nbsp;',
      '[a] ',
      '\\',
      '. ',
      '<a href="/x">',
      '</a>',
    );
    const texts = fc
      .sample(fc.array(part, { minLength: 5, maxLength: 20 }), { seed: 42, numRuns: 100 })
      .map((parts) => parts.join(''));
    expectSound(texts, await spanish(texts, true), true);
  });

  it('422: languages that are not installed', async () => {
    await expect(translate(test, tenant, ['Hello'], { target: 'fr' })).rejects.toMatchObject({ status: 422 });
  });

  it('503: languages that the connector does not list', async () => {
    await connect(test, tenant, [connectorAt({ ...own, config: { pairs: ['en-es'] } }, engine, { api_key: 'real' })]);
    expect((await translate(test, tenant, ['Good morning'])).texts).toEqual(['Buenos días']);
    await expect(translate(test, tenant, ['Hello'], { target: 'fr' })).rejects.toMatchObject({ status: 503 });
  });
});
