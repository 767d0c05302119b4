import { median, round, type Bench, type Scenario } from '../scenario.ts';

const width = 10;
const atOnce = 16;
const moves = 6;

/** A subtree of 10,000 categories that changes its place, there and back. */
export const categoryMove: Scenario = {
  name: 'category-move',
  async run(bench) {
    const size = 10_000;
    const [left, right] = [await create(bench, 'left', null), await create(bench, 'right', null)];
    const top = await plant(bench, left, size);
    const durations: number[] = [];
    for (let at = 0; at < moves; at++) {
      const startedAt = performance.now();
      await call(bench, 'PATCH', `/${top}`, { parent_id: at % 2 === 0 ? right : left });
      durations.push(round((performance.now() - startedAt) / 1000));
    }
    const value = round(median(durations));
    const detail = { categories: size, seconds: durations };
    return [{ name: 'move of 10,000 categories', value, unit: 's', target: { atMost: 1 }, detail }];
  },
};

/** A tree of so many nodes, each with up to ten children. @returns its top. */
async function plant(bench: Bench, parent: string, size: number): Promise<string> {
  const ids = [await create(bench, 'node-0', parent)];
  while (ids.length < size) {
    const from = ids.length;
    // No further than the parents that are there already.
    const count = Math.min(atOnce, size - from, from * width - from + 1);
    const added = Array.from({ length: count }, (_, step) => {
      const at = from + step;
      return create(bench, `node-${at}`, ids[Math.floor((at - 1) / width)]!);
    });
    ids.push(...(await Promise.all(added)));
  }
  return ids[0]!;
}

async function create(bench: Bench, key: string, parentId: string | null): Promise<string> {
  const body = { key, parent_id: parentId, translations: { en: { name: key } } };
  return (await call(bench, 'POST', '', body)).data.id;
}

async function call({ atrium, seed }: Bench, method: string, path: string, body: object) {
  const response = await fetch(`${atrium.base}/api/v1/secure/taxonomy/categories${path}`, {
    method,
    headers: { authorization: `Bearer ${seed.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`categories answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { data: { id: string } };
}
