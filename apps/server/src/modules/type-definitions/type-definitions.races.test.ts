import { beforeAll, describe, expect, it } from 'vitest';

import { create, paths, post, race } from '#test/support/directory';
import { createTenant, unique } from '#test/support/factories';
import { useService, type Call } from '#test/support/harness';

const test = useService();
const [width, rounds] = [50, 20];
let admin: Call;

beforeAll(async () => {
  admin = { token: (await createTenant(test)).admin.token };
});

describe('concurrent requests', () => {
  it('one of fifty types gets a key', async () => {
    for (let round = 0; round < rounds; round++) {
      const body = { key: unique('key').toLowerCase() };
      expect(await race(width, () => post(test, admin, 'types', body))).toEqual({ 201: 1, 409: width - 1 });
    }
  });

  it('a type is deleted or used by a record, but never both', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id } = await create(test, admin, 'types');
      const [deleted, ...created] = await Promise.all([
        test.call('DELETE', `${paths.types}/${id}`, admin),
        ...Array.from({ length: 10 }, () => post(test, admin, 'resources', { type_id: id })),
      ]);
      const statuses = [...new Set(created.map(({ status }) => status))];
      expect([
        { deleted: 409, statuses: [201] },
        { deleted: 204, statuses: [404] },
      ]).toContainEqual({ deleted: deleted.status, statuses });
    }
  });

  it('every change of a schema creates a new version, also within a millisecond', async () => {
    const { id } = await create(test, admin, 'types');
    const url = `${paths.types}/${id}`;
    const change = (at: number) =>
      test.call('PATCH', url, { ...admin, body: { json_schema: { properties: { a: { const: at } } } } });
    const answers = await Promise.all(Array.from({ length: width }, (_, at) => change(at)));
    expect(new Set(answers.map(({ body }) => body.data.updated_at)).size).toBe(width);
  });

  it('a record is always checked against a schema that was current when its request started', async () => {
    const { id } = await create(test, admin, 'types');
    const url = `${paths.types}/${id}`;
    for (let round = 0; round < width; round++) {
      const json_schema = { properties: { a: { const: round } } };
      expect((await test.call('PATCH', url, { ...admin, body: { json_schema } })).status).toBe(200);
      const statuses = await Promise.all(
        [round, round - 1].map((a) => post(test, admin, 'resources', { type_id: id, properties: { a } })),
      );
      expect(statuses.map(({ status }) => status)).toEqual([201, 422]);
    }
  });
});
