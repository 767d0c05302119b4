import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { files, type Gate } from './run.ts';

// Composed from parts, so that these lines do not match themselves.
const compilerMarks = ['expect-error', 'ignore', 'nocheck'].map((word) => `@ts-${word}`);
const marks = new RegExp(`(?:${['(?:ox|es)lint-disable', ...compilerMarks].join('|')})\\S*(.*)`);

/** Each place where a rule is switched off: in a number that may only fall, and with its reason after `--`. */
export const suppressions: Gate = {
  name: 'suppressions',
  async find(root) {
    const allowed = JSON.parse(await readFile(path.join(root, 'tools/checks/suppressions.json'), 'utf8')) as {
      count: number;
    };
    const found: string[] = [];
    const problems: string[] = [];
    for (const file of await files(root, '**/*.{ts,tsx,mts,mjs,cjs,js}')) {
      const lines = (await readFile(path.join(root, file), 'utf8')).split('\n');
      for (const [at, line] of lines.entries()) {
        const rest = marks.exec(line)?.[1];
        if (rest === undefined) continue;
        found.push(`${file}:${at + 1}`);
        if (!/--\s*\S{3}/.test(rest))
          problems.push(`${file}:${at + 1} switches a rule off without a reason after "--"`);
      }
    }
    return [...problems, ...compare(found, allowed.count)];
  },
};

function compare(found: readonly string[], allowed: number): string[] {
  if (found.length > allowed) return [`${found.length} suppressions, ${allowed} are allowed: ${found.join(', ')}`];
  if (found.length < allowed) return [`lower the count in tools/checks/suppressions.json to ${found.length}`];
  return [];
}
