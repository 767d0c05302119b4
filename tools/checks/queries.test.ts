import { describe, expect, it } from 'vitest';

import { findInQueries, type Exceptions } from './queries.ts';
import { Source } from './source.ts';

const tables = ['tenants', 'users', 'groups'];
const none: Exceptions = { acrossTenants: {}, rawSql: {}, interpolated: {}, clock: {} };

function find(text: string, lists: Exceptions = none): string[] {
  return findIn('modules/a/a.queries.ts', text, lists);
}

function findIn(file: string, text: string, lists: Exceptions = none): string[] {
  return findInQueries([new Source(`apps/server/src/${file}`, text)], tables, lists);
}

const q = (body: string) => `// é: swc counts bytes\nexport const q = statement((p) =>\n  ${body},\n);\n`;

describe('in order', () => {
  it.each([
    ['a filter', "builder.selectFrom('users').where('tenant_id', '=', p.tenantId)"],
    ['an alias', "builder.selectFrom('users as u').where('u.tenant_id', '=', p.tenantId)"],
    ['a tenant by its id', "builder.selectFrom('tenants').where('id', '=', p.tenantId)"],
    ['a global table', "builder.selectFrom('accounts').where('email', '=', p.email)"],
    ['a subquery as a table', "builder.selectFrom(some.as('some')).selectAll()"],
    ['a common table', "builder.selectFrom('changed' as never).selectAll()"],
    ['an insert', "builder.insertInto('users').values({ tenant_id: p.tenantId, id: p.id })"],
    ['an update', "builder.updateTable('users').set({ name: p.name }).where('tenant_id', '=', p.tenantId)"],
    [
      'a join that equates the tenant',
      "builder.selectFrom('users').innerJoin('tenants', 'tenants.id', 'users.tenant_id').where('users.tenant_id', '=', p.tenantId)",
    ],
    [
      'a join by a callback',
      "builder.selectFrom('users').leftJoin('groups', (join) => join.onRef('groups.tenant_id', '=', 'users.tenant_id')).where('users.tenant_id', '=', p.tenantId)",
    ],
    [
      'SQL written out',
      'sql`select 1 from users u join groups g on g.tenant_id = u.tenant_id where u.tenant_id = ${p.t}`',
    ],
    ['prose', "say('Select one of the users', 'update your browser', `set ${p.what} apart`)"],
  ])('%s', (_what, body) => {
    expect(find(q(body))).toEqual([]);
  });

  it('tables of tenants, and what helpers do with them', () => {
    const rows =
      "import { rowById, tenantTable } from '#core/data/db/rows';\nexport const q = rowById(tenantTable('users'));\n";
    expect(find(rows)).toEqual([]);
    const statements = [
      "builder.selectFrom(name).where('tenant_id', '=', p.tenantId)",
      "builder.selectFrom(table.name).where(`${table.name}.tenant_id`, '=', p.tenantId)",
      "builder.deleteFrom(name).where('tenant_id', '=', p.tenantId)",
      'builder.insertInto(name).values({ tenant_id: p.tenantId })',
    ];
    for (const statement of statements) expect(findIn('core/data/db/rows.ts', q(statement))).toEqual([]);
  });

  it('an insert whose columns stand in a constant', () => {
    const text = "const columns = ['tenant_id', 'id'] as const;\n";
    expect(find(text + q("builder.insertInto('users').columns(columns)"))).toEqual([]);
  });
});

describe('violations', () => {
  const tenant = 'without its tenant';
  it.each([
    ['no filter', "builder.selectFrom('users').where('id', '=', p.id)", tenant],
    ['an update', "builder.updateTable('users').set({ name: p.name }).where('id', '=', p.id)", tenant],
    ['a delete', "builder.deleteFrom('users').where('id', '=', p.id)", tenant],
    ['an insert', "builder.insertInto('users').values({ id: p.id })", tenant],
    ['a tenant by its name', "builder.selectFrom('tenants').where('name', '=', p.name)", tenant],
    ['a filter by another column', "builder.selectFrom('users').whereRef('tenant_id', '=', 'home_id')", tenant],
    ['a fixed tenant', "builder.selectFrom('users').where('tenant_id', '=', 'one')", tenant],
    [
      'a subquery that leans on the outer filter',
      "builder.selectFrom('users').where('tenant_id', '=', p.t).where('id', 'in', (db) => db.selectFrom('groups').select('id'))",
      'groups',
    ],
    [
      'an outer query that leans on its subquery',
      "builder.selectFrom('users').where('id', 'in', (db) => db.selectFrom('groups').where('tenant_id', '=', p.t))",
      'users',
    ],
    [
      'a join by the id alone',
      "builder.selectFrom('users').innerJoin('groups', 'groups.id', 'users.group_id').where('users.tenant_id', '=', p.t)",
      'groups',
    ],
    [
      'a join to a global table',
      "builder.selectFrom('memberships').innerJoin('tenants', 'tenants.id', 'memberships.tenant_id')",
      'tenants',
    ],
    ['a computed table', 'builder.selectFrom(p.table).selectAll()', 'literally'],
    [
      'another tenant',
      "builder.updateTable('users').set({ tenant_id: p.to }).where('tenant_id', '=', p.t)",
      'never changes',
    ],
    ['MERGE', "builder.mergeInto('users').using('groups', 'a', 'b')", 'no MERGE'],
    ['SQL without the tenant', 'sql`select 1 from users where id = ${p.id}`', tenant],
    [
      'SQL that joins by the id',
      'sql`select 1 from users u join groups g on g.id = u.g where u.tenant_id = ${p.t}`',
      'groups',
    ],
    [
      'SQL that equates tenants and gives none',
      'sql`select 1 from users u join groups g on g.tenant_id = u.tenant_id where g.id = ${p.id}`',
      'users',
    ],
    [
      'SQL in a fragment',
      "builder.selectFrom('a').select(sql`array(select g.name from groups g)`.as('groups'))",
      'groups',
    ],
    ['SQL in a string', "run('update users set name = $1 where id = $2')", tenant],
    ['set_config', "sql`select set_config('app.tenant_id', ${p.t}, true)`", 'no set_config()'],
    ['a session SET', "run('set app.tenant_id = 1')", 'SET LOCAL'],
    ['now() on conflict', 'c.doUpdateSet({ at: sql`now()` })', 'come in as parameters'],
    ['sql.raw', 'sql.raw(p.text)', 'sql.raw needs its reason'],
    ['sql.lit', 'sql`${sql.lit(p.text)}`', 'sql.lit needs its reason'],
    ['a value in the text', 'run(`select 1 from accounts where id = ${p.id}`)', 'not into the text'],
    ['a value behind the text', "run('select 1 from accounts where id = ' + p.id)", 'not into the text'],
    ['MERGE in a string', "run('merge into accounts using a on true')", 'no MERGE'],
  ])('%s', (_what, body, problem) => {
    const found = find(q(body));
    expect(found[0]).toContain(problem);
    expect(found[0]).toContain('a.queries.ts:3: ');
  });
});

describe('violations of helpers', () => {
  const helper = 'core/data/db/rows.ts';
  it.each([
    ['a computed table in a module', 'modules/a/a.queries.ts', "builder.selectFrom(t).where('tenant_id', '=', p.t)"],
    ['a read', helper, "builder.selectFrom(name).where('id', '=', p.id)"],
    ['a read by another column', helper, "builder.selectFrom(name).where(`${name}.home_id`, '=', p.tenantId)"],
    ['an update', 'core/data/audit/audited-rows.queries.ts', "builder.updateTable(name).where('id', '=', p.id)"],
    ['a delete', 'core/data/db/trees.ts', "builder.deleteFrom(table.name).where('id', '=', p.id)"],
    ['an insert', helper, 'builder.insertInto(name).values({ id: p.id })'],
  ])('%s', (_what, file, body) => {
    expect(findIn(file, q(body))).toEqual([expect.stringMatching(/literally|without its tenant/)]);
  });

  it.each(["tenantTable('accounts')", "tenantTable('tenants')", 'tenantTable(name)', 'tenantTable(`${name}_tags`)'])(
    '%s',
    (table) => {
      const text = `import { rowById, tenantTable } from '#core/data/db/rows';\nconst q = rowById(${table});\n`;
      expect(find(text)).toEqual([expect.stringContaining('a.queries.ts:2: tenantTable has to name a table')]);
    },
  );
});

it('an exception holds for one rule in one declaration, and only while it is needed', () => {
  const text = q("builder.selectFrom('users').select('id')");
  const listed = { ...none, acrossTenants: { 'modules/a/a.queries.ts#q': 'counts the installation' } };
  expect(find(text, listed)).toEqual([]);
  expect(find(text.replace('const q', 'const other'), listed)).toEqual([
    expect.stringContaining('without its tenant'),
    expect.stringContaining('needs no exception'),
  ]);
});
