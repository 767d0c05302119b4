import { describe, expect, it } from 'vitest';

import { gates } from './gates.ts';
import { pass, type Gate } from './run.ts';
import { plant } from './testing/plant.ts';

const core = 'apps/server/src/core';
const clean = { [`${core}/clean.ts`]: 'export const one = 1;\n' };

it.each(['types', 'format', 'lint'] as const)('%s passes a clean tree', async (name) => {
  expect(await gates[name].find(await plant(clean))).toEqual([]);
});

it('types: a wrong type', async () => {
  const root = await plant({ ...clean, 'e2e/wrong.ts': "export const one: number = 'one';\n" });
  expect(await gates.types.find(root)).toEqual([expect.stringContaining('e2e/wrong.ts(1,14): error TS2322')]);
});

it('format: a file that is not formatted', async () => {
  const root = await plant({ ...clean, 'tools/wrong.ts': 'export const one="one"\n' });
  expect(await gates.format.find(root)).toEqual([expect.stringContaining('tools/wrong.ts')]);
});

const branches = Array.from({ length: 12 }, (_, at) => `  if (n === ${at}) return ${at};\n`).join('');
const lines = (count: number) => '  // a line\n'.repeat(count);

const violations: Record<string, [rule: string, text: string]> = {
  [`${core}/floating.ts`]: ['no-floating-promises', 'async function go() {}\ngo();\n'],
  [`${core}/misused.ts`]: ['no-misused-promises', 'export const go = (p: Promise<1>) => (p ? 1 : 2);\n'],
  [`${core}/thenable.ts`]: ['await-thenable', 'export const go = async () => await 1;\n'],
  [`${core}/switch.ts`]: [
    'switch-exhaustiveness-check',
    "export function go(x: 'a' | 'b') {\n  switch (x) {\n    case 'a':\n      return 1;\n  }\n  return 2;\n}\n",
  ],
  [`${core}/any.ts`]: ['no-explicit-any', 'export const go = (x: any) => Boolean(x);\n'],
  [`${core}/type.ts`]: ['consistent-type-imports', "import { Stats } from 'node:fs';\nexport type Facts = Stats;\n"],
  [`${core}/ignore.ts`]: ['ban-ts-comment', `// ${['@ts', 'ignore'].join('-')}\nexport const one: number = '1';\n`],
  [`${core}/equal.ts`]: ['eqeqeq', 'export const go = (x: number) => x == 1;\n'],
  [`${core}/long-file.ts`]: ['max-lines', lines(401)],
  [`${core}/long-function.ts`]: ['max-lines-per-function', `export function go() {\n${lines(59)}}\n`],
  [`${core}/complex.ts`]: ['complexity', `export function go(n: number) {\n${branches}  return -1;\n}\n`],
  [`${core}/parameters.ts`]: [
    'max-params',
    'export const go = (a = 1, b = 2, c = 3, d = 4, e = 5, f = 6) => a + b + c + d + e + f;\n',
  ],
  [`${core}/cycle-a.ts`]: ['no-cycle', "import { b } from '#core/cycle-b';\nexport const a = () => b;\n"],
  [`${core}/cycle-b.ts`]: ['no-cycle', "import { a } from '#core/cycle-a';\nexport const b = () => a;\n"],
  [`${core}/default.ts`]: ['no-default-export', 'export default 1;\n'],
  [`${core}/environment.ts`]: ['no-process-env', "export const home = process.env['HOME'];\n"],
  'apps/server/src/app/service.ts': ['no-process-env', "export const home = process.env['HOME'];\n"],
  [`${core}/process.ts`]: ['no-restricted-imports', "import { env } from 'node:process';\nexport const e = env;\n"],
  [`${core}/call.ts`]: ['no-restricted-globals', "export const call = () => fetch('https://example.com');\n"],
  [`${core}/global-call.ts`]: [
    'no-restricted-globals',
    "export const call = () => globalThis.fetch('https://e.com');\n",
  ],
  [`${core}/socket.ts`]: ['no-restricted-globals', "export const open = () => new WebSocket('wss://example.com');\n"],
  [`${core}/events.ts`]: ['no-restricted-globals', "export const open = () => new EventSource('https://e.com');\n"],
  [`apps/server/src/modules/a/call.service.ts`]: ['no-restricted-globals', 'export const call = fetch;\n'],
  [`apps/server/src/app/socket.ts`]: ['no-restricted-globals', 'export const open = globalThis.WebSocket;\n'],
  // An override takes the place of a rule and of nothing else.
  [`${core}/long.test.ts`]: ['max-lines', lines(501)],
  [`${core}/floating.test.ts`]: ['no-floating-promises', 'async function go() {}\ngo();\n'],
  'tools/equal.ts': ['eqeqeq', 'export const go = (x: number) => x == 1;\n'],
};

const allowed = {
  [`${core}/any.test.ts`]: `export const go = (x: any) => Boolean(x);\n${lines(498)}`,
  'apps/server/test/support/any.ts': 'export type Answer = { body: any };\n',
  'apps/server/src/app/config.ts': "export const home = process.env['HOME'];\n",
  'tools/environment.ts': "export const home = process.env['HOME'];\n",
  [`${core}/call.test.ts`]: "export const call = () => fetch('https://example.com');\n",
  'e2e/call.ts': "export const call = () => fetch('https://example.com');\n",
  'some.config.ts': 'export default {};\n',
};

it('lint: each rule finds its violation, and exceptions are as wide as they are meant', async () => {
  const texts = Object.entries(violations).map(([file, [, text]]) => [file, text]);
  const [output = ''] = await gates.lint.find(await plant({ ...Object.fromEntries(texts), ...allowed }));
  const found = output.split('\n');
  for (const [file, [rule]] of Object.entries(violations)) {
    const fits = found.some((line) => line.startsWith(`${file}:`) && line.includes(`(${rule})`));
    expect({ file, rule, fits }).toEqual({ file, rule, fits: true });
  }
  expect(found.filter((line) => Object.keys(allowed).some((file) => line.startsWith(`${file}:`)))).toEqual([]);
});

describe('suppressions', () => {
  const off = `/* ${['oxlint', 'disable'].join('-')} eqeqeq`;
  const find = async (count: number, text: string) => {
    const numbers = { 'tools/checks/suppressions.json': JSON.stringify({ count }) };
    return gates.suppressions.find(await plant({ ...numbers, 'tools/some.ts': text }));
  };

  it('pass when their number is the agreed one and each has a reason', async () => {
    expect(await find(1, `${off} -- compares with null */\n`)).toEqual([]);
  });
  it('fail above it', async () => {
    expect(await find(0, `${off} -- compares with null */\n`)).toEqual([expect.stringContaining('tools/some.ts:1')]);
  });
  it('fail below it, so that the number falls for good', async () => {
    expect(await find(2, `${off} -- compares with null */\n`)).toEqual([expect.stringContaining('to 1')]);
  });
  it('fail without a reason', async () => {
    expect(await find(1, `${off} */\n`)).toEqual([expect.stringContaining('without a reason')]);
  });
});

it('every gate can be named on the command line, without quotes and by its key', () => {
  const names = Object.values(gates).map(({ name }) => name);
  expect(names).toEqual(Object.keys(gates));
  expect(names.filter((name) => !/^[a-z-]+$/.test(name))).toEqual([]);
});

describe('dead-code', () => {
  const main = { 'tools/check.ts': "import { one } from './checks/used.ts';\nconsole.log(one);\n" };
  const used = { 'tools/checks/used.ts': 'export const one = 1;\n' };

  it('passes when everything is used', async () => {
    expect(await gates['dead-code'].find(await plant({ ...main, ...used }))).toEqual([]);
  });
  it.each([
    ['an unused file', { 'tools/checks/lost.ts': 'export const two = 2;\n' }, 'tools/checks/lost.ts'],
    ['an unused export', { 'tools/checks/used.ts': 'export const one = 1;\nexport const two = 2;\n' }, 'two'],
    ['an unlisted dependency', { 'tools/checks/used.ts': "import 'kysely';\nexport const one = 1;\n" }, 'kysely'],
  ])('fails on %s', async (_what, files, named) => {
    expect(await gates['dead-code'].find(await plant({ ...main, ...used, ...files }))).toEqual([
      expect.stringContaining(named),
    ]);
  });
});

describe('a check', () => {
  const gate = (name: string, find: Gate['find']): Gate => ({ name, find });
  const good = gate('good', () => Promise.resolve([]));
  const bad = gate('bad', () => Promise.resolve(['a.ts:1: wrong']));
  const broken = gate('broken', () => Promise.reject(new Error('no such tool')));

  it.each([
    ['passes when all gates do', [good], true, ['pass  good']],
    ['fails when one gate does', [good, bad], false, ['pass  good', 'FAIL  bad', 'a.ts:1: wrong']],
    ['fails when a gate cannot do its work', [broken], false, ['FAIL  broken', 'no such tool']],
  ])('%s', async (_what, some, passed, shown) => {
    const printed: string[] = [];
    expect(await pass(some, '.', (line) => printed.push(line))).toBe(passed);
    for (const text of shown) expect(printed.join('\n')).toContain(text);
  });
});
