import fc from 'fast-check';
import { beforeAll, describe, expect, it, vi } from 'vitest';

import { create, paths, race } from '#test/support/directory';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService, type Call } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const test = useService();
const path = paths.resources;
const [width, rounds] = [50, 20];
let tenant: Tenant;
let admin: Call;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
});

const createId = async (parentId: string | null = null): Promise<string> =>
  (await create(test, admin, 'resources', { parent_id: parentId })).id;
const createIds = (count: number) => Promise.all(Array.from({ length: count }, () => createId()));
const move = (id: string, parentId: string | null) =>
  test.call('PATCH', `${path}/${id}`, { ...admin, body: { parent_id: parentId } });
const remove = (id: string) => test.call('DELETE', `${path}/${id}`, admin);

/** Every resource of the tenant with its parent, from one snapshot. */
async function parents(ids: readonly string[]): Promise<Map<string, string | null>> {
  const rows = await test.service.services.database
    .tenant(tenant.tenantId)
    .all<{ id: string; parent_id: string | null }>({
      kind: 'read',
      text: 'select id, parent_id from resources where tenant_id = $1 and id = any ($2)',
      values: [tenant.tenantId, ids],
      prepare: false,
    });
  return new Map(rows.map((row) => [row.id, row.parent_id]));
}

/** Whether every resource reaches a root. */
function isForest(tree: ReadonlyMap<string, string | null>): boolean {
  return [...tree.keys()].every((start) => {
    let at: string | null | undefined = start;
    for (let steps = 0; steps <= tree.size; steps++) {
      at = tree.get(at);
      if (at === null || at === undefined) return at === null;
    }
    return false;
  });
}

describe('sequential moves', () => {
  it('have the same result as in a model of the tree', async () => {
    const count = 6;
    const anyMove = fc.tuple(fc.nat({ max: count - 1 }), fc.option(fc.nat({ max: count - 1 })));
    await fc.assert(
      fc.asyncProperty(fc.array(anyMove, { minLength: 1, maxLength: 12 }), async (moves) => {
        const ids = await createIds(count);
        const model = new Map<string, string | null>(ids.map((id) => [id, null]));
        for (const [at, to] of moves) {
          const [id, parentId] = [ids[at]!, to === null ? null : ids[to]!];
          const moved = new Map(model).set(id, parentId);
          const allowed = isForest(moved);
          expect((await move(id, parentId)).status).toBe(allowed ? 200 : 409);
          if (allowed) model.set(id, parentId);
        }
        expect(await parents(ids)).toEqual(model);
      }),
      { numRuns: 40 },
    );
  });
});

describe('concurrent moves', () => {
  it('never form a cycle', async () => {
    const anyMoves = fc.array(fc.tuple(fc.nat({ max: 7 }), fc.nat({ max: 7 })), { minLength: 10, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(anyMoves, async (moves) => {
        const ids = await createIds(8);
        const answers = await Promise.all(moves.map(([at, to]) => move(ids[at]!, ids[to]!)));
        expect(answers.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
        expect(isForest(await parents(ids))).toBe(true);
      }),
      { numRuns: 15 },
    );
  });

  it('of fifty moves that form one long cycle together, exactly one is refused', async () => {
    for (let round = 0; round < rounds; round++) {
      const ids = await createIds(width);
      const counts = await race(width, (at) => move(ids[at]!, ids[(at + 1) % width]!));
      expect(counts).toEqual({ 200: width - 1, 409: 1 });
      expect(isForest(await parents(ids))).toBe(true);
    }
  });
});

describe('concurrent deletions', () => {
  it('delete once, for fifty requests', async () => {
    for (let round = 0; round < rounds; round++) {
      const id = await createId();
      expect(await race(width, () => remove(id))).toEqual({ 204: 1, 404: width - 1 });
    }
  });

  it('leave no orphan while a part is being added or moved in', async () => {
    for (let round = 0; round < rounds; round++) {
      const [parent, part] = (await createIds(2)) as [string, string];
      const [moved, deleted] = await Promise.all([move(part, parent), remove(parent)]);
      expect([
        [200, 409],
        [404, 204],
      ]).toContainEqual([moved.status, deleted.status]);
    }
  });

  it('leave no resource in a deleted space, and no code on a deleted resource', async () => {
    for (let round = 0; round < rounds; round++) {
      const [space, code, id] = [
        await create(test, admin, 'spaces'),
        await create(test, admin, 'qrCodes'),
        await createId(),
      ];
      const assign = { ...admin, body: { entity_type: 'resource', entity_id: id } };
      const [put, goneSpace, assigned, goneResource] = await Promise.all([
        test.call('POST', path, { ...admin, body: { name: 'Chair', space_id: space.id } }),
        test.call('DELETE', `${paths.spaces}/${space.id}`, admin),
        test.call('POST', `${paths.qrCodes}/${code.id}/assign`, assign),
        remove(id),
      ]);
      expect([
        [201, 409],
        [404, 204],
      ]).toContainEqual([put.status, goneSpace.status]);
      expect([200, 404]).toContain(assigned.status);
      expect(goneResource.status).toBe(204);
      const after = await test.call('GET', `${paths.qrCodes}/${code.id}`, admin);
      expect(after.body.data).toMatchObject({ entity_id: null, assigned_at: null });
    }
  });

  it('with concurrent creations keep the total exact', async () => {
    const own = { token: (await createTenant(test)).admin.token };
    const made = await Promise.all(Array.from({ length: width }, () => create(test, own, 'resources')));
    await Promise.all([
      ...made.slice(0, 20).map(({ id }) => test.call('DELETE', `${path}/${id}`, own)),
      ...Array.from({ length: 10 }, () => create(test, own, 'resources')),
    ]);
    const { body } = await test.call('GET', `${path}?limit=1`, own);
    expect(body.pagination.total).toBe(width - 20 + 10);
  });
});
