import { beforeEach, describe, expect, it, vi } from 'vitest';

import { categoriesOf, type Entity } from '#modules/categories/testing/steps';
import { race } from '#test/support/directory';
import { createTenant, unique, type Tenant } from '#test/support/factories';
import { useService, type Answer } from '#test/support/harness';

vi.setConfig({ testTimeout: 120_000 });

const test = useService();
const width = 50;
const rounds = 20;
let tenant: Tenant;
const steps = categoriesOf(test, () => tenant);
const { post, create, get, patch, remove, link, unlink, linksOf, entity, removeEntity, problems } = steps;

beforeEach(async () => {
  tenant = await createTenant(test);
});

const createId = async (parentId: string | null = null): Promise<string> => (await create({ parent_id: parentId })).id;
const times = <Result>(count: number, make: (at: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => make(at)));
const statusesOf = (answers: readonly Answer[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);
const usageOf = async (id: string): Promise<number> => (await get(id)).body.data.usage_count;

async function eachRound(run: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; round < rounds; round++) await run(round);
  expect(await problems()).toEqual([]);
}

/** Runs the calls concurrently, taken in turn from a list. */
const mixed = (calls: readonly (() => Promise<Answer>)[]) => race(width, (at) => calls[at % calls.length]!());

function expectOnly(counts: Record<number, number>, statuses: readonly number[]): void {
  expect(Object.keys(counts).filter((status) => !statuses.includes(Number(status)))).toEqual([]);
}

describe('concurrent createCategory', () => {
  it('creates a key once', async () => {
    await eachRound(async () => {
      const key = unique('key');
      expect(await race(width, () => post({ key }))).toEqual({ 201: 1, 409: width - 1 });
    });
  });

  it('creates children below a parent that moves', async () => {
    await eachRound(async () => {
      const [parent, a, b] = [await createId(), await createId(), await createId()];
      const add = () => post({ parent_id: parent });
      const counts = await mixed([
        add,
        () => patch(parent, { parent_id: a }),
        add,
        add,
        () => patch(parent, { parent_id: b }),
      ]);
      expectOnly(counts, [200, 201]);
    });
  });

  it('leaves no orphan when the parent is deleted', async () => {
    await eachRound(async () => {
      const parent = await createId();
      const counts = await mixed([() => post({ parent_id: parent }), () => remove(parent, '?cascade=true')]);
      expectOnly(counts, [201, 204, 404]);
      expect(counts[204]).toBe(1);
    });
  });
});

describe('concurrent linkCategory and unlinkCategory', () => {
  it('link the same record once', async () => {
    await eachRound(async () => {
      const [id, thing] = [await createId(), await entity()];
      const answers = await times(width, () => link(id, thing));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
      expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
      expect(await usageOf(id)).toBe(1);
    });
  });

  it('count links to different records exactly', async () => {
    const things = await times(width, () => entity());
    await eachRound(async () => {
      const id = await createId();
      expect(await race(width, (at) => link(id, things[at]!))).toEqual({ 201: width });
      expect(await usageOf(id)).toBe(width);
      expect(await race(width, (at) => unlink(id, things[at % 10]!))).toEqual({ 204: 10, 404: width - 10 });
      expect(await usageOf(id)).toBe(width - 10);
    });
  });

  it('keep the count equal to the number of links', async () => {
    const things = await times(3, () => entity());
    const ids = await times(2, () => createId());
    await eachRound(async () => {
      const calls = ids.flatMap((id) =>
        things.flatMap((thing) => [() => link(id, thing), () => unlink(id, thing), () => link(id, thing)]),
      );
      expectOnly(await mixed(calls), [201, 204, 404]);
      for (const id of ids) expect((await linksOf(id)).body.data).toHaveLength(await usageOf(id));
    });
  });
});

describe('concurrent moves', () => {
  it('never form a cycle: of two opposite moves exactly one succeeds', async () => {
    await eachRound(async () => {
      const pairs = await times(width / 2, async () => [await createId(), await createId()] as const);
      const answers = await Promise.all(
        pairs.map(([a, b]) => Promise.all([patch(a, { parent_id: b }), patch(b, { parent_id: a })])),
      );
      for (const pair of answers) expect(statusesOf(pair)).toEqual([200, 409]);
    });
  });

  it('never form a long cycle', async () => {
    const ids = await times(10, () => createId());
    await eachRound(async () => {
      expectOnly(await race(width, (at) => patch(ids[at % 10]!, { parent_id: ids[(at * 7 + 1) % 10] })), [200, 409]);
    });
  });

  it('never exceed 32 levels', async () => {
    const chain = async (length: number): Promise<string[]> => {
      const ids: string[] = [];
      while (ids.length < length) ids.push(await createId(ids.at(-1) ?? null));
      return ids;
    };
    for (let round = 0; round < 3; round++) {
      const [a, b, c] = [await chain(12), await chain(12), await chain(12)];
      const answers = await Promise.all([patch(b[0]!, { parent_id: a.at(-1) }), patch(c[0]!, { parent_id: b.at(-1) })]);
      expect(statusesOf(answers)).toEqual([200, 422]);
    }
    expect(await problems()).toEqual([]);
  });
});

describe('concurrent deletions', () => {
  const deletable = ['space', 'resource', 'group'] as const;

  it.each(deletable)('delete a %s that is being linked and unlinked', async (type) => {
    const ids = await times(4, () => createId());
    await eachRound(async () => {
      const thing = await entity(type);
      for (const id of ids.slice(0, 2)) await link(id, thing);
      const calls = [
        ...ids.map((id) => () => link(id, thing)),
        () => unlink(ids[0]!, thing),
        () => removeEntity(thing),
      ];
      const counts = await mixed(calls);
      expectOnly(counts, [201, 204, 404]);
      for (const id of ids) expect(await usageOf(id)).toBe(0);
    });
  });

  it('delete records that share categories', async () => {
    const ids = await times(5, () => createId());
    for (let round = 0; round < 5; round++) {
      const things: Entity[] = await times(25, (at) => entity(deletable[at % 3]));
      await Promise.all(
        things.map(async (thing, at) => {
          for (let step = 0; step < 5; step++) await link(ids[(at + step) % 5]!, thing);
        }),
      );
      expect(await race(25, (at) => removeEntity(things[at]!))).toEqual({ 204: 25 });
      for (const id of ids) expect(await usageOf(id)).toBe(0);
    }
    expect(await problems()).toEqual([]);
  });

  it('delete a category that is being linked', async () => {
    const things = await times(5, () => entity());
    await eachRound(async (round) => {
      const [id, target] = [await createId(), await createId()];
      const query = ['?cascade=true', `?reassign_to=${target}`, ''][round % 3]!;
      const counts = await mixed([...things.map((thing) => () => link(id, thing)), () => remove(id, query)]);
      expectOnly(counts, [201, 204, 404, 409]);
    });
  });

  it('run together with all other operations', async () => {
    await eachRound(async () => {
      const [a, b, c, d] = (await times(4, () => createId())) as [string, string, string, string];
      const part = await createId(a);
      const things: Entity[] = await times(4, (at) => entity(deletable[at % 3]));
      for (const thing of things) for (const id of [a, b, part]) await link(id, thing);
      const counts = await mixed([
        () => link(a, things[0]!),
        () => removeEntity(things[1]!),
        () => remove(a, `?reassign_to=${b}`),
        () => unlink(b, things[2]!),
        () => removeEntity(things[3]!),
        () => patch(b, { parent_id: c }),
        () => remove(d, `?reassign_to=${c}`),
        () => link(part, things[0]!),
        () => patch(part, { key: unique('key'), filter_id: 'x' }),
        () => patch(c, { parent_id: b }),
        () => remove(part, '?cascade=true'),
        () => post({ parent_id: b }),
      ]);
      expectOnly(counts, [200, 201, 204, 404, 409]);
    });
  });
});
