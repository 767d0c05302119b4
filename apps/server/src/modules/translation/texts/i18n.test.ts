import { beforeEach, describe, expect, it } from 'vitest';

import { createTenantOf, environment, path } from '#modules/translation/testing/tenants';
import { inLanguage, provideTranslator } from '#modules/translation/testing/translator';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService({ environment });
let tenant: Tenant;
let member: Call;

beforeEach(async () => {
  tenant = await createTenantOf(test);
  member = { token: (await createMember(test, tenant)).token };
});

const translate = (body: unknown, by = member) => test.call('POST', `${path}/i18n`, { ...by, body });
const german = (text: string) => inLanguage('de', text);
const french = (text: string) => inLanguage('fr', text);

describe('translateI18n', () => {
  it('200: into all languages of the tenant except the source, including existing texts', async () => {
    const { key, requests } = await provideTranslator(test, tenant);
    const { status, body } = await translate({
      i18n_data: { en: { name: 'Hall', description: 'For many' }, de: { name: 'Saal' }, es: { name: 'Sala' } },
    });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        data: {
          translations_i18n: {
            en: { name: 'Hall', description: 'For many' },
            de: { name: german('Hall'), description: german('For many') },
            fr: { name: french('Hall'), description: french('For many') },
            es: { name: 'Sala', description: null },
          },
          languages_translated: ['de', 'fr'],
          provider_used: key,
          cached: false,
        },
      },
    });
    expect(requests.map(({ source }) => source)).toEqual(['en', 'en']);
  });

  it('200: from the first language with a text', async () => {
    await provideTranslator(test, tenant);
    const i18n_data = { fr: { name: ' ', description: null }, de: { description: 'Ein Raum' }, en: { name: 'Hall' } };
    const { data } = (await translate({ i18n_data })).body;
    expect(data).toMatchObject({
      translations_i18n: {
        fr: { name: ' ', description: french('Ein Raum') },
        de: { name: null, description: 'Ein Raum' },
        en: { name: 'Hall', description: inLanguage('en', 'Ein Raum') },
      },
      languages_translated: ['en', 'fr'],
    });
  });

  it('200: with given source and targets, each once, and never into the source', async () => {
    await provideTranslator(test, tenant);
    const asked = { source_language: 'DE', target_languages: ['es', 'ES', 'de', 'it'] };
    const { data } = (await translate({ i18n_data: { en: { name: 'Hall' }, de: { name: 'Saal' } }, ...asked })).body;
    expect(data).toMatchObject({ languages_translated: ['es', 'it'] });
    expect(data.translations_i18n).toEqual({
      en: { name: 'Hall', description: null },
      de: { name: 'Saal', description: null },
      es: { name: inLanguage('es', 'Saal'), description: null },
      it: { name: inLanguage('it', 'Saal'), description: null },
    });
  });

  it('200: cached only if all texts were remembered', async () => {
    await provideTranslator(test, tenant);
    const both = { i18n_data: { en: { name: 'Hall', description: 'For many' } } };
    await translate({ i18n_data: { en: { name: 'Hall' } } });
    expect((await translate({ i18n_data: { en: { name: 'Hall' } } })).body.data).toMatchObject({ cached: true });
    expect((await translate(both)).body.data).toMatchObject({ cached: false });
    expect((await translate(both)).body.data).toMatchObject({ cached: true });
  });

  it('200: tags in a description are kept', async () => {
    await provideTranslator(test, tenant);
    const description = '<ul><li>Hall</li></ul>';
    const { data } = (await translate({ i18n_data: { en: { description } }, target_languages: ['de'] })).body;
    expect(data.translations_i18n.de.description).toMatch(/^<ul><li>.*<\/li><\/ul>$/);
  });

  it('200: no provider is called without a target language', async () => {
    const single = await createTenant(test);
    const { status, body } = await translate({ i18n_data: { en: { name: 'Hall' } } }, { token: single.admin.token });
    expect({ status, data: body.data }).toEqual({
      status: 200,
      data: {
        translations_i18n: { en: { name: 'Hall', description: null } },
        languages_translated: [],
        provider_used: 'none',
        cached: false,
      },
    });
  });

  it('200: a failed language does not affect the others', async () => {
    const { misbehave, requests } = await provideTranslator(test, tenant);
    misbehave((response) => {
      const { q, target } = requests.at(-1)!;
      if (target === 'fr') response.writeHead(400).end();
      else response.end(JSON.stringify({ translatedText: q.map(german) }));
    });
    const { status, body } = await translate({ i18n_data: { en: { name: 'Hall' } } });
    expect({ status, languages: body.data.languages_translated }).toEqual({ status: 200, languages: ['de'] });
    expect(body.data.translations_i18n).not.toHaveProperty('fr');
  });

  it('422: all providers refuse all texts', async () => {
    const { misbehave } = await provideTranslator(test, tenant);
    misbehave((response) => response.writeHead(400).end('canary'));
    const answer = await translate({ i18n_data: { en: { name: 'Hall' } } });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'REFUSED_BY_PROVIDERS');
  });

  it('200: the language of texts under an invalid code is detected', async () => {
    const { requests } = await provideTranslator(test, tenant);
    const name = 'Der große Saal im Erdgeschoss neben dem Eingang';
    const { body } = await translate({ i18n_data: { xx: { name } } });
    expect(body.data.languages_translated).toEqual(['en', 'fr']);
    expect(requests.map(({ source }) => source)).toEqual(['de', 'de']);
  });

  it.each([
    ['no language', {}],
    ['a language of three letters', { eng: { name: 'Hall' } }],
    ['a language in capitals', { EN: { name: 'Hall' } }],
    ['a text in place of texts', { en: 'Hall' }],
    ['a field besides name and description', { en: { name: 'Hall', title: 'Hall' } }],
    ['a number for a name', { en: { name: 5 } }],
    ['a name that is too long', { en: { name: 'x'.repeat(1001) } }],
    ['a list', [{ name: 'Hall' }]],
    ['null', null],
  ])('400: %s', async (_, data) => {
    expectError(await translate({ i18n_data: data }), 400, 'VALIDATION_ERROR');
  });

  it.each([
    ['no target', { target_languages: [] }],
    ['a target of three letters', { target_languages: ['deu'] }],
    ['an unknown property', { cached: true }],
  ])('400: %s', async (_, rest) => {
    expectError(await translate({ i18n_data: { en: { name: 'Hall' } }, ...rest }), 400, 'VALIDATION_ERROR');
  });

  it.each([
    ['no text at all', { i18n_data: { en: { name: '', description: ' ' }, de: {} } }, 'NOTHING_TO_TRANSLATE'],
    ['none in the source', { i18n_data: { en: { name: 'Hall' } }, source_language: 'de' }, 'NOTHING_TO_TRANSLATE'],
    ['an unknown source', { i18n_data: { en: { name: 'Hall' } }, source_language: 'xx' }, 'UNKNOWN_LANGUAGE'],
    ['an unknown target', { i18n_data: { en: { name: 'Hall' } }, target_languages: ['de', 'xx'] }, 'UNKNOWN_LANGUAGE'],
    ['too little to detect from', { i18n_data: { xx: { name: 'Hall' } } }, 'LANGUAGE_NOT_DETECTED'],
  ])('422: %s', async (_, body, reason) => {
    expectError(await translate(body), 422, 'UNPROCESSABLE_ENTITY', reason);
  });

  it('503: without a provider', async () => {
    const answer = await translate({ i18n_data: { en: { name: 'Hall' } } });
    expectError(answer, 503, 'SERVICE_UNAVAILABLE', 'NO_PROVIDER');
  });
});
