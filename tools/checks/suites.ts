import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { files, type Gate } from './run.ts';
import { Source, below, type Node } from './source.ts';

/** Figures that depend on the machine and on what else it does: they belong into the benchmark, as ratios. */
const measures: readonly [pattern: RegExp, what: string][] = [
  [/\bmemoryUsage\b|\bheapUsed\b/, 'measures the memory of its process'],
  [/\bperformance\.now\b|\bhrtime\b/, 'measures time'],
];
const waits = new Set(['waitFor', 'waitUntil']);

/** No test asserts what a busy machine changes, or waits with a bound that only an idle one keeps. */
export const suites: Gate = {
  name: 'suites',
  async find(root) {
    const problems: string[] = [];
    for (const file of await files(root, '{apps,e2e,bench}/**/*.test.ts')) {
      const text = await readFile(path.join(root, file), 'utf8');
      for (const [pattern, what] of measures) if (pattern.test(text)) problems.push(`${file} ${what}`);
      const source = new Source(file, text);
      for (const { node } of source.declarations) {
        for (const one of below(node)) {
          if (isUnbounded(one)) problems.push(`${source.place(one)} waits for a second: give it a bound of its own`);
        }
      }
    }
    return problems;
  },
};

/** `vi.waitFor(check)`, which gives up after a second. */
function isUnbounded(node: Node): boolean {
  if (node.type !== 'CallExpression') return false;
  const { object, property } = node['callee'] as { object?: { value?: string }; property?: { value?: string } };
  if (object?.value !== 'vi' || !waits.has(property?.value ?? '')) return false;
  return (node['arguments'] as unknown[]).length < 2;
}
