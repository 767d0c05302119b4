import { describe, expect, it } from 'vitest';

import { findInMigrations } from './migrations.ts';

const clean = `-- No MERGE INTO and no set_config() here.
create table things (
  tenant_id uuid not null,
  thing_id uuid,
  foreign key (tenant_id, thing_id) references things (tenant_id, id)
);
create function enter(tenant uuid) returns void language plpgsql as $$
begin
  execute format('set local app.tenant_id = %L', tenant);
end $$;
alter table things add column part_id uuid;
alter table things add constraint things_part foreign key (tenant_id, part_id) references things (tenant_id, id);
alter table things rename to objects;
-- Replaced by a wider index.
drop index things_name;
`;

const find = (text: string, name = '0001-first.sql') => findInMigrations([{ name, text }]);

it('passes a migration in order', () => {
  expect(find(clean)).toEqual([]);
});

describe('a statement', () => {
  it.each([
    ['merge into things using parts on true when matched then delete;', 'no MERGE'],
    ['MERGE INTO things USING parts ON true WHEN MATCHED THEN DELETE;', 'no MERGE'],
    ["create function f() returns text language sql as $$ select set_config('a.b', '', true) $$;", 'no set_config()'],
    ["set app.tenant_id = '1';", 'SET LOCAL'],
    ["set session app.tenant_id = '1';", 'SET LOCAL'],
    ['grant select on all tables in schema public to atrium_tenant;', 'one table each'],
    ['alter default privileges grant select on tables to atrium_tenant;', 'one table each'],
    ['alter table things add column owner_id uuid references things (id);', 'two statements'],
    [
      'alter table things add column a uuid, add foreign key (tenant_id, a) references things (tenant_id, id);',
      'two statements',
    ],
    ['drop table things;', 'a comment directly before'],
    ['alter table things\n  drop column thing_id;', 'a comment directly before'],
    ['alter table things drop constraint things_part;', 'a comment directly before'],
  ])('%s', (statement, problem) => {
    expect(find(`${clean}${statement}\n`)).toEqual([
      expect.stringMatching(new RegExp(`^0001-first.sql:16: .*${problem.replaceAll(/[()]/g, '\\$&')}`)),
    ]);
  });
});

it.each(['1-first.sql', '0002-second.sql', '0001-First.sql', '0001_first.sql'])('a file called %s', (name) => {
  expect(find(clean, name)).toEqual([expect.stringContaining('call it 0001-')]);
});

it('a later file is held to the same', () => {
  const later = { name: '0002-later.sql', text: '\ndrop table things;\n' };
  expect(findInMigrations([{ name: '0001-first.sql', text: clean }, later])).toEqual([
    expect.stringMatching(/^0002-later\.sql:2: /),
  ]);
});

it('no file at all is a failure', () => {
  expect(findInMigrations([])).toHaveLength(1);
});
