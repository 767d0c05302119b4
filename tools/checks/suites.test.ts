import { expect, it } from 'vitest';

import { suites } from './suites.ts';
import { plant } from './testing/plant.ts';

const file = 'apps/server/src/core/a.test.ts';
const clean = {
  [file]: "it('a', () => vi.waitFor(() => expect(heard).toBe(1), { timeout: 30_000 }));\n",
  'bench/load.ts': 'export const started = performance.now();\n',
};

it('passes a tree in order', async () => {
  expect(await suites.find(await plant(clean))).toEqual([]);
});

it.each([
  ['resident memory', 'const before = process.memoryUsage.rss();\n'],
  ['wall-clock time', "it('a', () => expect(performance.now() - started).toBeLessThan(100));\n"],
  ['a wait that ends after a second', "it('a', async () => {\n  await vi.waitFor(() => expect(heard).toBe(1));\n});\n"],
  ['such a wait on the way to something else', 'const found = async () => (await vi.waitUntil(() => heard)).length;\n'],
])('finds %s', async (_what, text) => {
  expect(await suites.find(await plant({ ...clean, [file]: text }))).toEqual([expect.stringContaining(file)]);
});
