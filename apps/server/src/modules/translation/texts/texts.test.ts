import { beforeEach, describe, expect, it } from 'vitest';

import { flagNames } from '#core/base/access/flags';
import { environment, path } from '#modules/translation/testing/tenants';
import { inLanguage, provideTranslator } from '#modules/translation/testing/translator';
import { appOf, keyOf, race } from '#test/support/directory';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService({ environment });
let tenant: Tenant;
let member: Call;

beforeEach(async () => {
  tenant = await createTenant(test);
  member = { token: (await createMember(test, tenant)).token };
});

const toGerman = (text = 'Hall') => ({ text, source_language: 'en', target_language: 'de' });
const translate = (body: unknown, by = member) => test.call('POST', `${path}/text`, { ...by, body });

describe('translateText', () => {
  it('200: the translation, with all fields of the answer', async () => {
    const { key, requests } = await provideTranslator(test, tenant);
    const { status, body } = await translate(toGerman());
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        data: {
          translated_text: inLanguage('de', 'Hall'),
          source_language: 'en',
          target_language: 'de',
          provider_used: key,
          model_used: null,
          cached: false,
          char_count: 4,
          tokens_used: null,
        },
      },
    });
    expect(requests).toMatchObject([{ q: ['Hall'], source: 'en', target: 'de' }]);
  });

  it('200: the same text again is from memory and names the provider that made it', async () => {
    const { key, requests } = await provideTranslator(test, tenant);
    const first = (await translate(toGerman())).body.data;
    const second = (await translate(toGerman(), { token: tenant.admin.token })).body.data;
    expect(second).toEqual({ ...first, cached: true, provider_used: key });
    expect(requests).toHaveLength(1);
  });

  it.each([
    ['another text', { text: 'Halls' }],
    ['another case', { text: 'hall' }],
    ['another source', { source_language: 'nl' }],
    ['another target', { target_language: 'fr' }],
    ['markup', { preserve_html: true }],
  ])('200: %s is a separate entry in memory', async (_, change) => {
    const { requests } = await provideTranslator(test, tenant);
    await translate(toGerman());
    expect((await translate({ ...toGerman(), ...change })).body.data).toMatchObject({ cached: false });
    expect(requests).toHaveLength(2);
  });

  it('200: translations of one tenant are not in the memory of another', async () => {
    await provideTranslator(test, tenant);
    await translate(toGerman());
    const other = await createTenant(test);
    const { key } = await provideTranslator(test, other);
    const { body } = await translate(toGerman(), { token: other.admin.token });
    expect(body.data).toMatchObject({ cached: false, provider_used: key });
  });

  it('200: tags are kept if requested', async () => {
    await provideTranslator(test, tenant);
    const text = '<p>Hall <b class="x">one</b></p>';
    const { body } = await translate({ ...toGerman(text), preserve_html: true });
    expect(body.data.translated_text).toMatch(/^<p>.*<b class="x">.*<\/b>.*<\/p>$/);
  });

  it('200: equal languages call no provider', async () => {
    const text = ' Hall {{name}} <b>\u{1F600}</b> ';
    const { status, body } = await translate({ text, source_language: 'EN', target_language: 'en' });
    expect({ status, data: body.data }).toEqual({
      status: 200,
      data: {
        translated_text: text,
        source_language: 'en',
        target_language: 'en',
        provider_used: 'none',
        model_used: null,
        cached: false,
        char_count: 24,
        tokens_used: null,
      },
    });
  });

  it('200: language codes in upper case, characters beyond 16 bits, and the longest text', async () => {
    await provideTranslator(test, tenant);
    const emoji = await translate({ text: '\u{1F600} hi', source_language: 'EN', target_language: 'De' });
    expect(emoji.body.data).toMatchObject({ source_language: 'en', target_language: 'de', char_count: 4 });
    const longest = 'words and '.repeat(1000);
    const { status, body } = await translate(toGerman(longest));
    expect({ status, count: body.data.char_count }).toEqual({ status: 200, count: 10_000 });
  });

  it('200: the next provider after the first one fails, within one request', async () => {
    const broken = await provideTranslator(test, tenant, { priority: 1 });
    broken.misbehave((response) => response.writeHead(500).end('internal secret'));
    const { key } = await provideTranslator(test, tenant, { priority: 2 });
    expect((await translate(toGerman())).body.data).toMatchObject({ provider_used: key });
    expect(broken.requests.length).toBeGreaterThan(0);
  });

  it.each(['bob.smith@evil.com', '{n}', '%s', ':name', '//evil.com/x', 'javascript:alert(1)'])(
    '200: the next provider where the answer brings %s',
    async (brought) => {
      const bad = await provideTranslator(test, tenant, { priority: 1 });
      bad.misbehave((response) => response.end(JSON.stringify({ translatedText: [`Halle ${brought}`] })));
      const { key } = await provideTranslator(test, tenant, { priority: 2 });
      for (const preserve_html of [false, true]) {
        const { body } = await translate({ ...toGerman(), preserve_html });
        expect(body.data).toMatchObject({ provider_used: key, translated_text: inLanguage('de', 'Hall') });
      }
      expect(bad.requests.length).toBeGreaterThan(1);
    },
  );

  it.each([
    ['no text', { text: '' }],
    ['only space', { text: ' \n\t' }],
    ['a text that is too long', { text: 'x'.repeat(10_001) }],
    ['a number for a text', { text: 5 }],
    ['a language of three letters', { target_language: 'deu' }],
    ['a language of digits', { target_language: '12' }],
    ['no source', { source_language: undefined }],
    ['null for the target', { target_language: null }],
    ['a text for a boolean', { preserve_html: 'true' }],
    ['an unknown property', { tone: 'formal' }],
  ])('400: %s', async (_, change) => {
    expectError(await translate({ ...toGerman(), ...change }), 400, 'VALIDATION_ERROR');
  });

  it('401, 403: without credentials; every key and app account', async () => {
    expectError(await translate(toGerman(), {}), 401, 'AUTHENTICATION_ERROR');
    const all = Object.groupBy(flagNames, (flag) => flag.split('.')[0]!);
    const permissions = Object.fromEntries(
      Object.entries(all).map(([section, flags]) => [
        section,
        Object.fromEntries(flags!.map((flag) => [flag.split('.')[1]!, true])),
      ]),
    );
    const { spaces, resources } = permissions;
    expectError(await translate(toGerman(), await keyOf(test, tenant, permissions)), 403, 'AUTHORIZATION_ERROR');
    const app = await appOf(test, tenant, { spaces, resources });
    expectError(await translate(toGerman(), app), 403, 'AUTHORIZATION_ERROR');
  });

  it.each([{ source_language: 'xx' }, { target_language: 'qq' }])('422: %j has an unknown language', async (change) => {
    await provideTranslator(test, tenant);
    expectError(await translate({ ...toGerman(), ...change }), 422, 'UNPROCESSABLE_ENTITY', 'UNKNOWN_LANGUAGE');
  });

  it('429: the sixty-first text in a minute, but not from the memory; other callers are not limited', async () => {
    await provideTranslator(test, tenant);
    const counts = await race(100, (at) => translate(toGerman(`Hall ${'abcdefghij'[at % 10]}${Math.floor(at / 10)}x`)));
    expect(counts).toEqual({ 200: 60, 429: 40 });
    const refused = await translate(toGerman('Something else'));
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_TRANSLATIONS');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    const again = await race(100, (at) => translate({ ...toGerman(), target_language: at % 2 === 0 ? 'en' : 'EN' }));
    expect(again).toEqual({ 200: 100 });
    expect((await translate(toGerman('Something else'), { token: tenant.admin.token })).status).toBe(200);
    expect((await translate(toGerman('Something else'))).body.data).toMatchObject({ cached: true });
  });

  it('422: all providers refuse it; the answer gives no reason and nothing is remembered', async () => {
    const { misbehave, requests } = await provideTranslator(test, tenant);
    misbehave((response) => response.writeHead(400).end('internal secret'));
    for (let count = 0; count < 2; count++) {
      const answer = await translate(toGerman());
      expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'REFUSED_BY_PROVIDERS');
      expect(answer.text).not.toMatch(/secret|127\.0\.0\.1/);
    }
    expect(requests).toHaveLength(2);
  });

  it('502: all providers have failed; the answer gives no reason', async () => {
    const { misbehave } = await provideTranslator(test, tenant);
    misbehave((response) => response.writeHead(500).end('internal secret'));
    const answer = await translate(toGerman());
    expectError(answer, 502, 'UPSTREAM_ERROR');
    expect(answer.text).not.toMatch(/secret|127\.0\.0\.1/);
  });

  it('502: with Retry-After if all are paused', async () => {
    const hurried = await provideTranslator(test, tenant);
    hurried.misbehave((response) => response.writeHead(429, { 'retry-after': '120' }).end());
    expectError(await translate(toGerman()), 502, 'UPSTREAM_ERROR');
    const answer = await translate(toGerman());
    expectError(answer, 502, 'UPSTREAM_ERROR');
    const seconds = Number(answer.headers['retry-after']);
    expect([seconds > 60, seconds <= 120, hurried.requests.length]).toEqual([true, true, 1]);
  });

  it('502: with Retry-After if the last resort was called recently', async () => {
    const broken = await provideTranslator(test, tenant);
    broken.misbehave((response) => response.writeHead(500).end());
    // Five failures switch it off; then it is tried once, and not again at once.
    for (let times = 0; times < 6; times += 1) expectError(await translate(toGerman()), 502, 'UPSTREAM_ERROR');
    const answer = await translate(toGerman());
    expectError(answer, 502, 'UPSTREAM_ERROR');
    expect(answer.headers['retry-after']).toBe('5');
    expect(broken.requests).toHaveLength(6);
  });

  it('503: without a provider', async () => {
    expectError(await translate(toGerman()), 503, 'SERVICE_UNAVAILABLE', 'NO_PROVIDER');
  });
});
