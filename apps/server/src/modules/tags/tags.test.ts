import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { create, keyOf, paths, post, race, trailOf } from '#test/support/directory';
import { createMember, createTenant, unique, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
const path = paths.tags;
let tenant: Tenant;
let admin: Call;
let member: Call;
let manager: Call;
let stranger: Call;
let key: Call;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  member = { token: (await createMember(test, tenant)).token };
  manager = { token: (await createMember(test, tenant, { permissions: ['tags.manage'] })).token };
  stranger = { token: (await createTenant(test)).admin.token };
  key = await keyOf(test, tenant, { tags: { read: true } });
});

const get = (id: string, by = admin) => test.call('GET', `${path}/${id}`, by);
const patch = (id: string, body: unknown, by = admin) => test.call('PATCH', `${path}/${id}`, { ...by, body });
const remove = (id: string, by = admin) => test.call('DELETE', `${path}/${id}`, by);

describe('createTag', () => {
  it('201: keeps every field', async () => {
    const fields = { name: unique('Loan'), color: '#00aAfF', translations_i18n: { de: { name: 'Leihe' }, fr: {} } };
    const tag = await create(test, manager, 'tags', fields);
    expect(tag).toEqual({
      id: expect.any(String),
      tenant_id: tenant.tenantId,
      ...fields,
      created_at: expect.any(String),
      updated_at: tag.created_at,
    });
    expect((await get(tag.id)).body).toEqual({ data: tag });
  });

  it('201: only the name is required, and another tenant may use the same name', async () => {
    const name = unique('same');
    for (const by of [admin, stranger]) {
      expect(await create(test, by, 'tags', { name })).toMatchObject({ name, color: null, translations_i18n: {} });
    }
  });

  const good: [string, unknown][] = [
    ['name', `x${newId()}`],
    ['name', '𝕏'.repeat(100)],
    ['name', '\u{1F82}'.repeat(100)],
    ['color', '#000000'],
    ['color', null],
    ['translations_i18n', { de: { name: 'x'.repeat(100) } }],
    ['translations_i18n', { de: { name: null } }],
  ];
  it.each(good)('201: %s %j', async (field, value) => {
    expect((await create(test, admin, 'tags', { [field]: value }))[field]).toEqual(value);
  });

  const bad: [string, unknown][] = [
    ['name', ''],
    ['name', ' '],
    ['name', null],
    ['name', 'x'.repeat(101)],
    ['color', 'red'],
    ['color', '#fff'],
    ['color', '#gggggg'],
    ['color', '#0000000'],
    ['color', '#000000\n'],
    ['translations_i18n', null],
    ['translations_i18n', { de: { name: 'x'.repeat(101) } }],
    ['translations_i18n', { de: { description: 'x' } }],
    ['translations_i18n', { deu: {} }],
    ['id', newId()],
  ];
  it.each(bad)('400: %s %j', async (field, value) => {
    expectError(await post(test, admin, 'tags', { [field]: value }), 400, 'VALIDATION_ERROR');
  });

  it('401, 403: no credentials, a member without permissions, a key with the read flag', async () => {
    expectError(await post(test, {}, 'tags'), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, key]) expectError(await post(test, by, 'tags'), 403, 'AUTHORIZATION_ERROR');
  });

  it('409: the same name in another case, or in another Unicode composition', async () => {
    const name = unique('Café Straße ÄÖÜ');
    await create(test, admin, 'tags', { name });
    for (const same of [name, name.toUpperCase().replace('SS', 'ß'), name.toLowerCase(), name.normalize('NFD')]) {
      expectError(await post(test, admin, 'tags', { name: same }), 409, 'CONFLICT', 'TAG_NAME_TAKEN');
    }
  });
});

describe('getTag and listTags', () => {
  it('200: for every member, and for a key with the flag', async () => {
    const { id } = await create(test, admin, 'tags');
    for (const by of [member, key]) {
      expect((await get(id, by)).status).toBe(200);
      expect((await test.call('GET', path, by)).status).toBe(200);
    }
    const blind = await keyOf(test, tenant, { spaces: { read: true } });
    expectError(await get(id, blind), 403, 'AUTHORIZATION_ERROR');
  });

  it('400, 404: invalid uuid, an unknown id, and the id of another tenant', async () => {
    const { id } = await create(test, admin, 'tags');
    expectError(await get('42'), 400, 'VALIDATION_ERROR');
    expectError(await get(newId()), 404, 'NOT_FOUND');
    expectError(await get(id, stranger), 404, 'NOT_FOUND');
  });

  it('200: sorts, filters, searches and pages', async () => {
    const by = { token: (await createTenant(test)).admin.token };
    for (const name of ['beta', 'Alpha', 'ÄRGER_1', 'gamma']) await create(test, by, 'tags', { name });
    const names = async (query: string) => {
      const { status, body } = await test.call('GET', `${path}?${encodeURI(query)}`, by);
      expect(status).toBe(200);
      return [body.data.map((tag: { name: string }) => tag.name).join(' '), body.pagination.total];
    };
    expect(await names('')).toEqual(['Alpha beta gamma ÄRGER_1', 4]);
    expect(await names('sort=-name&limit=1')).toEqual(['ÄRGER_1', 4]);
    expect(await names('sort=created_at')).toEqual(['beta Alpha ÄRGER_1 gamma', 4]);
    expect(await names('search=äRG')).toEqual(['ÄRGER_1', 1]);
    expect(await names('search=r_1')).toEqual(['ÄRGER_1', 1]);
    expect(await names('search=a_p')).toEqual(['', 0]);
    expect(await names('name=ALPHA')).toEqual(['Alpha', 1]);
    expect(await names('name=alph')).toEqual(['', 0]);
    expectError(await test.call('GET', `${path}?sort=color`, by), 400, 'VALIDATION_ERROR');
  });
});

describe('updateTag', () => {
  const changes: [string, unknown][] = [
    ['name', `renamed ${newId()}`],
    ['color', '#123456'],
    ['color', null],
    ['translations_i18n', { de: {} }],
  ];
  it.each(changes)('200: %s becomes %j; other fields keep their values', async (field, value) => {
    const before = await create(test, admin, 'tags', { color: '#ffffff', translations_i18n: { de: { name: 'x' } } });
    const { status, body } = await patch(before.id, { [field]: value }, manager);
    expect(status).toBe(200);
    expect(body.data).toEqual({ ...before, [field]: value, updated_at: expect.any(String) });
    expect((await get(before.id)).body).toEqual(body);
  });

  it('200: an empty patch changes nothing; the present name in another case is not a conflict', async () => {
    const before = await create(test, admin, 'tags');
    expect((await patch(before.id, {})).body).toEqual({ data: before });
    expect(await trailOf(test, tenant.tenantId, before.id)).toHaveLength(1);
    expect((await patch(before.id, { name: before.name.toUpperCase() })).status).toBe(200);
  });

  it('400, 401, 403, 404, 409: requests that are not allowed', async () => {
    const [{ id }, other] = [await create(test, admin, 'tags'), await create(test, admin, 'tags')];
    expectError(await patch(id, { name: null }), 400, 'VALIDATION_ERROR');
    expectError(await patch(id, { color: 'red' }), 400, 'VALIDATION_ERROR');
    expectError(await patch(id, { name: 'x' }, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, key]) expectError(await patch(id, { name: 'x' }, by), 403, 'AUTHORIZATION_ERROR');
    expectError(await patch(newId(), { color: null }), 404, 'NOT_FOUND');
    expectError(await patch(id, { color: null }, stranger), 404, 'NOT_FOUND');
    expectError(await patch(id, { name: other.name.toUpperCase() }), 409, 'CONFLICT', 'TAG_NAME_TAKEN');
  });
});

describe('deleteTag', () => {
  it('204: removes the tag from all records', async () => {
    const { id } = await create(test, admin, 'tags');
    const space = await create(test, admin, 'spaces');
    await test.call('PUT', `${paths.spaces}/${space.id}/tags/${id}`, admin);
    expect((await remove(id, manager)).status).toBe(204);
    expectError(await get(id), 404, 'NOT_FOUND');
    expect((await test.call('GET', `${paths.spaces}/${space.id}/tags`, admin)).body.data).toEqual([]);
  });

  it('401, 403, 404: requests that are not allowed', async () => {
    const { id } = await create(test, admin, 'tags');
    expectError(await remove(id, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, key]) expectError(await remove(id, by), 403, 'AUTHORIZATION_ERROR');
    for (const by of [stranger, admin]) expectError(await remove(by === admin ? newId() : id, by), 404, 'NOT_FOUND');
  });
});

describe('concurrent requests', () => {
  it('one of fifty tags gets a name, in any case', async () => {
    for (let round = 0; round < 20; round++) {
      const name = unique('name');
      const cased = (at: number) => (at % 2 === 0 ? name : name.toUpperCase());
      const counts = await race(50, (at) => post(test, admin, 'tags', { name: cased(at) }));
      expect(counts).toEqual({ 201: 1, 409: 49 });
    }
  });
});
