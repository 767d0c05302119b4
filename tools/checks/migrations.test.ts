import { describe, expect, it } from 'vitest';

import { findInMigrations } from './migrations.ts';

const tenant = (column: string) => `${column} = nullif(current_setting('app.tenant_id', true), '')::uuid`;

function secured(table: string, column = 'tenant_id'): string {
  return [
    `alter table ${table} enable row level security;`,
    `alter table ${table} force row level security;`,
    `create policy own on ${table} using (${tenant(column)}) with check (${tenant(column)});`,
  ].join('\n');
}

const things = `create table things (
  tenant_id uuid not null references tenants (id), -- a comment; with a semicolon
  id uuid not null,
  name text not null default 'a, (b',
  primary key (tenant_id, id),
  constraint things_name_key unique (tenant_id, name)
);`;

const clean = `create table tenants (id uuid primary key, name text not null);
${secured('tenants', 'id')}
create table people (id uuid primary key, email text not null unique);
alter table people enable row level security;
alter table people force row level security;
create policy credential on people to atrium_credential using (true) with check (true);
${things}
${secured('things')}
create table parts (
  tenant_id uuid not null,
  id uuid not null,
  thing_id uuid not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, thing_id) references things (tenant_id, id) on delete cascade
);
create index parts_search on parts using gin (tenant_id, lower(id || ' ') gin_trgm_ops);
${secured('parts')}
create table events (
  tenant_id uuid not null,
  created_at timestamptz(3) not null,
  id uuid not null,
  primary key (tenant_id, created_at, id)
) partition by range (created_at);
create table events_default partition of events default;
${secured('events')}
create view names with (security_invoker = true) as select name from things;
grant select on names to atrium_tenant;
create function enter(tenant uuid) returns void language plpgsql as $$
begin
  execute format('set local app.tenant_id = %L', tenant);
end $$;
grant select, insert on things to atrium_tenant, atrium_credential;
grant update (name) on things to atrium_tenant;
`;

const globals = { people: 'known before a tenant is' };
const find = (text: string, name = '0001-first.sql') => findInMigrations([{ name, text }], globals);

it('passes a migration in order', () => {
  expect(find(clean)).toEqual([]);
});

it('passes an exclusion constraint within a tenant', () => {
  const within = 'exclude using gist (tenant_id with =, name with =)';
  expect(find(`${clean}alter table things add constraint x ${within};\n`)).toEqual([]);
});

describe('a statement', () => {
  it.each([
    ['create trigger t after insert on things for each row execute function f();', 'no triggers'],
    ['create rule r as on insert to things do nothing;', 'no triggers'],
    ['merge into things using parts on true when matched then delete;', 'no MERGE'],
    ['MERGE INTO things USING parts ON true WHEN MATCHED THEN DELETE;', 'no MERGE'],
    ['create function f() returns void security definer language sql as $$ select 1 $$;', 'no SECURITY DEFINER'],
    ["create function f() returns text language sql as $$ select set_config('a.b', '', true) $$;", 'no set_config()'],
    ["set app.tenant_id = '1';", 'SET LOCAL'],
    ['alter table things disable row level security;', 'stays enabled'],
    ['alter table things no force row level security;', 'stays enabled'],
    ['create view v as select name from things;', 'security_invoker'],
    ['create or replace view v with (security_barrier) as select name from things;', 'security_invoker'],
    ['create materialized view v as select name from things;', 'no materialized view'],
    ['grant select on all tables in schema public to atrium_tenant;', 'one table each'],
    ['alter default privileges grant select on tables to atrium_tenant;', 'one table each'],
    ['grant all on things to atrium_tenant;', 'neither ALL nor TRUNCATE'],
    ['grant select, truncate on things to atrium_tenant;', 'neither ALL nor TRUNCATE'],
    ['grant select on things to public;', 'nothing for PUBLIC'],
    ['grant select on events_default to atrium_tenant;', 'nothing is granted on a partition'],
    ['grant select on things, parts to atrium_tenant;', 'names one table'],
    ['grant select on elsewhere.things to atrium_tenant;', 'names one table'],
    ['alter table parts add column owner_id uuid references things (id);', 'two statements'],
    [
      'alter table parts add column a uuid, add foreign key (tenant_id, a) references things (tenant_id, id);',
      'of its own',
    ],
    ['alter table things add constraint x exclude using gist (name with =);', 'leads with "tenant_id with ="'],
    ['alter table things add constraint x exclude (tenant_id with =, name with =);', 'leads with "tenant_id with ="'],
    ['select 1; select 2;', 'one statement per query'],
    ['create table copied as select 1 as one;', 'not understood'],
    ['create table elsewhere.things (id uuid);', 'not understood'],
    ['alter policy own on things using (true);', 'not understood'],
  ])('%s', (statement, problem) => {
    expect(find(`${clean}${statement}\n`)).toContainEqual(expect.stringContaining(problem));
  });
});

describe('a table', () => {
  const change = (from: string, to: string) => {
    expect(clean).toContain(from);
    return find(clean.replace(from, to));
  };

  it.each([
    ['tenant_id that may be null', 'tenant_id uuid not null references', 'tenant_id uuid references', 'uuid not null'],
    ['a key of the id alone', "(b',\n  primary key (tenant_id, id)", "(b',\n  primary key (id)", 'lead with tenant_id'],
    ['a key that ends with the tenant', 'primary key (tenant_id, id)', 'primary key (id, tenant_id)', 'lead with'],
    ['no key', 'primary key (tenant_id, id),', '', 'needs a primary key'],
    ['a key without the time', '(tenant_id, created_at, id)', '(tenant_id, id)', '(tenant_id, created_at, id)'],
    ['a unique name over all tenants', 'unique (tenant_id, name)', 'unique (name)', 'unique (name) has to lead'],
    ['a unique column', "default 'a, (b'", 'unique', 'unique (name) has to lead'],
    ['an index without the tenant', 'gin (tenant_id, lower', 'gin (lower', 'has to lead with tenant_id'],
    ['a foreign key of the id alone', '(tenant_id, thing_id) references', '(thing_id) references', 'on both sides'],
    [
      'a column that references',
      'thing_id uuid not null',
      'thing_id uuid not null references things (id)',
      'both sides',
    ],
    ['ON DELETE SET NULL', 'on delete cascade', 'on delete set null', 'no SET NULL'],
    ['ON DELETE SET DEFAULT', 'on delete cascade', 'on delete set default', 'no SET NULL or SET DEFAULT'],
    ['security not enabled', 'alter table parts enable row level security;', '', 'enable row level security'],
    ['security not forced', 'alter table parts force row level security;', '', 'force row level security'],
    [
      'no policy',
      `create policy own on parts using (${tenant('tenant_id')}) with check`,
      'create policy own on parts with check',
      'a policy for all commands',
    ],
    [
      'a policy with a subquery',
      `parts using (${tenant('tenant_id')})`,
      'parts using (tenant_id = (select 1))',
      'without a subquery',
    ],
    [
      'a policy without nullif',
      `parts using (${tenant('tenant_id')})`,
      "parts using (tenant_id = current_setting('app.tenant_id')::uuid)",
      'has to say',
    ],
    [
      'everything for the tenant role',
      'to atrium_credential using (true)',
      'to atrium_tenant using (true)',
      'has to say',
    ],
    ['everything for everybody', 'to atrium_credential using (true)', 'using (true)', 'has to say'],
    [
      'a global table that points into tenants',
      'email text not null',
      'email text references things (id)',
      'references no tenant table',
    ],
  ])('%s', (_what, from, to, problem) => {
    expect(change(from, to)).toContainEqual(expect.stringContaining(problem));
  });

  it('that belongs to no tenant needs a reason, and a reason needs its table', () => {
    expect(findInMigrations([{ name: '0001-first.sql', text: clean }], {})).toContainEqual(
      expect.stringContaining('people: needs "tenant_id'),
    );
    expect(findInMigrations([{ name: '0001-first.sql', text: clean }], { ...globals, gone: 'once' })).toEqual([
      expect.stringContaining('gone stands in the list'),
    ]);
  });
});

it('a later file is held to the same', () => {
  const index = { name: '0002-index.sql', text: '\ncreate index slow on things (name);\n' };
  expect(findInMigrations([{ name: '0001-first.sql', text: clean }, index], globals)).toEqual([
    '0002-index.sql:2: things: index (name) has to lead with tenant_id',
  ]);
});

it.each(['1-first.sql', '0002-second.sql', '0001-First.sql', '0001_first.sql'])('a file called %s', (name) => {
  expect(find(clean, name)).toEqual([expect.stringContaining('call it 0001-')]);
});

it('no file at all is a failure', () => {
  expect(findInMigrations([], globals)).toHaveLength(1);
});
