import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { subtreeOf } from '#modules/categories/categories.rules';
import { categoriesOf, type Entity } from '#modules/categories/testing/steps';
import { withClient } from '#test/support/database';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService, type Answer } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
const { post, list, patch, remove, link, ofEntity, entity, problems } = categoriesOf(test, () => tenant);

type Kind = 'create' | 'move' | 'cascade' | 'reassign' | 'link';
type Change = { kind: Kind; id: string; target: string | null };

const step = fc.record<{ kind: Kind; at: number; to: number }>({
  kind: fc.constantFrom('create', 'create', 'create', 'move', 'move', 'move', 'link', 'link', 'reassign', 'cascade'),
  at: fc.nat(999),
  to: fc.nat(999),
});

/** A simple model of the tree. */
class Model {
  readonly parents = new Map<string, string | null>();
  readonly links = new Map<string, Set<number>>();

  level(id: string): number {
    const parent = this.parents.get(id)!;
    return parent === null ? 0 : this.level(parent) + 1;
  }

  isWithin(id: string | null, ancestor: string): boolean {
    return id !== null && (id === ancestor || this.isWithin(this.parents.get(id)!, ancestor));
  }

  below(id: string): string[] {
    return [...this.parents.keys()].filter((other) => this.isWithin(other, id));
  }

  height(id: string): number {
    return Math.max(...this.below(id).map((other) => this.level(other))) - this.level(id);
  }

  /** The expected answer. */
  run({ kind, id, target }: Change, thing: number): number {
    if (kind === 'move') return this.move(id, target);
    if (kind === 'reassign' && target !== null) return this.reassign(id, target);
    if (kind === 'link') this.links.get(id)!.add(thing);
    else this.forget(this.below(id));
    return kind === 'link' ? 201 : 204;
  }

  move(id: string, target: string | null): number {
    if (this.isWithin(target, id)) return 409;
    if ((target === null ? 0 : this.level(target) + 1) + this.height(id) > 31) return 422;
    this.parents.set(id, target);
    return 200;
  }

  reassign(id: string, target: string): number {
    if (this.isWithin(target, id)) return 409;
    const below = this.below(id);
    if (below.length > 1 && this.level(target) + this.height(id) > 31) return 422;
    for (const child of below) if (this.parents.get(child) === id) this.parents.set(child, target);
    for (const linked of this.links.get(id)!) this.links.get(target)!.add(linked);
    this.forget([id]);
    return 204;
  }

  forget(ids: readonly string[]): void {
    for (const id of ids) {
      this.parents.delete(id);
      this.links.delete(id);
    }
  }
}

function send({ kind, id, target }: Change, thing: Entity): Promise<Answer> {
  if (kind === 'link') return link(id, thing);
  if (kind === 'move') return patch(id, { parent_id: target });
  return remove(id, kind === 'reassign' && target !== null ? `?reassign_to=${target}` : '?cascade=true');
}

async function expectModel(model: Model): Promise<void> {
  const { data, total } = (await list()).body;
  expect(total).toBe(model.parents.size);
  const seen = data.map(({ id, parent_id, level, usage_count }: any) => [id, [parent_id, level, usage_count]]);
  const expected = [...model.parents].map(([id, parent]) => [id, [parent, model.level(id), model.links.get(id)!.size]]);
  expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(expected));
  expect(await problems()).toEqual([]);
}

describe('any sequence of changes', () => {
  it('agrees with a simple model on parents, levels, paths, counts and refusals', async () => {
    const answered = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 50 }), async (steps) => {
        tenant = await createTenant(test);
        const things = [await entity(), await entity('resource'), await entity('group')];
        const model = new Model();
        for (const { kind, at, to } of steps) {
          const ids = [...model.parents.keys()];
          const target = [null, ...ids][to % (ids.length + 1)]!;
          const id = ids[at % Math.max(ids.length, 1)];
          if (kind === 'create' || id === undefined) {
            const created = await post({ parent_id: target });
            expect(created.status).toBe(201);
            model.parents.set(created.body.data.id, target);
            model.links.set(created.body.data.id, new Set());
            continue;
          }
          const thing = to % things.length;
          const answer = await send({ kind, id, target }, things[thing]!);
          expect(answer.status).toBe(model.run({ kind, id, target }, thing));
          answered.add(`${kind} ${answer.status}`);
        }
        await expectModel(model);
        for (const [at, thing] of things.entries()) {
          const { data } = (await ofEntity(thing)).body;
          const linked = [...model.links].filter(([, set]) => set.has(at)).map(([id]) => id);
          expect(data.map(({ id }: { id: string }) => id).toSorted()).toEqual(linked.toSorted());
        }
      }),
      { numRuns: 15 },
    );
    const all = ['move 200', 'move 409', 'link 201', 'reassign 204', 'reassign 409', 'cascade 204'];
    expect([...answered]).toEqual(expect.arrayContaining(all));
  });

  it('never exceeds 32 levels when chains are moved below each other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 31 }), fc.integer({ min: 1, max: 31 }), async (upper, lower) => {
        tenant = await createTenant(test);
        const model = new Model();
        const chain = async (length: number) => {
          const ids: string[] = [];
          for (let at = 0; at < length; at++) {
            const parent = ids.at(-1) ?? null;
            ids.push((await post({ parent_id: parent })).body.data.id);
            model.parents.set(ids.at(-1)!, parent);
            model.links.set(ids.at(-1)!, new Set());
          }
          return ids;
        };
        const target = (await chain(upper)).at(-1)!;
        const [id] = (await chain(lower)) as [string];
        const expected = model.run({ kind: 'move', id, target }, 0);
        expect(expected).toBe(upper + lower <= 32 ? 200 : 422);
        expect((await patch(id, { parent_id: target })).status).toBe(expected);
        await expectModel(model);
      }),
      {
        numRuns: 12,
        examples: [
          [16, 16],
          [16, 17],
          [31, 1],
          [31, 2],
          [1, 31],
        ],
      },
    );
  });
});

describe('a subtree', () => {
  it('is one index range for the database role of requests', async () => {
    tenant = await createTenant(test);
    const { id } = (await post()).body.data;
    const { from, before } = subtreeOf({ path: `${id}/` });
    const { tenantId } = tenant;
    await withClient(test.connection, async (client) => {
      // A small share of the rows, with statistics, so that the planner prefers this index.
      await client.query(
        `insert into categories (tenant_id, id, key, level, path, translations, search_text, created_at, updated_at)
           select $1, id, 'other-' || id, 0, id || '/', '{}', '', now(), now()
           from (select gen_random_uuid() as id from generate_series(1, 500)) other`,
        [tenantId],
      );
      await client.query('analyze categories');
    });
    const plan = await test.service.services.database.tenant(tenantId).transaction(async (tx) => {
      // Otherwise the planner prefers a sequential scan of such a small table.
      await tx.all({ kind: 'read', text: 'set local enable_seqscan = off', values: [], prepare: false });
      await tx.all({ kind: 'read', text: 'set local enable_bitmapscan = off', values: [], prepare: false });
      return tx.all<{ 'QUERY PLAN': string }>({
        kind: 'write',
        text: `explain update categories set level = level where tenant_id = $1 and path >= $2 and path < $3`,
        values: [tenantId, from, before],
        prepare: false,
      });
    });
    const text = plan.map((row) => row['QUERY PLAN']).join('\n');
    expect(text).toMatch(/Index Scan using categories_by_path/);
    expect(text).toMatch(/Index Cond: .*path >= .*path < /);
  });

  it('of one category excludes a category whose id has the same prefix', () => {
    const [a, b] = [`${newId()}/`, `${newId()}/`];
    const { from, before } = subtreeOf({ path: a });
    const isIn = (path: string) => path >= from && path < before;
    expect([a, `${a}${b}`, `${a}ffffffff-ffff-ffff-ffff-ffffffffffff/`].every(isIn)).toBe(true);
    expect([b, `${b}${a}`, a.slice(0, -1), `${a.slice(0, -2)}/`, before].some(isIn)).toBe(false);
  });
});
