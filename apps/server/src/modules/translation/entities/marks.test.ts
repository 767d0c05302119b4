import { beforeEach, describe, expect, it } from 'vitest';

import { createTenantOf, environment, path } from '#modules/translation/testing/tenants';
import { inLanguage, provideTranslator } from '#modules/translation/testing/translator';
import { create, keyOf, paths } from '#test/support/directory';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService({ environment });
let tenant: Tenant;
let admin: Call;
let provider: string;

beforeEach(async () => {
  tenant = await createTenantOf(test);
  admin = { token: tenant.admin.token };
  ({ key: provider } = await provideTranslator(test, tenant));
});

const german = (text: string) => inLanguage('de', text);
const translate = (id: string, rest: object = {}, query = '') =>
  test.call('POST', `${path}/entity${query}`, { ...admin, body: { entity_type: 'space', entity_id: id, ...rest } });
const edit = (id: string, body: object) => test.call('PATCH', `${paths.spaces}/${id}`, { ...admin, body });
const read = async (id: string) => (await test.call('GET', `${paths.spaces}/${id}`, admin)).body.data;
const createHall = (fields: object = {}) =>
  create(test, admin, 'spaces', { name: 'Hall', description: 'For many', ...fields });
const list = (query: string, by = admin) => test.call('GET', `${path}/marks?${query}`, by);

/** Language, field and state of each text. */
async function states(id: string, query = ''): Promise<string[]> {
  const { body } = await list(`entity_type=space&entity_id=${id}${query}`);
  return body.data.map(({ language, field, state }: Record<string, string>) => `${language} ${field} ${state}`);
}

describe('listTranslationMarks', () => {
  it('200: machine translations, texts of users, and texts with a changed source', async () => {
    const { id } = await createHall({ translations_i18n: { de: { name: 'Saal' } } });
    await translate(id);
    expect(await states(id)).toEqual([
      'de name human',
      'de description machine',
      'fr name machine',
      'fr description machine',
    ]);
    const { translations_i18n: translations } = await read(id);
    await edit(id, { translations_i18n: { ...translations, fr: { ...translations.fr, name: 'Salle' } } });
    await edit(id, { description: 'For few' });
    expect(await states(id)).toEqual([
      'de name human',
      'de description stale',
      'fr name human',
      'fr description stale',
    ]);
    expect(await states(id, '&state=stale')).toEqual(['de description stale', 'fr description stale']);
    expect(await states(id, '&state=human&language=fr')).toEqual(['fr name human']);
    await edit(id, { description: 'For many' });
    expect(await states(id, '&state=machine')).toEqual(['de description machine', 'fr description machine']);
  });

  it('200: with provider and time as long as the text is unchanged', async () => {
    const { id } = await createHall({ description: null });
    await translate(id, { target_languages: ['de'] });
    const { body } = await list(`entity_type=space&entity_id=${id}`);
    expect(body).toEqual({
      data: [
        {
          entity_type: 'space',
          entity_id: id,
          language: 'de',
          field: 'name',
          state: 'machine',
          provider,
          translated_at: expect.stringMatching(/Z$/),
        },
      ],
      pagination: { total: 1, limit: 50, offset: 0, hasMore: false },
    });
    await edit(id, { translations_i18n: { de: { name: 'Saal' } } });
    expect((await list(`entity_type=space&entity_id=${id}`)).body.data).toMatchObject([
      { state: 'human', provider: null, translated_at: null },
    ]);
  });

  it('200: a text made from a translation is stale when that translation changes', async () => {
    const { id } = await createHall({ translations_i18n: { de: { name: 'Saal' } } });
    await translate(id, { source_language: 'de', target_languages: ['fr'] });
    await edit(id, { name: 'Foyer' });
    expect(await states(id, '&state=machine')).toEqual(['fr name machine']);
    const { translations_i18n: translations } = await read(id);
    await edit(id, { translations_i18n: { ...translations, de: { name: 'Diele' } } });
    expect(await states(id, '&state=stale')).toEqual(['fr name stale']);
  });

  it.each([
    ['resource', 'resources', 'name'],
    ['tag', 'tags', 'name'],
  ] as const)('200: texts of a %s', async (type, collection, field) => {
    const { id } = await create(test, admin, collection);
    await test.call('POST', `${path}/entity`, { ...admin, body: { entity_type: type, entity_id: id } });
    const { body } = await list(`entity_type=${type}&entity_id=${id}&language=de`);
    expect(body.data).toMatchObject([{ entity_type: type, entity_id: id, field, state: 'machine' }]);
  });

  it('200: texts of categories, without those in the default language of the tenant', async () => {
    const translations = { en: { name: 'Chair', description: 'To sit on' } };
    const { id } = await create(test, admin, 'categories', { translations });
    await test.call('POST', `${path}/entity`, { ...admin, body: { entity_type: 'category', entity_id: id } });
    const before = await list(`entity_type=category&entity_id=${id}&state=machine`);
    expect(before.body.pagination.total).toBe(4);
    const body = { translations: { en: { name: 'Stool', description: 'To sit on' } } };
    await test.call('PATCH', `${paths.categories}/${id}`, { ...admin, body });
    const after = await list(`entity_type=category&entity_id=${id}&state=stale`);
    expect(after.body.data).toMatchObject([
      { language: 'de', field: 'name' },
      { language: 'fr', field: 'name' },
    ]);
  });

  it('200: pages over all records, without those of other tenants', async () => {
    for (const _ of [1, 2, 3]) await translate((await createHall()).id);
    const page = (await list('entity_type=space&limit=5&offset=5')).body;
    expect(page.pagination).toEqual({ total: 12, limit: 5, offset: 5, hasMore: true });
    expect(page.data).toHaveLength(5);
    const stranger = { token: (await createTenant(test)).admin.token };
    expect((await list('entity_type=space', stranger)).body.data).toEqual([]);
    const { id } = await createHall({ translations_i18n: { de: { name: 'Saal' } } });
    expect((await list(`entity_type=space&entity_id=${id}`, stranger)).body.data).toEqual([]);
  });

  it('400, 401, 403: an invalid query, no credentials, no permission', async () => {
    for (const query of ['', 'entity_type=group', 'entity_type=space&state=new', 'entity_type=space&entity_id=x'])
      expectError(await list(query), 400, 'VALIDATION_ERROR');
    expectError(await list('entity_type=space', {}), 401, 'AUTHENTICATION_ERROR');
    const key = await keyOf(test, tenant, { spaces: { read: true, write: true } });
    expectError(await list('entity_type=space', key), 403, 'AUTHORIZATION_ERROR');
    const member = { token: (await createMember(test, tenant)).token };
    expect((await list('entity_type=space', member)).status).toBe(200);
  });
});

describe('protect_human', () => {
  it('protects only texts that users wrote or edited from given targets', async () => {
    const { id } = await createHall({ translations_i18n: { de: { name: 'Saal' } } });
    await translate(id);
    const { translations_i18n: translations } = await read(id);
    await edit(id, { translations_i18n: { ...translations, fr: { ...translations.fr, description: 'Pour tous' } } });
    await edit(id, { name: 'Foyer', description: 'For few' });
    const { body } = await translate(id, { target_languages: ['de', 'fr'] }, '?protect_human=true');
    expect(body.data).toMatchObject({
      languages_translated: ['de', 'fr'],
      translations_i18n: {
        de: { name: 'Saal', description: german('For few') },
        fr: { name: inLanguage('fr', 'Foyer'), description: 'Pour tous' },
      },
    });
    expect(await states(id, '&state=stale')).toEqual([]);
  });

  it('protects nothing if it is false or missing', async () => {
    for (const query of ['', '?protect_human=false']) {
      const { id } = await createHall({ translations_i18n: { de: { name: 'Saal' } } });
      const { body } = await translate(id, { target_languages: ['de'] }, query);
      expect(body.data.translations_i18n.de.name).toBe(german('Hall'));
    }
    expectError(await translate((await createHall()).id, {}, '?protect_human=maybe'), 400, 'VALIDATION_ERROR');
  });
});
