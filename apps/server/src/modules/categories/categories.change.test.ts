import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { categoriesOf } from '#modules/categories/testing/steps';
import { trailOf } from '#test/support/directory';
import { createMember, createTenant, unique, type Tenant } from '#test/support/factories';
import { expectError, strictlyLater, useService } from '#test/support/harness';

const test = useService({ now: strictlyLater() });
let tenant: Tenant;
let foreignId: string;
const { create, get, patch, remove, link, linksOf, entity, problems } = categoriesOf(test, () => tenant);

beforeAll(async () => {
  tenant = await createTenant(test);
  const other = await createTenant(test);
  foreignId = (await categoriesOf(test, () => other).create()).id;
});

const levelOf = async (id: string): Promise<number> => (await get(id)).body.data.level;
const translationsOf = async (id: string) => (await get(`${id}/translations`)).body.data;

/** Creates a chain of nested categories. */
async function createLine(length: number): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < length; at++) ids.push((await create({ parent_id: ids.at(-1) ?? null })).id);
  return ids;
}

describe('updateCategory', () => {
  it('200: updates only the given fields', async () => {
    const before = await create({ filter_id: 'a' });
    const key = unique('key');
    const changed = await patch(before.id, { key, filter_id: null });
    expect(changed.body.data).toEqual({ ...before, key, filter_id: null, updated_at: expect.any(String) });
    expect(changed.body.data.updated_at > before.updated_at).toBe(true);
    expect((await get(before.id)).body.data).toEqual(changed.body.data);
  });

  it('200: an empty patch changes nothing, including `updated_at`, and records nothing', async () => {
    const before = await create();
    expect(await patch(before.id, {})).toMatchObject({ status: 200, body: { data: before } });
    expect((await trailOf(test, tenant.tenantId, before.id)).map(({ action }) => action)).toEqual(['category.created']);
  });

  it('200: merges translations by language; the search then finds them', async () => {
    const word = unique('word');
    const { id } = await create({ translations: { en: { name: 'Room', description: 'd' }, de: { name: 'Raum' } } });
    await patch(id, { translations: { en: { name: word }, de: null, fr: { name: 'Salle', description: 's' } } });
    expect(await translationsOf(id)).toEqual({
      en: { name: word, description: null },
      fr: { name: 'Salle', description: 's' },
    });
    const { list } = categoriesOf(test, () => tenant);
    expect((await list(`?search=${word.toUpperCase()}`)).body.data).toMatchObject([{ id }]);
    expect((await list(`?search=${word}%20raum`)).body.total).toBe(0);
  });

  it('200: moves with all descendants: below another category, and to the root', async () => {
    const [a, b, c] = (await createLine(3)) as [string, string, string];
    const [, target] = (await createLine(2)) as [string, string];
    const moved = await patch(b, { parent_id: target });
    expect(moved.body.data).toMatchObject({ parent_id: target, level: 2 });
    expect([await levelOf(a), await levelOf(c)]).toEqual([0, 3]);
    expect((await patch(b, { parent_id: null })).body.data).toMatchObject({ parent_id: null, level: 0 });
    expect(await levelOf(c)).toBe(1);
    expect((await patch(b, { parent_id: null })).status).toBe(200);
    expect(await problems()).toEqual([]);
  });

  it('200: a move to 32 levels; 422: to 33 levels', async () => {
    const tall = await createLine(31);
    const [top] = await createLine(1);
    expect((await patch(tall[0]!, { parent_id: top })).status).toBe(200);
    const [above] = await createLine(1);
    expectError(await patch(top!, { parent_id: above }), 422, 'UNPROCESSABLE_ENTITY', 'CATEGORY_TOO_DEEP');
    expect(await levelOf(tall.at(-1)!)).toBe(31);
    expect(await problems()).toEqual([]);
  });

  it.each([
    ['an unknown property', { level: 1 }],
    ['null for the key', { key: null }],
    ['a key with a space', { key: 'a b' }],
    ['translations without a language', { translations: {} }],
    ['a translation without a name', { translations: { en: { description: 'd' } } }],
    ['null for the translations', { translations: null }],
    ['a parent that is not a uuid', { parent_id: '42' }],
    ['a filter of 101 characters', { filter_id: 'x'.repeat(101) }],
    ['a list', []],
  ])('400: %s', async (_what, body) => {
    const { id } = await create();
    expectError(await patch(id, body), 400, 'VALIDATION_ERROR');
  });

  it('401, 403: no credentials, not an administrator', async () => {
    const { id } = await create();
    const member = await createMember(test, tenant, { permissions: ['categories.link'] });
    expectError(await patch(id, {}, { token: undefined }), 401, 'AUTHENTICATION_ERROR');
    expectError(await patch(id, {}, { token: member.token }), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: an unknown category or parent, or one of another tenant', async () => {
    const { id } = await create();
    for (const unknown of [newId(), foreignId]) {
      expectError(await patch(unknown, {}), 404, 'NOT_FOUND');
      expectError(await patch(unknown, { parent_id: id }), 404, 'NOT_FOUND');
      expectError(await patch(id, { parent_id: unknown }), 404, 'NOT_FOUND', 'PARENT_NOT_FOUND');
    }
  });

  it('409: a duplicate key; a move into itself or a descendant', async () => {
    const taken = await create();
    const [a, b, c] = (await createLine(3)) as [string, string, string];
    expectError(await patch(a, { key: taken.key }), 409, 'CONFLICT', 'CATEGORY_KEY_TAKEN');
    for (const parentId of [a, b, c]) {
      expectError(await patch(a, { parent_id: parentId }), 409, 'CONFLICT', 'CATEGORY_CYCLE');
    }
    expect(await problems()).toEqual([]);
  });

  it('422: no language left, or translations above the size limit', async () => {
    const { id } = await create();
    expectError(await patch(id, { translations: { en: null } }), 422, 'UNPROCESSABLE_ENTITY', 'TRANSLATION_REQUIRED');
    expect((await patch(id, { translations: { en: null, de: { name: 'Raum' } } })).status).toBe(200);
    const long = (languages: string[]) =>
      Object.fromEntries(languages.map((language) => [language, { name: 'n', description: 'x'.repeat(5000) }]));
    expect((await patch(id, { translations: long(['aa', 'bb', 'cc', 'dd', 'ee', 'ff']) })).status).toBe(200);
    const more = await patch(id, { translations: long(['gg']) });
    expectError(more, 422, 'UNPROCESSABLE_ENTITY', 'TOO_MANY_TRANSLATIONS');
    expect(Object.keys(await translationsOf(id))).toHaveLength(7);
  });
});

describe('deleteCategory', () => {
  it('204: a category without children and links; then 404', async () => {
    const { id } = await create();
    expect((await remove(id)).status).toBe(204);
    expectError(await get(id), 404, 'NOT_FOUND');
    expectError(await remove(id), 404, 'NOT_FOUND');
    expect(await problems()).toEqual([]);
  });

  it('204 with cascade: deletes all descendants and their links, and nothing else', async () => {
    const [root, a, b] = (await createLine(3)) as [string, string, string];
    const sibling = await create({ parent_id: root });
    const hall = await entity();
    for (const id of [root, a, b, sibling.id]) expect((await link(id, hall)).status).toBe(201);
    expect((await remove(a, '?cascade=true')).status).toBe(204);
    for (const id of [a, b]) expectError(await get(id), 404, 'NOT_FOUND');
    expect((await linksOf(sibling.id)).body.data).toHaveLength(1);
    expect((await get(root)).body.data.usage_count).toBe(1);
    expect(await problems()).toEqual([]);
    const [, deleted] = await trailOf(test, tenant.tenantId, a).then((rows) => rows.slice(-2));
    expect(deleted).toMatchObject({ action: 'category.deleted', details: { cascade: true, deleted: 2 } });
  });

  it('204 with reassign_to: moves children and links, without duplicate links', async () => {
    const [root, gone, part, below] = (await createLine(4)) as [string, string, string, string];
    const target = (await create({ parent_id: (await create({ parent_id: root })).id })).id;
    const [shared, onlyGone, onlyTarget] = [await entity(), await entity('resource'), await entity('group')];
    for (const each of [shared, onlyGone]) await link(gone, each);
    for (const each of [shared, onlyTarget]) await link(target, each);
    const kept = (await linksOf(gone)).body.data[1];
    expect((await remove(gone, `?reassign_to=${target.toUpperCase()}`)).status).toBe(204);
    expectError(await get(gone), 404, 'NOT_FOUND');
    expect((await get(part)).body.data).toMatchObject({ parent_id: target, level: 3 });
    expect(await levelOf(below)).toBe(4);
    expect((await get(target)).body.data.usage_count).toBe(3);
    const links = (await linksOf(target)).body.data;
    expect(links).toHaveLength(3);
    expect(links).toContainEqual({ ...kept, category_id: target });
    expect(await problems()).toEqual([]);
    const [row] = (await trailOf(test, tenant.tenantId, gone)).slice(-1);
    expect(row).toMatchObject({ action: 'category.deleted', details: { reassignedTo: target } });
  });

  it('204 with reassign_to: to its parent, and without children and links', async () => {
    const [root, middle, leaf] = (await createLine(3)) as [string, string, string];
    expect((await remove(middle, `?reassign_to=${root}&cascade=false`)).status).toBe(204);
    expect((await get(leaf)).body.data).toMatchObject({ parent_id: root, level: 1 });
    expect((await remove(leaf, `?reassignTo=${root}`)).status).toBe(204);
    expect((await remove(root)).status).toBe(204);
    expect(await problems()).toEqual([]);
  });

  it.each(['cascade=maybe', 'cascade=', 'reassign_to=42', 'reassign_to='])('400: %s', async (query) => {
    const { id } = await create();
    expectError(await remove(id, `?${query}`), 400, 'VALIDATION_ERROR');
    expect((await get(id)).status).toBe(200);
  });

  it('401, 403: no credentials, not an administrator', async () => {
    const { id } = await create();
    const member = await createMember(test, tenant, { permissions: ['categories.link'] });
    expectError(await remove(id, '', { token: undefined }), 401, 'AUTHENTICATION_ERROR');
    expectError(await remove(id, '?cascade=true', { token: member.token }), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: an unknown category or target, or one of another tenant', async () => {
    const { id } = await create();
    for (const unknown of [newId(), foreignId]) {
      for (const query of ['', '?cascade=true', `?reassign_to=${id}`]) {
        expectError(await remove(unknown, query), 404, 'NOT_FOUND');
      }
      expectError(await remove(id, `?reassign_to=${unknown}`), 404, 'NOT_FOUND', 'REASSIGN_TARGET_NOT_FOUND');
    }
  });

  it('409: with children; with links; reassigned to itself or a descendant', async () => {
    const [root, part] = (await createLine(2)) as [string, string];
    expectError(await remove(root), 409, 'CONFLICT', 'CATEGORY_HAS_CHILDREN');
    expectError(await remove(root, '?cascade=false'), 409, 'CONFLICT', 'CATEGORY_HAS_CHILDREN');
    for (const target of [root, part]) {
      expectError(await remove(root, `?reassign_to=${target}`), 409, 'CONFLICT', 'CATEGORY_CYCLE');
    }
    await link(part, await entity());
    expectError(await remove(part), 409, 'CONFLICT', 'CATEGORY_HAS_LINKS');
    expect(await problems()).toEqual([]);
  });

  it('422: cascade together with reassign_to, and children that would be too deep', async () => {
    const [target] = await createLine(1);
    const { id } = await create();
    const both = await remove(id, `?cascade=true&reassign_to=${target}`);
    expectError(both, 422, 'UNPROCESSABLE_ENTITY', 'CASCADE_REASSIGN_CONFLICT');
    const deep = await createLine(32);
    const [gone] = await createLine(2);
    const tooDeep = await remove(gone!, `?reassign_to=${deep.at(-1)}`);
    expectError(tooDeep, 422, 'UNPROCESSABLE_ENTITY', 'CATEGORY_TOO_DEEP');
    expect((await remove(id, `?reassign_to=${deep.at(-1)}`)).status).toBe(204);
    expect(await problems()).toEqual([]);
  });
});
