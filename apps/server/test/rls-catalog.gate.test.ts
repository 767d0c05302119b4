import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { migrationsDirectory } from '#app/service';
import { migrate } from '#core/data/db/migrate';
import { checks, tenantTablesIn } from '#test/rls-catalog';
import { createDatabase } from '#test/support/database';

// A database of its own, because the statements lock tables that other suites use.
let database: Awaited<ReturnType<typeof createDatabase>>;
let client: pg.Client;
beforeAll(async () => {
  database = await createDatabase();
  await migrate(database.connection, migrationsDirectory);
  client = new pg.Client(database.connection);
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** What the checks find once the statements have run; all is undone afterwards. */
async function findPlanted(statements: string): Promise<string[]> {
  await client.query('begin');
  try {
    await client.query(statements);
    const found: string[] = [];
    for (const [, check] of checks) found.push(...(await check(client)));
    return found;
  } finally {
    await client.query('rollback');
  }
}

const columns = 'tenant_id uuid not null, id uuid not null';
const key = 'primary key (tenant_id, id)';
/** A table in order, with what else stands in its definition. */
const planted = (more = '') =>
  `create table planted (${columns}, ${key}${more}); select app_protect_tenant_tables('planted')`;
const target = `create table target (${columns}, ${key}, unique (tenant_id, id)); select app_protect_tenant_tables('target')`;
const own = `nullif(current_setting('app.tenant_id', true), '')::uuid`;

it('passes a table in order, with keys, references and a search index', async () => {
  const more = `, name text, unique (tenant_id, name), exclude using gist (tenant_id with =, name with =),
    foreign key (tenant_id, id) references target (tenant_id, id) on delete cascade`;
  const index = 'create index on planted using gin (tenant_id, name gin_trgm_ops)';
  expect(await findPlanted(`${target}; ${planted(more)}; ${index}`)).toEqual([]);
});

describe('notices a table', () => {
  it.each([
    ['without a tenant', 'create table planted (id uuid primary key)', 'has no tenant_id and no reason'],
    ['that is listed and gone', 'drop table rate_limits', 'rate_limits: is listed as a global table, but is not one'],
    ['whose tenant may be null', `create table planted (tenant_id uuid, id uuid)`, 'tenant_id is not "uuid not null"'],
    ['whose tenant is a text', 'create table planted (tenant_id text not null)', 'tenant_id is not "uuid not null"'],
    ['of a query', 'create table planted as select * from contacts', 'planted: row level security is not enabled'],
    [
      'of another schema',
      `create schema elsewhere; create table elsewhere.planted (${columns}, ${key})`,
      'elsewhere.planted: is outside of the schema',
    ],
    ['without row level security', `create table planted (${columns}, ${key})`, 'row level security is not enabled'],
    ['that lost it', 'alter table contacts disable row level security', 'row level security is not enabled'],
    [
      'whose owner is exempt',
      `${planted()}; alter table planted no force row level security`,
      'planted: row level security is not forced',
    ],
    ['without a policy', `${planted()}; drop policy own_tenant on planted`, 'planted: has no policy'],
    ['owned by a role of the service', `${planted()}; alter table planted owner to atrium_tenant`, 'owns planted'],
  ])('%s', async (_what, statements, sentence) => {
    expect(await findPlanted(statements)).toContainEqual(expect.stringContaining(sentence));
  });
});

describe('notices a policy', () => {
  const incomplete = 'planted: no policy for all roles and commands holds rows to the tenant';
  const instead = (policy: string) =>
    `${planted()}; drop policy own_tenant on planted; create policy other on planted ${policy}`;

  it.each([
    ['for one command only', instead(`for select using (tenant_id = ${own})`), incomplete],
    ['for one role only', instead(`to atrium_tenant using (tenant_id = ${own})`), incomplete],
    ['that checks new rows only', instead(`with check (tenant_id = ${own})`), incomplete],
    ['that checks new rows in another way', instead(`using (tenant_id = ${own}) with check (true)`), incomplete],
    ['without a condition', instead('for select'), 'planted.other to PUBLIC: has no condition'],
    [
      'with a subquery',
      instead('using (tenant_id = (select tenant_id from users))'),
      'planted.other to PUBLIC: (tenant_id',
    ],
    [
      'that fails on an empty setting',
      instead(`using (tenant_id = current_setting('app.tenant_id')::uuid)`),
      "planted.other to PUBLIC: (tenant_id = (current_setting('app.tenant_id'::text))::uuid)",
    ],
    [
      'for all rows',
      `${planted()}; create policy wide on planted to atrium_tenant using (true)`,
      'planted.wide to atrium_tenant: true',
    ],
    ['that was widened', 'alter policy own_tenant on contacts using (true)', 'contacts.own_tenant to PUBLIC: true'],
    [
      'for the tenant role on a global table',
      'create policy wide on rate_limits to atrium_tenant using (true)',
      'rate_limits.wide to atrium_tenant: true',
    ],
    [
      'for PUBLIC on a global table',
      'create policy wide on rate_limits using (true)',
      'rate_limits.wide to PUBLIC: true',
    ],
  ])('%s', async (_what, statements, sentence) => {
    expect(await findPlanted(statements)).toContainEqual(expect.stringContaining(sentence));
  });
});

describe('notices a grant', () => {
  it.each([
    [
      'on a partition',
      'grant select on audit_logs_default to atrium_tenant',
      'a partition is granted to atrium_tenant',
    ],
    [
      'on a column of a partition',
      'grant select (id) on audit_logs_default to atrium_tenant',
      'a partition is granted to atrium_tenant',
    ],
    ['to change the trail', 'grant update on audit_logs to atrium_tenant', 'audit_logs: atrium_tenant may update'],
    ['to PUBLIC', 'grant select on users to public', 'users: granted to PUBLIC'],
    ['of a column to PUBLIC', 'grant select (id) on users to public', 'users: granted to PUBLIC'],
    ['of all privileges', 'grant all on contacts to atrium_tenant', 'contacts: atrium_tenant may truncate'],
    ['to truncate', 'grant truncate on contacts to atrium_tenant', 'contacts: atrium_tenant may truncate'],
    [
      'on all tables',
      'grant select on all tables in schema public to atrium_tenant',
      'accounts: granted to atrium_tenant, which no policy admits',
    ],
    ['on tables to come', 'alter default privileges grant select on tables to atrium_tenant', 'default privileges of '],
    ['to create tables', 'grant create on schema public to atrium_tenant', 'atrium_tenant: may create in the schema'],
  ])('%s', async (_what, statements, sentence) => {
    expect(await findPlanted(statements)).toContainEqual(expect.stringContaining(sentence));
  });
});

describe('notices a key', () => {
  const reference = (rest: string) => `${target}; ${planted(`, target_id uuid, constraint target_key ${rest}`)}`;
  const toTarget = 'foreign key (tenant_id, target_id) references target (tenant_id, id)';

  it.each([
    [
      'over all tenants',
      'create table planted (tenant_id uuid not null, id uuid primary key)',
      'unique over all tenants',
    ],
    [
      'that ends with the tenant',
      `create table planted (${columns}, primary key (id, tenant_id))`,
      'unique over all tenants',
    ],
    ['that is missing', `create table planted (${columns})`, 'planted: has no primary key'],
    ['of a name over all tenants', planted(', name text unique'), 'index planted_name_key is unique over all tenants'],
    [
      'that continues with the id before the partition',
      `create table planted (${columns}, at date, primary key (tenant_id, id, at)) partition by range (at)`,
      'planted: the primary key does not continue with the column of the partitions',
    ],
    [
      'of an index over all tenants',
      `${planted()}; create index planted_id on planted (id, tenant_id)`,
      'planted: index planted_id does not lead with the tenant',
    ],
    [
      'of a search index without the tenant',
      'create index planted_search on contacts using gin (search_text gin_trgm_ops)',
      'contacts: index planted_search does not lead with the tenant',
    ],
    [
      'that excludes over all tenants',
      planted(', name text, constraint x exclude using gist (name with =)'),
      'planted: index x does not lead with the tenant',
    ],
    [
      'that excludes other tenants',
      planted(', name text, constraint x exclude using gist (tenant_id with <>, name with =)'),
      'planted: constraint x compares rows of different tenants',
    ],
    [
      'that refers by the id alone',
      `create table target (id uuid primary key); ${planted(', target_id uuid references target (id)')}`,
      'planted: foreign key planted_target_id_fkey does not carry the tenant',
    ],
    [
      'of a global table that refers to a tenant',
      'alter table rate_limits add column tenant uuid references tenants (id)',
      'rate_limits: foreign key rate_limits_tenant_fkey does not carry the tenant',
    ],
    ['that sets null', reference(`${toTarget} on delete set null (target_id)`), 'target_key sets null or a default'],
    ['that sets a default', reference(`${toTarget} on update set default`), 'target_key sets null or a default'],
  ])('%s', async (_what, statements, sentence) => {
    expect(await findPlanted(statements)).toContainEqual(expect.stringContaining(sentence));
  });
});

describe('notices code that runs by itself or is not bound by the policies of the caller', () => {
  it.each([
    [
      'a trigger',
      `create trigger planted before update on contacts for each row execute function suppress_redundant_updates_trigger()`,
      'contacts: trigger planted',
    ],
    ['a rule', 'create rule planted as on insert to contacts do nothing', 'contacts: rule planted'],
    ['a view', 'create view planted as select * from contacts', 'planted: a view with the privileges of its owner'],
    [
      'a view with another setting',
      'create view planted with (security_barrier) as select * from contacts',
      'planted: a view with the privileges of its owner',
    ],
    [
      'a stored view',
      'create materialized view planted as select 1',
      'planted: a view with the privileges of its owner',
    ],
    [
      'a function',
      `create function planted() returns int language sql security definer as 'select 1'`,
      'planted: runs with the privileges of its owner',
    ],
  ])('%s', async (_what, statements, sentence) => {
    expect(await findPlanted(statements)).toContainEqual(expect.stringContaining(sentence));
  });
});

it('reads the tenant tables from migrations, after renames and drops', () => {
  const table = (name: string, first = 'tenant_id uuid not null') =>
    `create table ${name} (\n  ${first},\n  id uuid\n);\n`;
  const later = 'alter table old rename to renamed;\nalter table other rename to another;\ndrop table gone;\n';
  const migrations = [table('kept'), table('old'), table('gone'), table('other', 'id uuid'), later].join('');
  expect(tenantTablesIn(migrations)).toEqual(['kept', 'renamed', 'tenants']);
});
