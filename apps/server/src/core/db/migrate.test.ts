import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { migrationsDirectory } from '#app/service';
import { newId } from '#core/crypto/ids';
import { migrate, splitStatements } from '#core/db/migrate';

let owner: pg.Client;
const databases: string[] = [];
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-migrations-'));
  owner = new pg.Client(inject('connection'));
  await owner.connect();
});
afterAll(async () => {
  for (const name of databases) await owner.query(`drop database ${name} with (force)`);
  await owner.end();
  await rm(folder, { recursive: true });
});

async function emptyDatabase(): Promise<pg.ClientConfig> {
  const name = `empty_${newId().replaceAll('-', '')}`;
  await owner.query(`create database ${name}`);
  databases.push(name);
  return { ...inject('connection'), database: name };
}

async function migrations(files: Record<string, string>): Promise<string> {
  const directory = path.join(folder, newId());
  await mkdir(directory);
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(directory, name), text);
  return directory;
}

const base = `create table audit_logs (created_at timestamptz not null) partition by range (created_at);
create table log_blocks (first_at timestamptz not null) partition by range (first_at);
create table provider_calls (called_at timestamptz not null) partition by range (called_at);
`;

describe('migrate', () => {
  it('two processes starting at once apply each migration once', async () => {
    const connection = await emptyDatabase();
    const runs = await Promise.all([1, 2, 3].map(() => migrate(connection, migrationsDirectory)));
    const files = (await readdir(migrationsDirectory)).toSorted();
    expect(runs.flatMap((run) => run.applied).toSorted()).toEqual(files);
    expect((await migrate(connection, migrationsDirectory)).applied).toEqual([]);
  });

  it('a failing migration leaves nothing behind and says which it was', async () => {
    const connection = await emptyDatabase();
    const directory = await migrations({
      '0001-base.sql': base,
      '0002-bad.sql': 'create table half (id int);\nselect 1 / 0;\n',
    });
    await expect(migrate(connection, directory)).rejects.toThrow('Migration 0002-bad.sql failed: division by zero');
    const client = new pg.Client(connection);
    await client.connect();
    expect((await client.query(`select to_regclass('half') as half`)).rows).toEqual([{ half: null }]);
    await client.end();
  });

  it('refuses a migration that was changed after it had been applied', async () => {
    const connection = await emptyDatabase();
    await migrate(connection, await migrations({ '0001-base.sql': base }));
    await expect(migrate(connection, await migrations({ '0001-base.sql': `${base}select 1;\n` }))).rejects.toThrow(
      'Migration 0001-base.sql was changed',
    );
  });

  it('refuses a database that a newer version has migrated', async () => {
    const connection = await emptyDatabase();
    await migrate(connection, await migrations({ '0001-base.sql': base, '0002-new.sql': 'select 1;\n' }));
    await expect(migrate(connection, await migrations({ '0001-base.sql': base }))).rejects.toThrow('0002-new.sql');
  });
});

describe('the migration of log lines to blocks', () => {
  it('keeps every line, in blocks of a minute and a level, and drops none with its day', async () => {
    const connection = await emptyDatabase();
    const files = (await readdir(migrationsDirectory)).toSorted().filter((name) => name < '0017');
    const texts = await Promise.all(files.map((name) => readFile(path.join(migrationsDirectory, name), 'utf8')));
    const client = new pg.Client(connection);
    await client.connect();
    try {
      const before = await migrations(Object.fromEntries(files.map((name, at) => [name, texts[at]!])));
      // What comes behind the migrations is of this version.
      await expect(migrate(connection, before)).rejects.toThrow('log_blocks');
      await client.query(`set timezone = 'Asia/Kathmandu'`);
      // Over midnight; then many in a minute, long ones, and one of a day without a partition.
      await client.query(
        `insert into application_logs (logged_at, id, level, service, message, concerned_tenant_id, user_id, request_id, context)
         select at, gen_random_uuid(), 30 + 10 * (n % 2), 'part ' || n % 3, 'line ' || n,
                case when n % 4 = 0 then gen_random_uuid() end, gen_random_uuid(), 'request ' || n, '{"n":' || n || '}'
           from (select n, '2026-01-01T23:00:00.001Z'::timestamptz + n * interval '900 milliseconds' as at from generate_series(1, 9000) n
                 union all select n, '2026-01-03T00:00:00Z'::timestamptz + n * interval '10 milliseconds' from generate_series(9001, 14000) n
                 union all select 14001, '2020-02-29T23:59:59.999Z'::timestamptz) as l
         union all select '2026-01-04T00:00:00Z'::timestamptz + n * interval '1 second', gen_random_uuid(), 30, 'long', '', null, null, null,
                          '"' || repeat('x', 300000) || '"' from generate_series(1, 10) n`,
      );
      const lines = `select logged_at, id, level, service, message, concerned_tenant_id, user_id, request_id, md5(context)
                       from application_logs order by logged_at, id`;
      const expected = (await client.query(lines)).rows;
      await migrate(connection, migrationsDirectory);
      expect((await client.query(lines)).rows).toEqual(expected);
      const wrong = `
        select b.id from log_blocks b
         where lines <> cardinality(times) or lines > 1000
            or first_at <> (select min(x) from unnest(times) x) or last_at <> (select max(x) from unnest(times) x)
            or first_request is distinct from (select min(x collate "C") from unnest(request_ids) x)
            or last_request is distinct from (select max(x collate "C") from unnest(request_ids) x)
            or array(select distinct x from unnest(services) x order by x) <> array(select x from unnest(parts) x order by x)
            or array(select distinct x from unnest(tenant_ids || user_ids) x where x is not null order by x)
               <> array(select x from unnest(concerned) x order by x)
            or (select sum(length(x)) from unnest(contexts) x) > 1400000`;
      expect((await client.query(wrong)).rows).toEqual([]);
      const days = await client.query<{ day: string }>(
        'select distinct tableoid::regclass::text as day from log_blocks',
      );
      expect(days.rows.map(({ day }) => day).toSorted()).toEqual(
        ['2020_02_29', '2026_01_01', '2026_01_02', '2026_01_03', '2026_01_04'].map((day) => `log_blocks_${day}`),
      );
    } finally {
      await client.end();
    }
  });
});

describe('splitStatements', () => {
  it('cuts at line ends, not within function bodies', () => {
    const body = 'create function f() returns int language plpgsql as $$\nbegin\n  return 1;\nend $$;';
    expect(splitStatements(`-- a comment\n\nselect 1;\n${body}\nselect\n  2;\n`)).toEqual([
      'select 1;',
      body,
      'select\n  2;',
    ]);
  });

  it('refuses a text that ends in the middle', () => {
    expect(() => splitStatements('select 1')).toThrow('ends in the middle');
  });
});
