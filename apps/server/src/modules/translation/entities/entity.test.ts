import { beforeEach, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createTenantOf, environment, path } from '#modules/translation/testing/tenants';
import { inLanguage, provideTranslator } from '#modules/translation/testing/translator';
import { create, paths, trailOf } from '#test/support/directory';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService({ environment });
let tenant: Tenant;
let admin: Call;

beforeEach(async () => {
  tenant = await createTenantOf(test);
  admin = { token: tenant.admin.token };
});

const translate = (body: object, by = admin, query = '') =>
  test.call('POST', `${path}/entity${query}`, { ...by, body });
const german = (text: string) => inLanguage('de', text);
const french = (text: string) => inLanguage('fr', text);

const kinds = [
  ['space', 'spaces'],
  ['resource', 'resources'],
] as const;

/** A space with these translations, and what `/entity` answers and leaves behind. */
async function translateSpace(fields: object, rest: object = {}, query = '') {
  const { id } = await create(test, admin, 'spaces', { name: 'Hall', description: 'For many', ...fields });
  const answer = await translate({ entity_type: 'space', entity_id: id, ...rest }, admin, query);
  const stored = (await test.call('GET', `${paths.spaces}/${id}`, admin)).body.data;
  return { id, answer, stored: stored.translations_i18n };
}

describe('translateEntity', () => {
  it.each(kinds)('200: a %s, with all fields of the answer', async (type, collection) => {
    const { key } = await provideTranslator(test, tenant);
    const { id } = await create(test, admin, collection, { name: 'Hall', description: 'For many' });
    const { status, body } = await translate({ entity_type: type, entity_id: id });
    const translations = {
      de: { name: german('Hall'), description: german('For many') },
      fr: { name: french('Hall'), description: french('For many') },
    };
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        data: {
          entity_id: id,
          entity_type: type,
          name: 'Hall',
          description: 'For many',
          translations_i18n: translations,
          languages_translated: ['de', 'fr'],
          provider_used: key,
        },
      },
    });
    const after = (await test.call('GET', `${paths[collection]}/${id}`, admin)).body.data;
    expect(after).toMatchObject({ name: 'Hall', translations_i18n: translations, updated_by: tenant.admin.userId });
  });

  it('200: a tag, which has a name only', async () => {
    await provideTranslator(test, tenant);
    const { id, name } = await create(test, admin, 'tags', { translations_i18n: { fr: { name: 'Étiquette' } } });
    const { data } = (await translate({ entity_type: 'tag', entity_id: id })).body;
    expect(data).toMatchObject({
      name,
      description: null,
      translations_i18n: {
        de: { name: german(name), description: null },
        fr: { name: 'Étiquette', description: null },
      },
      languages_translated: ['de'],
    });
    const stored = (await test.call('GET', `${paths.tags}/${id}`, admin)).body.data.translations_i18n;
    expect(stored).toEqual({ de: { name: german(name) }, fr: { name: 'Étiquette' } });
  });

  it('200: a category, whose own text is one of its translations; a search finds the new ones', async () => {
    await provideTranslator(test, tenant);
    const translations = { en: { name: 'Chair', description: 'To sit on' }, fr: { name: 'Chaise' } };
    const { id } = await create(test, admin, 'categories', { translations });
    const { data } = (await translate({ entity_type: 'category', entity_id: id })).body;
    const whole = { name: german('Chair'), description: german('To sit on') };
    expect(data).toMatchObject({
      name: 'Chair',
      description: 'To sit on',
      translations_i18n: { de: whole, fr: { name: 'Chaise', description: french('To sit on') } },
      languages_translated: ['de', 'fr'],
    });
    const stored = (await test.call('GET', `${paths.categories}/${id}/translations`, admin)).body.data;
    expect(stored).toMatchObject({ en: translations.en, de: whole });
    const found = await test.call('GET', `${paths.categories}?search=${encodeURIComponent(german('chair'))}`, admin);
    expect(found.body.data.map((category: { id: string }) => category.id)).toContain(id);
  });

  it('200: a category without a text in the default language of the tenant, from another language', async () => {
    const { requests } = await provideTranslator(test, tenant);
    const { id } = await create(test, admin, 'categories', { translations: { de: { name: 'Stuhl' } } });
    const { data } = (await translate({ entity_type: 'category', entity_id: id })).body;
    expect(data).toMatchObject({ name: 'Stuhl', languages_translated: ['fr'] });
    expect(data.translations_i18n).toEqual({
      de: { name: 'Stuhl', description: null },
      fr: { name: french('Stuhl'), description: null },
    });
    expect(requests).toMatchObject([{ source: 'de', target: 'fr' }]);
  });

  it('rule 1: without targets only missing texts are filled, field by field', async () => {
    await provideTranslator(test, tenant);
    const { answer, stored } = await translateSpace({
      translations_i18n: { de: { name: 'Saal', description: ' ' }, fr: { name: null, description: 'Pour tous' } },
    });
    expect(stored).toEqual({
      de: { name: 'Saal', description: german('For many') },
      fr: { name: french('Hall'), description: 'Pour tous' },
    });
    expect(answer.body.data.languages_translated).toEqual(['de', 'fr']);
  });

  it('rule 1: without missing texts no provider is called, and nothing changes', async () => {
    const { requests } = await provideTranslator(test, tenant);
    const whole = { name: 'x', description: 'y' };
    const { id, answer, stored } = await translateSpace({
      translations_i18n: { de: whole, fr: whole, it: { name: 'z' } },
    });
    expect(answer.body.data).toMatchObject({ languages_translated: [], provider_used: 'none' });
    expect({ stored, requests }).toEqual({ stored: { de: whole, fr: whole, it: { name: 'z' } }, requests: [] });
    expect(await trailOf(test, tenant.tenantId, id)).toHaveLength(1);
  });

  it('rule 2: given targets are overwritten, and no others', async () => {
    await provideTranslator(test, tenant);
    const { answer, stored } = await translateSpace(
      { translations_i18n: { de: { name: 'Saal' }, fr: { name: 'Salle' } } },
      { target_languages: ['DE', 'es', 'es'] },
    );
    expect(stored).toEqual({
      de: { name: german('Hall'), description: german('For many') },
      es: { name: inLanguage('es', 'Hall'), description: inLanguage('es', 'For many') },
      fr: { name: 'Salle' },
    });
    expect(answer.body.data.languages_translated).toEqual(['de', 'es']);
  });

  it('rule 3: the base language is never among the translations', async () => {
    const { requests } = await provideTranslator(test, tenant);
    const explicit = await translateSpace({}, { target_languages: ['en'] });
    expect(explicit.answer.body.data).toMatchObject({ languages_translated: [], translations_i18n: {} });
    const fromGerman = await translateSpace(
      { translations_i18n: { de: { name: 'Saal' } } },
      { source_language: 'de', target_languages: ['en', 'fr'] },
    );
    expect(fromGerman.stored).toEqual({ de: { name: 'Saal' }, fr: { name: french('Saal') } });
    expect(requests).toMatchObject([{ source: 'de', target: 'fr' }]);
  });

  it('rule 4: a given source selects the translation in that language, or otherwise the record’s own text', async () => {
    const { requests } = await provideTranslator(test, tenant);
    await translateSpace(
      { translations_i18n: { de: { name: 'Saal' } } },
      { source_language: 'de', target_languages: ['fr'] },
    );
    await translateSpace({ name: 'Zaal' }, { source_language: 'nl', target_languages: ['fr'] });
    expect(requests).toMatchObject([
      { q: ['Saal'], source: 'de', target: 'fr' },
      { q: ['Zaal', 'For many'], source: 'nl', target: 'fr' },
    ]);
  });

  it('rule 4: if the base language is not valid, it is detected', async () => {
    tenant = await createTenantOf(test, ['xx', 'en', 'de', 'fr']);
    admin = { token: tenant.admin.token };
    const { requests } = await provideTranslator(test, tenant);
    const name = 'Der große Saal im Erdgeschoss neben dem Eingang';
    const { answer } = await translateSpace({ name, description: null });
    expect(answer.body.data.languages_translated).toEqual(['en', 'fr']);
    expect(requests.map(({ source }) => source)).toEqual(['de', 'de']);
    const { answer: refused } = await translateSpace({ name: 'B 2', description: null });
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'LANGUAGE_NOT_DETECTED');
  });

  it('200: texts that are too long for their field are omitted', async () => {
    await provideTranslator(test, tenant);
    const { answer, stored } = await translateSpace({ name: 'H'.repeat(198) });
    expect(stored).toEqual({ de: { description: german('For many') }, fr: { description: french('For many') } });
    expect(answer.status).toBe(200);
    const { id } = await create(test, admin, 'categories', {
      translations: { en: { name: 'C'.repeat(198), description: 'x' } },
    });
    const category = await translate({ entity_type: 'category', entity_id: id });
    expect(category.body.data).toMatchObject({ languages_translated: [], translations_i18n: {} });
  });

  it('200: a failure of one language keeps the translations of others', async () => {
    const { misbehave, requests } = await provideTranslator(test, tenant);
    misbehave((response) => {
      const { q, target } = requests.at(-1)!;
      if (target === 'fr') response.writeHead(400).end();
      else response.end(JSON.stringify({ translatedText: q.map(german) }));
    });
    const { answer, stored } = await translateSpace({});
    expect(answer.body.data.languages_translated).toEqual(['de']);
    expect(stored).toEqual({ de: { name: german('Hall'), description: german('For many') } });
  });

  it('200: the audit trail contains languages and fields, but no text', async () => {
    await provideTranslator(test, tenant);
    const { id } = await translateSpace({ description: null });
    const trail = await trailOf(test, tenant.tenantId, id);
    expect(trail.map(({ action }) => action)).toEqual(['space.created', 'translation.entity_translated']);
    expect(trail[1]!.details).toMatchObject({ languages: ['de', 'fr'], fields: ['name'] });
    expect(JSON.stringify(trail)).not.toContain('Hall');
  });

  it.each([
    ['no type', { entity_type: undefined }],
    ['a type that has no texts', { entity_type: 'group' }],
    ['an invalid id', { entity_id: 'x' }],
    ['no id', { entity_id: undefined }],
    ['no targets', { target_languages: [] }],
    ['a target of three letters', { target_languages: ['deu'] }],
    ['an unknown property', { protect_human: true }],
  ])('400: %s', async (_, change) => {
    expectError(await translate({ entity_type: 'space', entity_id: newId(), ...change }), 400, 'VALIDATION_ERROR');
  });

  it.each(['space', 'resource', 'tag', 'category'])('404: a %s that is unknown, or of another tenant', async (type) => {
    const other = await createTenant(test);
    const places = { space: 'spaces', resource: 'resources', tag: 'tags', category: 'categories' } as const;
    const { id } = await create(test, { token: other.admin.token }, places[type as 'space']);
    for (const entity_id of [newId(), id])
      expectError(await translate({ entity_type: type, entity_id }), 404, 'NOT_FOUND');
  });

  it('404: a space is not a resource', async () => {
    const { id } = await create(test, admin, 'spaces');
    expectError(await translate({ entity_type: 'resource', entity_id: id }), 404, 'NOT_FOUND');
  });

  it('422, 502, 503: nothing changes without a translation', async () => {
    const { answer: none, stored } = await translateSpace({});
    expectError(none, 503, 'SERVICE_UNAVAILABLE', 'NO_PROVIDER');
    expect(stored).toEqual({});
    const { answer: unknown } = await translateSpace({}, { target_languages: ['xx'] });
    expectError(unknown, 422, 'UNPROCESSABLE_ENTITY', 'UNKNOWN_LANGUAGE');
    const { misbehave } = await provideTranslator(test, tenant);
    misbehave((response) => response.writeHead(400).end());
    const { answer: refused, stored: same } = await translateSpace({});
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'REFUSED_BY_PROVIDERS');
    expect(same).toEqual({});
    misbehave((response) => response.writeHead(500).end());
    const { answer: failed, stored: untouched } = await translateSpace({});
    expectError(failed, 502, 'UPSTREAM_ERROR');
    expect(untouched).toEqual({});
  });
});
