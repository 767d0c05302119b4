import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { categoriesOf } from '#modules/categories/testing/steps';
import { createMember, createTenant, unique, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
const { post, create, get, list, patch, problems } = categoriesOf(test, () => tenant);

beforeAll(async () => {
  tenant = await createTenant(test);
});

const named = (name: string) => ({ en: { name } });

describe('createCategory', () => {
  it('201: creates a root and a child', async () => {
    const [rootKey, partKey] = [unique('root'), unique('part')];
    const root = await post({ key: rootKey, translations: { en: { name: 'Room', description: 'Has walls' } } });
    expect({ status: root.status, body: root.body }).toEqual({
      status: 201,
      body: {
        data: {
          id: expect.any(String),
          tenant_id: tenant.tenantId,
          parent_id: null,
          key: rootKey,
          filter_id: null,
          level: 0,
          name: 'Room',
          description: 'Has walls',
          language: 'en',
          usage_count: 0,
          created_by: tenant.admin.userId,
          created_at: expect.any(String),
          updated_at: root.body.data.created_at,
        },
      },
    });
    const part = await create({ key: partKey, parent_id: root.body.data.id.toUpperCase(), filter_id: 'facet' });
    expect(part).toMatchObject({ parent_id: root.body.data.id, level: 1, filter_id: 'facet', description: null });
    expect((await get(part.id)).body.data).toEqual(part);
    expect(await problems()).toEqual([]);
  });

  it.each([
    ['a key of 1 character', () => ({ key: '-' })],
    ['a key of 100 characters', () => ({ key: unique('k').padEnd(100, 'x') })],
    ['a filter of 100 characters', () => ({ filter_id: 'x'.repeat(100) })],
    ['a name of 200 characters', () => ({ translations: named('x'.repeat(200)) })],
    ['a description of 5000', () => ({ translations: { en: { name: 'n', description: 'x'.repeat(5000) } } })],
    ['no description', () => ({ translations: { en: { name: 'n', description: null } } })],
  ])('201: %s', async (_what, body) => {
    expect((await post(body())).status).toBe(201);
  });

  it.each([
    ['no key', { key: undefined }],
    ['an empty key', { key: '' }],
    ['a key of 101 characters', { key: 'x'.repeat(101) }],
    ['capitals in the key', { key: 'Room' }],
    ['a line break after the key', { key: 'room\n' }],
    ['no translations', { translations: undefined }],
    ['translations without a language', { translations: {} }],
    ['a language of 3 letters', { translations: { eng: { name: 'n' } } }],
    ['a language in capitals', { translations: { EN: { name: 'n' } } }],
    ['a property for a language', { translations: { ['__proto__x']: { name: 'n' } } }],
    ['null for a language', { translations: { en: null } }],
    ['no name', { translations: { en: { description: 'd' } } }],
    ['an empty name', { translations: named('') }],
    ['a blank name', { translations: named(' \t') }],
    ['a name of 201 characters', { translations: named('x'.repeat(201)) }],
    ['a description of 5001', { translations: { en: { name: 'n', description: 'x'.repeat(5001) } } }],
    ['one property more in a translation', { translations: { en: { name: 'n', title: 't' } } }],
    ['an empty filter', { filter_id: '' }],
    ['a filter of 101 characters', { filter_id: 'x'.repeat(101) }],
    ['a parent that is not a uuid', { parent_id: 'root' }],
    ['a level', { level: 0 }],
    [
      'more than 32 KiB',
      {
        translations: Object.fromEntries(
          ['aa', 'bb', 'cc', 'dd', 'ee', 'ff', 'gg'].map((language) => [
            language,
            { name: 'n', description: 'x'.repeat(4800) },
          ]),
        ),
      },
    ],
  ])('400: %s', async (_what, body) => {
    expectError(await post(body), 400, 'VALIDATION_ERROR');
  });

  it('401, 403: no credentials, not an administrator', async () => {
    const member = await createMember(test, tenant, { permissions: ['categories.link'] });
    expectError(await post({}, { token: undefined }), 401, 'AUTHENTICATION_ERROR');
    expectError(await post({}, { token: member.token }), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: an unknown parent, and a parent of another tenant', async () => {
    const other = await createTenant(test);
    const foreign = await categoriesOf(test, () => other).create();
    for (const parentId of [newId(), foreign.id]) {
      expectError(await post({ parent_id: parentId }), 404, 'NOT_FOUND', 'PARENT_NOT_FOUND');
    }
  });

  it('409: a duplicate key anywhere in the tree; another tenant may use it', async () => {
    const parent = await create();
    const { key } = await create({ parent_id: parent.id });
    expectError(await post({ key }), 409, 'CONFLICT', 'CATEGORY_KEY_TAKEN');
    const other = await createTenant(test);
    expect((await categoriesOf(test, () => other).post({ key })).status).toBe(201);
  });

  it('422: below the 32nd level', async () => {
    let parent = await create();
    for (let level = 1; level < 32; level++) parent = await create({ parent_id: parent.id });
    expect(parent.level).toBe(31);
    expectError(await post({ parent_id: parent.id }), 422, 'UNPROCESSABLE_ENTITY', 'CATEGORY_TOO_DEEP');
  });
});

describe('names and descriptions', () => {
  const translations = {
    de: { name: 'Raum', description: 'Mit Wänden' },
    en: { name: 'Room' },
    fr: { name: 'Salle', description: 'Avec des murs' },
  };
  const german = { name: 'Raum', description: 'Mit Wänden', language: 'de' };
  const french = { name: 'Salle', description: 'Avec des murs', language: 'fr' };
  const english = { name: 'Room', description: 'Mit Wänden', language: 'en' };

  it.each([
    ['', undefined, english],
    ['', 'de-AT', german],
    ['', 'it, fr;q=0.5, de;q=0.4', french],
    ['', 'fr;q=0.4, de;q=0.5', german],
    ['', 'it', english],
    ['', 'de;q=0', english],
    ['', 'en, fr;q=0.5', { ...english, description: 'Avec des murs' }],
    ['?language=fr', undefined, french],
    ['?language=fr', 'de', french],
    ['?language=it', 'de', english],
    ['', '\u00e4;q=x,,', english],
  ])('%j with Accept-Language %j', async (query, header, expected) => {
    const { id } = await create({ translations });
    const headers: Record<string, string> = header === undefined ? {} : { 'accept-language': header };
    const read = await test.call('GET', `/api/v1/secure/taxonomy/categories/${id}${query}`, {
      token: tenant.admin.token,
      headers,
    });
    expect(read.body.data).toMatchObject(expected);
    const rows = (await list(`${query === '' ? '?' : `${query}&`}limit=200&sort=-created_at`, { headers })).body.data;
    expect(rows[0]).toEqual(read.body.data);
  });

  it('fall back to the default language of the tenant, then to English, then to any language', async () => {
    const own = await createTenant(test);
    const { token } = own.admin;
    const categories = categoriesOf(test, () => own);
    const url = `/api/v1/secure/tenants/${own.tenantId}`;
    const body = { default_language: 'fr', languages: ['fr'] };
    expect((await test.call('PATCH', url, { token, body })).status).toBe(200);
    const cases = [
      [['de', 'en', 'fr'], 'fr'],
      [['de', 'en'], 'en'],
      [['es', 'de'], 'de'],
    ] as const;
    for (const [languages, expected] of cases) {
      const given = Object.fromEntries(languages.map((language) => [language, { name: `in ${language}` }]));
      const created = await categories.create({ translations: given });
      expect(created).toMatchObject({ name: `in ${expected}`, language: expected });
    }
  });

  it('use the preferred language in the answers to changes', async () => {
    const headers = { 'accept-language': 'de' };
    const created = await post({ translations }, { headers });
    expect(created.body.data).toMatchObject(german);
    expect((await patch(created.body.data.id, { filter_id: 'x' }, { headers })).body.data).toMatchObject(german);
  });

  it('are returned unchanged in all languages', async () => {
    const { id } = await create({ translations });
    const url = `/api/v1/secure/taxonomy/categories/${id}/translations`;
    expect((await test.call('GET', url, { token: tenant.admin.token })).body).toEqual({
      data: { ...translations, en: { name: 'Room', description: null } },
    });
  });

  it('400: an invalid language', async () => {
    for (const language of ['de-AT', 'DE', 'deu', '', 'd', 'de&language=en']) {
      expectError(await get(`${newId()}?language=${language}`), 400, 'VALIDATION_ERROR');
      expectError(await list(`?language=${language}`), 400, 'VALIDATION_ERROR');
    }
  });
});

describe('getCategory, getCategoryTranslations', () => {
  it('200: for every member', async () => {
    const category = await create();
    const member = await createMember(test, tenant);
    expect((await get(category.id, { token: member.token })).body.data).toEqual(category);
    expect((await get(`${category.id}/translations`, { token: member.token })).status).toBe(200);
  });

  it('400, 401, 404: invalid uuid, no credentials, unknown, of another tenant', async () => {
    const other = await createTenant(test);
    const foreign = await categoriesOf(test, () => other).create();
    for (const suffix of ['', '/translations']) {
      expectError(await get(`42${suffix}`), 400, 'VALIDATION_ERROR');
      expectError(await get(`${newId()}${suffix}`, { token: undefined }), 401, 'AUTHENTICATION_ERROR');
      for (const id of [newId(), foreign.id]) expectError(await get(`${id}${suffix}`), 404, 'NOT_FOUND');
    }
  });
});

describe('listCategories', () => {
  let own: Tenant;
  const categories = categoriesOf(test, () => own);
  const keysOf = async (query: string): Promise<string[]> =>
    (await categories.list(query)).body.data.map(({ key }: { key: string }) => key);
  let ids: Record<string, string>;

  beforeAll(async () => {
    own = await createTenant(test);
    ids = {};
    const add = async (key: string, parent: string | null, body: object) => {
      const created = await categories.create({ key, parent_id: parent === null ? null : ids[parent], ...body });
      ids[key] = created.id;
    };
    await add('zoo', null, { translations: { en: { name: 'Zoo 100%' }, de: { name: 'TIERGÄRTEN' } } });
    await add('art', null, { filter_id: 'leisure', translations: named('Art_gallery') });
    await add('cat', 'zoo', { translations: named('Cat') });
    await add('ape', 'zoo', { filter_id: 'leisure', translations: named('Ape') });
    await add('bee', 'cat', { translations: named('Bee') });
  });

  it('200: all categories by level and key, with the total', async () => {
    const { body } = await categories.list();
    expect(Object.keys(body)).toEqual(['data', 'total']);
    expect(body.total).toBe(5);
    expect(body.data.map(({ key, level }: any) => [key, level])).toEqual([
      ['art', 0],
      ['zoo', 0],
      ['ape', 1],
      ['cat', 1],
      ['bee', 2],
    ]);
  });

  it.each([
    ['?limit=2', ['art', 'zoo'], 5],
    ['?limit=2&offset=4', ['bee'], 5],
    ['?offset=3', ['cat', 'bee'], 5],
    ['?offset=9', [], 5],
    ['?limit=2&offset=9', [], 5],
    ['?level=1&offset=9', [], 2],
    ['?sort=key', ['ape', 'art', 'bee', 'cat', 'zoo'], 5],
    ['?sort=-key&limit=2', ['zoo', 'cat'], 5],
    ['?sort=-level', ['bee', 'cat', 'ape', 'zoo', 'art'], 5],
    ['?sort=createdAt', ['zoo', 'art', 'cat', 'ape', 'bee'], 5],
    ['?level=1', ['ape', 'cat'], 2],
    ['?level=1&limit=1', ['ape'], 2],
    ['?level=31', [], 0],
    ['?key=cat', ['cat'], 1],
    ['?parent_id=null', ['art', 'zoo'], 2],
    ['?filter_id=leisure', ['art', 'ape'], 2],
    ['?filterId=leisure&level=0', ['art'], 1],
    ['?filter_id=Leisure', [], 0],
    ['?search=tierg%C3%A4rt', ['zoo'], 1],
    ['?search=TIERGA%CC%88RT', ['zoo'], 1],
    ['?search=CAT', ['cat'], 1],
    ['?search=tier%20100%25', ['zoo'], 1],
    ['?search=t_g', ['art'], 1],
    ['?search=%25', ['zoo'], 1],
    ['?search=nothing', [], 0],
    ['?search=', ['art', 'zoo', 'ape', 'cat', 'bee'], 5],
    ['?unknown=1', ['art', 'zoo', 'ape', 'cat', 'bee'], 5],
  ])('200: %s', async (query, keys, total) => {
    expect(await keysOf(query)).toEqual(keys);
    expect((await categories.list(query)).body.total).toBe(total);
  });

  it('200: the children of a category, with its id in any case', async () => {
    expect(await keysOf(`?parent_id=${ids.zoo}`)).toEqual(['ape', 'cat']);
    expect(await keysOf(`?parentId=${ids.zoo!.toUpperCase()}`)).toEqual(['ape', 'cat']);
    expect(await keysOf(`?parent_id=${newId()}`)).toEqual([]);
  });

  it.each([
    'limit=0',
    'limit=201',
    'limit=x',
    'offset=-1',
    'level=-1',
    'level=32',
    'level=1.5',
    'key=Cat',
    'key=',
    'filter_id=',
    `filter_id=${'x'.repeat(101)}`,
    `search=${'x'.repeat(201)}`,
    'parent_id=none',
    'sort=name',
    'sort=usage_count',
  ])('400: %s', async (query) => {
    expectError(await categories.list(`?${query}`), 400, 'VALIDATION_ERROR');
  });

  it('401: no credentials', async () => {
    expectError(await categories.list('', { token: undefined }), 401, 'AUTHENTICATION_ERROR');
  });
});
