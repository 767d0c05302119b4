import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { files, type Gate } from './run.ts';

/** A kind of wording that must not return: a row of the last table in docs/glossary.md. */
export type Expression = { pattern: RegExp; example: string; write: string };

const glossary = 'docs/glossary.md';
const patterns = [
  '{README,CONTRIBUTING,CHANGELOG}.md',
  '{docs,bench}/**/*.md',
  '{apps,bench,e2e,packages,tools}/**/*.{ts,tsx,js,css,sql}',
];
// The gate's own examples.
const excluded = new Set([glossary, 'tools/checks/prose.ts', 'tools/checks/prose.test.ts']);

/**
 * Names that are fixed outside of our texts and therefore are not findings: the specification and the column `quota_ceiling`;
 * `ceiling` in the answers about quotas; the operating system's user `nobody`; the prompt that is sent to a translation model.
 */
const fixed = /\bquota_ceiling\b|\bceiling(?=: (?:Type\.|['`]))|['`]nobody['`]|\bwhatever they say\b/g;

/** Words that the glossary replaces, in every text that a reader meets: code, tests, migrations and documentation. */
export const prose: Gate = {
  name: 'prose',
  async find(root) {
    const expressions = readExpressions(await readFile(path.join(root, glossary), 'utf8'));
    const problems: string[] = [];
    const paths = (await Promise.all(patterns.map((pattern) => files(root, pattern)))).flat();
    for (const file of paths.filter((name) => !excluded.has(name)).toSorted()) {
      const lines = (await readFile(path.join(root, file), 'utf8')).split('\n');
      for (const [at, line] of [file, ...lines].entries()) {
        for (const words of findInLine(line, expressions)) problems.push(`${file}:${Math.max(1, at)}: ${words}`);
      }
    }
    return problems;
  },
};

/** @returns what stands there and what to write, one text for each expression that the line matches */
export function findInLine(line: string, expressions: readonly Expression[]): string[] {
  const words = line
    .replaceAll(fixed, '')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ');
  return expressions.flatMap(({ pattern, write }) => {
    const match = pattern.exec(words);
    return match === null ? [] : [`"${match[0]}": write ${write}`];
  });
}

/** @throws Error where the table is missing, so that an empty list is never taken for a clean tree */
export function readExpressions(markdown: string): Expression[] {
  const rows = markdown.matchAll(/^\| `(.+?)`\s+\| (.+?)\s+\| (.+?)\s+\|$/gm);
  const expressions = [...rows].map(([, pattern, example, write]) => ({
    pattern: new RegExp(pattern!.replaceAll(String.raw`\|`, '|'), 'i'),
    example: example!,
    write: write!,
  }));
  if (expressions.length === 0) throw new Error(`${glossary} has no table of expressions`);
  return expressions;
}
