import { beforeAll, describe, expect, it } from 'vitest';

import { create, paths, race, trailOf } from '#test/support/directory';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let admin: Call;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
});

/** As many languages, of which there are 676. */
const languages = (count: number) =>
  Array.from({ length: count }, (_, at) => String.fromCodePoint(97 + Math.floor(at / 26), 97 + (at % 26)));

const named = (all: readonly string[]) => Object.fromEntries(all.map((language) => [language, { name: 'x' }]));

describe.each(['spaces', 'resources', 'tags'] as const)('a PATCH of the translations of %s', (kind) => {
  const translated = async (translations: object): Promise<string> =>
    (await create(test, admin, kind, { translations_i18n: translations })).id;
  const patch = (id: string, translations: object) =>
    test.call('PATCH', `${paths[kind]}/${id}`, { ...admin, body: { translations_i18n: translations } });
  const read = async (id: string) =>
    (await test.call('GET', `${paths[kind]}/${id}`, admin)).body.data.translations_i18n as Record<string, unknown>;

  it('200: replaces the given languages, removes those that are null, and keeps all others', async () => {
    const id = await translated({ de: { name: 'Saal' }, fr: { name: 'Salle' }, it: {} });
    const { status, body } = await patch(id, { de: { name: null }, fr: null, es: { name: 'Sala' }, pt: null });
    const merged = { de: { name: null }, es: { name: 'Sala' }, it: {} };
    expect([status, body.data.translations_i18n]).toEqual([200, merged]);
    expect((await patch(id, {})).body.data.translations_i18n).toEqual(merged);
    expect(await read(id)).toEqual(merged);
  });

  it('400: null for a language of a new record', async () => {
    const body = { name: 'Hall', translations_i18n: { de: null } };
    expectError(await test.call('POST', paths[kind], { ...admin, body }), 400, 'VALIDATION_ERROR');
  });

  it('200: 50 concurrent requests, each for another language, are all kept', async () => {
    const all = languages(50);
    const id = await translated(named(all.filter((_, at) => at % 2 === 0)));
    const counts = await race(50, (at) => patch(id, { [all[at]!]: at % 2 === 0 ? null : { name: `${at}` } }));
    expect(counts).toEqual({ 200: 50 });
    const odd = all.flatMap((language, at) => (at % 2 === 0 ? [] : [[language, { name: `${at}` }] as const]));
    expect(await read(id)).toEqual(Object.fromEntries(odd));
  });

  it('422: too many languages, and nothing is written', async () => {
    const full = named(languages(200));
    const id = await translated(full);
    expectError(await patch(id, { zz: {} }), 422, 'UNPROCESSABLE_ENTITY', 'TOO_MANY_TRANSLATIONS');
    expect(await read(id)).toEqual(full);
    expect((await patch(id, { aa: null, zz: {} })).status).toBe(200);
    expect(await trailOf(test, tenant.tenantId, id)).toHaveLength(2);
  });

  it('422: of 50 concurrent requests, all above the limit of languages', async () => {
    const id = await translated(named(languages(190)));
    const others = languages(240).slice(190);
    expect(await race(50, (at) => patch(id, named([others[at]!])))).toEqual({ 200: 10, 422: 40 });
    expect(Object.keys(await read(id))).toHaveLength(200);
  });
});

it('422: translations of a space that are larger than 32 KiB together', async () => {
  const { id } = await create(test, admin, 'spaces', {});
  const patch = (language: string, length: number) =>
    test.call('PATCH', `${paths.spaces}/${id}`, {
      ...admin,
      body: { translations_i18n: { [language]: { description: 'x'.repeat(length) } } },
    });
  const all = languages(7);
  for (const language of all.slice(0, 6)) expect((await patch(language, 5000)).status).toBe(200);
  // {"aa":{"description":"…"},…}: 23 bytes in addition to each text, a comma between two, and the braces.
  const room = 32_768 - 6 * 5000 - 7 * 23 - 6 - 2;
  expectError(await patch(all[6]!, room + 1), 422, 'UNPROCESSABLE_ENTITY', 'TOO_MANY_TRANSLATIONS');
  expect((await patch(all[6]!, room)).status).toBe(200);
});
