import { beforeAll, expect, it } from 'vitest';

import { adminPath, newDefault, newOverride, ownPath, put, putOwn } from '#modules/notifications/testing/preferences';
import { race } from '#test/support/directory';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

type Data = Record<string, any>;

const test = useService();
let tenant: Tenant;
let admin: Call;
let person: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  person = await createMember(test, tenant);
});

const own = async (by: Call): Promise<Data[]> => (await test.call('GET', ownPath, by)).body.data;
const defaults = async (by: Call): Promise<Data[]> => (await test.call('GET', adminPath, by)).body.data;
const categories = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => ({ category: `c${from + at}` }));

it('fifty concurrent equal updates store one row each, in any order', async () => {
  const items = categories(0, 10);
  for (const scope of ['user_override', 'tenant_default'] as const) {
    const enabled = (at: number) => at % 2 === 0;
    const counts = await race(50, (at) => {
      const ordered = at % 3 === 0 ? items : items.toReversed();
      return put(
        test,
        admin,
        ordered.map((item) => ({ ...item, enabled: enabled(at) })),
        scope === 'tenant_default' ? { scope } : {},
      );
    });
    expect(counts).toEqual({ 200: 50 });
    const rows = await (scope === 'tenant_default' ? defaults : own)(admin);
    expect(rows.map(({ category }) => category as string)).toEqual(items.map(({ category }) => category));
    // One of them was the last for all.
    expect(new Set(rows.map((row) => row.enabled)).size).toBe(1);
  }
});

it('concurrent updates by the user and an administrator both succeed and leave one row', async () => {
  const counts = await race(50, (at) =>
    at % 2 === 0
      ? putOwn(test, person, [{ enabled: true }])
      : put(test, admin, [{ quietHours: { start: '22:00', end: '06:00' } }], { userId: person.userId }),
  );
  expect(counts).toEqual({ 200: 50 });
  // Omitted quiet hours keep their value.
  expect(await own(person)).toMatchObject([{ quietHours: { start: '22:00', end: '06:00' } }]);
});

it('concurrent create and delete leave it present or absent, without other answers', async () => {
  const { id } = await newOverride(test, person, { category: 'comes and goes' });
  const counts = await race(50, (at) =>
    at % 2 === 0
      ? putOwn(test, person, [{ category: 'comes and goes' }])
      : test.call('DELETE', `${ownPath}/${id}`, person),
  );
  expect([counts[200], counts[204], counts[404]]).toEqual([25, 1, 24]);
  expect((await own(person)).filter(({ category }) => category === 'comes and goes').length).toBeLessThan(2);
});

it('the limits of 500 for a user and 500 for a tenant are exact', async () => {
  const { admin: owner } = await createTenant(test);
  for (const to of [{}, { scope: 'tenant_default' }]) {
    for (let from = 0; from < 400; from += 100) {
      expect((await put(test, owner, categories(from, from + 100), to)).status).toBe(200);
    }
    expect((await put(test, owner, categories(400, 480), to)).status).toBe(200);
    // Each brings two more, of which the half fits.
    const counts = await race(20, (at) => put(test, owner, categories(480 + at * 2, 482 + at * 2), to));
    expect(counts).toEqual({ 200: 10, 422: 10 });
    const answer = await put(test, owner, [{ category: 'c0' }, { category: 'one more' }], to);
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'TOO_MANY_PREFERENCES');
    // What is there may be changed.
    expect((await put(test, owner, categories(0, 100), to)).status).toBe(200);
    const rows = await ('scope' in to ? defaults : own)({ token: owner.token });
    expect(rows).toHaveLength(500);
    expect((await test.call('DELETE', `${adminPath}/${rows[0]!.id}`, owner)).status).toBe(204);
    expect((await put(test, owner, [{ category: 'one more' }], to)).status).toBe(200);
  }
});

it('a user who is deleted meanwhile leaves no preferences, and writers get 404', async () => {
  const leaving = await createMember(test, tenant);
  const counts = await race(50, (at) =>
    at === 25
      ? test.call('DELETE', `/api/v1/secure/users/${leaving.userId}`, admin)
      : put(test, admin, [{ category: `c${at}` }], { userId: leaving.userId }),
  );
  expect(counts[204]).toBe(1);
  expect((counts[200] ?? 0) + (counts[404] ?? 0)).toBe(49);
  const rows = await test.service.services.database.tenant(tenant.tenantId).all({
    kind: 'read',
    text: 'select id from notification_preferences where tenant_id = $1 and user_id = $2',
    values: [tenant.tenantId, leaving.userId],
    prepare: false,
  });
  expect(rows).toEqual([]);
});

it('a lock set during concurrent overrides: earlier ones are kept without effect', async () => {
  const { admin: owner } = await createTenant(test);
  const counts = await race(50, (at) =>
    at === 25
      ? put(test, owner, [{ enabled: true, rules: { locked: true } }], { scope: 'tenant_default' })
      : putOwn(test, owner, [{ enabled: false }]),
  );
  expect((counts[200] ?? 0) + (counts[422] ?? 0)).toBe(50);
  expectError(await putOwn(test, owner, [{}]), 422, 'UNPROCESSABLE_ENTITY', 'CATEGORY_LOCKED');
  const { data } = (await test.call('GET', `${ownPath}/effective?category=news`, owner)).body;
  expect(data.find(({ channel }: Data) => channel === 'email')).toMatchObject({ enabled: true, layer: 'locked' });
  await newDefault(test, owner, { enabled: true, rules: {} });
  expect((await putOwn(test, owner, [{}])).status).toBe(200);
});
