import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { gates } from './gates.ts';
import { kindFindings } from './kinds.ts';
import { Source } from './source.ts';
import { plant } from './testing/plant.ts';

function find(text: string): string[] {
  const imports = "import { lock, read, toRead, toWrite, write } from '#core/data/db/query';\n";
  const source = new Source('a.queries.ts', imports + text);
  return source.declarations.flatMap((declaration) =>
    kindFindings(source, declaration).map(({ node, message }) => `${source.place(node)}: ${message}`),
  );
}

describe('the text fits the declaration', () => {
  it.each([
    ['a read', "const q = read((p) => builder.selectFrom('things').where('updated_at', '<', p.at));"],
    ['a read of written out SQL', 'const q = read(() => raw(sql`with a as (select 1) select * from a`));'],
    ['a lock', "const q = lock((p) => builder.selectFrom('things').forUpdate().skipLocked());"],
    ['written out SQL', 'const q = read((p) => sql`select 1 from a where b = ${p.b}`);'],
    [
      'written out SQL of parts',
      'const part = () => sql`exists (select 1)`;\nconst q = read(() => sql`select ${part()}`);',
    ],
    [
      'an advisory lock',
      'const q = lock(() => ({ compile: () => sql`select pg_advisory_xact_lock(1)`.compile(builder) }));',
    ],
    ['a write', "const q = write((p) => builder.deleteFrom('things'));"],
    ['a read of the trail', "const q = read((p) => builder.selectFrom('audit_logs'));"],
    ['the name of a property', "const changed = builder.updateTable('a');\nconst q = read((p) => p.changed);"],
    [
      'a function of another module',
      "function f(read) {\n  return builder.updateTable('a');\n}\nconst q = other.read(f);",
    ],
    ['other objects', "const q = { kind: 'read', text: 'update your browser' };"],
  ])('%s', (_what, text) => {
    expect(find(text)).toEqual([]);
  });
});

describe('violations', () => {
  it.each([
    ['an insert', "const q = read((p) => builder.insertInto('things'));", 'insertInto'],
    ['an update', "const q = toRead(builder.updateTable('things').set({ a: 1 }));", 'updateTable'],
    ['a delete', "const q = read((p) => builder.deleteFrom('things'));", 'deleteFrom'],
    ['a merge', "const q = read((p) => builder.mergeInto('things'));", 'mergeInto'],
    ['a row lock', "const q = read((p) => builder.selectFrom('things').forNoKeyUpdate());", 'forNoKeyUpdate'],
    ['a shared row lock', 'const q = read(() => raw(sql`select 1 from a for share`));', 'for share'],
    [
      'a nested write',
      'const q = read(() => raw(sql`with a as (delete from b returning 1) select 1 from a`));',
      'delete from',
    ],
    ['an upsert', 'const q = read(() => raw(sql`insert into a select 1`));', 'insert into'],
    ['a written out update', 'const q = read(() => raw(sql`update ${t} set a = 1`));', 'update'],
    ['an advisory lock', 'const q = read(() => raw(sql`select pg_advisory_xact_lock(1)`));', 'pg_advisory_xact_lock'],
    [
      'a notification',
      "const q = { kind: 'read', text: 'select pg_notify($1, $2)', values: [], prepare: true };",
      'pg_notify',
    ],
    [
      'a text in a constant',
      "const text = 'delete from a';\nconst q = { kind: 'read', text, values: [], prepare: true };",
      'delete from',
    ],
    [
      'another command',
      "const q = { kind: 'read', text: 'vacuum things', values: [], prepare: true };",
      'vacuum things',
    ],
    ['another command, built', 'const q = read(() => ({ compile: () => sql`call f()`.compile(b) }));', 'call f()'],
    ['another command, written out', 'const q = read(() => sql`call f()`);', 'call f()'],
    ['another command, returned', 'const q = lock(() => {\n  return sql`vacuum a`;\n});', 'vacuum a'],
    ['a written out write', 'const q = lock((p) => sql`delete from a where b = ${p.b}`);', 'delete from'],
    [
      'a helper for any table',
      'function one(t) {\n  return read((p) => strong[t](builder.selectFrom(t)));\n}\nconst strong = { a: (q) => q.forUpdate() };',
      'forUpdate',
    ],
    ['a helper', "const gone = () => builder.deleteFrom('a');\nconst q = read((p) => gone());", 'deleteFrom'],
    [
      'a variable',
      "function q() {\n  let a = builder.selectFrom('a');\n  a = a.forUpdate();\n  return toRead(a);\n}",
      'forUpdate',
    ],
    ['a write as a lock', "const q = lock((p) => builder.updateTable('a'));", 'updateTable'],
    ['an audit row as a mere write', "const q = write((p) => builder.insertInto('audit_logs'));", 'insertInto'],
    ['a written out audit row', 'const q = toWrite(raw(sql`insert into audit_logs select 1`));', 'insert into'],
  ])('%s', (_what, text, found) => {
    expect(find(text)).toEqual([
      expect.stringMatching(/^a\.queries\.ts:\d+: declared as (read|lock|write), but contains /),
    ]);
    expect(find(text)[0]).toContain(`"${found}"`);
  });
});

const types = `import * as query from '#core/data/db/query';
import type * as scopes from '#core/data/db/scopes';

declare const db: scopes.TenantDb;
declare const tx: scopes.Transaction;
declare const change: query.Audited<{ id: string }>;
declare const built: query.Built<{ id: string }>;
`;
const allowed = [
  'db.first(query.toRead(built));',
  'db.batch([query.toRead(built), query.toRead(built)]);',
  'db.interactive.batch([query.toWrite(built), query.lock(() => built)({}), query.toRead(built), query.toAuditedWrite(change)]);',
  'tx.all(query.lock(() => built)({}));',
  'query.auditedWrite(() => change)({});',
];
const refused = [
  'db.all(query.toWrite(built));',
  'db.first(query.toAuditedWrite(change));',
  'db.all(query.lock(() => built)({}));',
  'db.batch([query.toRead(built), query.toWrite(built)]);',
  "export const path: Pick<scopes.Statements, 'first'> = db;",
  "export const transaction: Pick<scopes.Transaction, 'all'> = db;",
  'query.write(() => change);',
  'query.read(() => change);',
  'query.auditedWrite(() => built);',
];

it('a write on the read path and an audit row that is not declared do not compile', async () => {
  const server = path.join(import.meta.dirname, '../../apps/server/src/core/data/db');
  const texts = ['query.ts', 'scopes.ts'].map(async (name): Promise<[string, string]> => [
    `apps/server/src/core/data/db/${name}`,
    await readFile(path.join(server, name), 'utf8'),
  ]);
  const kysely = ['DummyDriver', 'PostgresAdapter', 'PostgresIntrospector', 'PostgresQueryCompiler'];
  const root = await plant({
    ...Object.fromEntries(await Promise.all(texts)),
    'node_modules/kysely/index.d.ts': [
      ...kysely.map((name) => `export declare class ${name} { constructor(given?: unknown); }`),
      'type Dialect = Record<string, (given: unknown) => object>;',
      'export declare class Kysely<_> { constructor(given: { dialect: Dialect }); }',
      'export type RawBuilder<Row> = { compile(builder: Kysely<unknown>): CompiledQuery; execute(): Promise<{ rows: Row[] }> };',
      'export type CompiledQuery = { sql: string; parameters: readonly unknown[] };',
    ].join('\n'),
    'apps/server/src/core/allowed.ts': types + allowed.join('\n'),
    'apps/server/src/core/refused.ts': types + refused.join('\n'),
  });
  const [output = ''] = await gates.types.find(root);
  const places = [...output.matchAll(/^(\S+)\((\d+),/gm)].map(([, file, line]) => `${file}:${line}`);
  const first = types.split('\n').length;
  expect([...new Set(places)]).toEqual(refused.map((_, at) => `apps/server/src/core/refused.ts:${first + at}`));
});
