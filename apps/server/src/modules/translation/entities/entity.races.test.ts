import { beforeEach, describe, expect, it } from 'vitest';

import { createTenantOf, environment, path } from '#modules/translation/testing/tenants';
import { inLanguage, provideTranslator, type Translator } from '#modules/translation/testing/translator';
import { create, paths, race, trailOf } from '#test/support/directory';
import { createMember, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService({ environment });
let tenant: Tenant;
let admin: Call;
let translator: Translator;

beforeEach(async () => {
  tenant = await createTenantOf(test);
  admin = { token: tenant.admin.token };
  translator = await provideTranslator(test, tenant);
});

const german = (text: string) => inLanguage('de', text);

const translate = (id: string, rest: object = {}, by = admin) =>
  test.call('POST', `${path}/entity`, { ...by, body: { entity_type: 'space', entity_id: id, ...rest } });
const edit = (id: string, body: object) => test.call('PATCH', `${paths.spaces}/${id}`, { ...admin, body });
const read = async (id: string) => (await test.call('GET', `${paths.spaces}/${id}`, admin)).body.data;
const createHall = (fields: object = {}) => create(test, admin, 'spaces', { name: 'Hall', ...fields });

/** The first time that the translator is asked, this happens before it answers. */
function meanwhile(work: () => Promise<unknown>): void {
  let isDone = false;
  translator.meanwhile = async () => {
    if (isDone) return;
    isDone = true;
    await work();
  };
}

describe('changes by users during a translation', () => {
  it.each([{}, { target_languages: ['de', 'fr'] }])('a written translation is kept: %j', async (rest) => {
    const { id } = await createHall();
    meanwhile(() => edit(id, { translations_i18n: { de: { name: 'Saal' } } }));
    const { body } = await translate(id, rest);
    expect(body.data).toMatchObject({ languages_translated: ['fr'], translations_i18n: { de: { name: 'Saal' } } });
    expect((await read(id)).translations_i18n).toEqual({
      de: { name: 'Saal' },
      fr: { name: inLanguage('fr', 'Hall') },
    });
  });

  it('a changed translation is kept, and a removed one stays removed', async () => {
    const { id } = await createHall({ translations_i18n: { de: { name: 'Halle' }, fr: { name: 'Halle' } } });
    meanwhile(() => edit(id, { translations_i18n: { de: { name: 'Saal' }, fr: null } }));
    const { body } = await translate(id, { target_languages: ['de', 'fr'] });
    expect(body.data).toMatchObject({ languages_translated: [], provider_used: 'none' });
    expect((await read(id)).translations_i18n).toEqual({ de: { name: 'Saal' } });
  });

  it('changes of other fields are kept', async () => {
    const { id } = await createHall();
    meanwhile(() => edit(id, { capacity: 7, description: 'For many', translations_i18n: { es: { name: 'Sala' } } }));
    await translate(id, { target_languages: ['de'] });
    expect(await read(id)).toMatchObject({
      capacity: 7,
      description: 'For many',
      translations_i18n: { de: { name: german('Hall') }, es: { name: 'Sala' } },
    });
  });

  it.each([{}, { target_languages: ['de', 'fr'] }])('a changed source text is translated again: %j', async (rest) => {
    const { id } = await createHall({ description: 'For many' });
    meanwhile(() => edit(id, { name: 'Foyer' }));
    const { body } = await translate(id, rest);
    const translations = { name: german('Foyer'), description: german('For many') };
    expect(body.data).toMatchObject({ name: 'Foyer', languages_translated: ['de', 'fr'] });
    expect((await read(id)).translations_i18n.de).toEqual(translations);
    const asked = translator.requests.flatMap(({ q, target }) => (target === 'de' ? q : []));
    expect(asked.toSorted()).toEqual(['For many', 'Foyer', 'Hall']);
  });

  it.each([{}, { target_languages: ['de', 'fr'] }])(
    'a text and its translation that they change together stay: %j',
    async (rest) => {
      const { id } = await createHall({ translations_i18n: { de: { name: 'Halle' } } });
      meanwhile(() => edit(id, { name: 'Foyer', translations_i18n: { de: { name: 'Eingang' } } }));
      await translate(id, rest);
      expect((await read(id)).translations_i18n).toEqual({
        de: { name: 'Eingang' },
        fr: { name: inLanguage('fr', 'Foyer') },
      });
    },
  );

  it('a source text that changes repeatedly gets no outdated translation', async () => {
    const { id } = await createHall();
    let times = 0;
    translator.meanwhile = async () => void (await edit(id, { name: `Foyer ${'abcdefgh'[times++]}` }));
    const { status, body } = await translate(id, { target_languages: ['de'] });
    expect({ status, languages: body.data.languages_translated }).toEqual({ status: 200, languages: [] });
    expect((await read(id)).translations_i18n).toEqual({});
    expect(times).toBe(3);
  });

  it('a deleted record stays deleted', async () => {
    const { id } = await createHall();
    meanwhile(() => test.call('DELETE', `${paths.spaces}/${id}`, admin));
    expectError(await translate(id), 404, 'NOT_FOUND');
    expect((await trailOf(test, tenant.tenantId, id)).map(({ action }) => action)).toEqual([
      'space.created',
      'space.deleted',
    ]);
  });
});

describe('50 concurrent translations', () => {
  it.each([{}, { target_languages: ['de', 'fr'] }])('lose no edit: %j', async (rest) => {
    const { id } = await createHall({ description: 'For many' });
    const people = await Promise.all([0, 1].map(() => createMember(test, tenant, { permissions: ['spaces.manage'] })));
    const counts = await race(50, (at) => {
      if (at % 5 === 4) return edit(id, { capacity: at, timezone: 'Europe/Vienna' });
      return translate(id, rest, { token: people[at % 2]!.token });
    });
    expect(counts).toEqual({ 200: 50 });
    const after = await read(id);
    expect(after).toMatchObject({ timezone: 'Europe/Vienna', name: 'Hall', description: 'For many' });
    expect([4, 9, 14, 19, 24, 29, 34, 39, 44, 49]).toContain(after.capacity);
    expect(after.translations_i18n).toEqual({
      de: { name: german('Hall'), description: german('For many') },
      fr: { name: inLanguage('fr', 'Hall'), description: inLanguage('fr', 'For many') },
    });
  });

  it('keep a translation that a user writes meanwhile', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await createHall();
      const counts = await race(10, (at) =>
        at === 5 ? edit(id, { translations_i18n: { de: { name: 'Saal' } } }) : translate(id),
      );
      expect(counts).toEqual({ 200: 10 });
      const { translations_i18n: translations } = await read(id);
      expect(translations.de).toEqual({ name: 'Saal' });
    }
  });
});
