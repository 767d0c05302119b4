import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';

import { findInLine, prose, readExpressions } from './prose.ts';
import { plant } from './testing/plant.ts';

const glossary = await readFile(path.join(import.meta.dirname, '../../docs/glossary.md'), 'utf8');
const expressions = readExpressions(glossary);

function plantText(text: string): Promise<string> {
  return plant({ 'docs/glossary.md': glossary, 'apps/server/src/core/a.ts': text });
}

it.each(expressions.map(({ example, pattern }) => [example, pattern] as const))(
  'finds %s',
  async (example, pattern) => {
    const own = expressions.find((expression) => expression.pattern === pattern)!;
    expect(findInLine(example, [own])).toHaveLength(1);
    const problems = await prose.find(await plantText(`// ${example}\nexport const a = 1;\n`));
    expect(problems).toContainEqual(expect.stringContaining(`apps/server/src/core/a.ts:1: `));
  },
);

it('reads names as words', () => {
  expect(findInLine('const patienceMs = 5;', expressions)).toHaveLength(1);
  expect(findInLine('  quota_ceilings integer,', expressions)).toHaveLength(1);
});

it.each([
  'quota_ceiling: Type.Object({})',
  "{ ceiling: 'requests_per_day', limit: 40 }",
  "for (const name of ['atrium', 'nobody'])",
])('passes a name that is fixed elsewhere: %s', (line) => {
  expect(findInLine(line, expressions)).toEqual([]);
});

it('passes standard wording', async () => {
  const text = '// There is no index, and the timeout is no longer 5 s.\nexport const timeoutMs = 5;\n';
  expect(await prose.find(await plantText(text))).toEqual([]);
});

it('fails without the table of the glossary', () => {
  expect(() => readExpressions('# Glossary\n')).toThrow('no table');
});
