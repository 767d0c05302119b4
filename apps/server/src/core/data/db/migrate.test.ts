import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { migrationsDirectory } from '#app/service';
import { newId } from '#core/base/crypto/ids';
import { migrate, splitStatements } from '#core/data/db/migrate';

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
create table application_logs (logged_at timestamptz not null) partition by range (logged_at);
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

  it('refuses the schema of an unreleased version in one sentence that names the remedy, and changes nothing', async () => {
    const connection = await emptyDatabase();
    const earlier = { '0001-foundation.sql': base, '0002-credentials.sql': 'create table kept as select 1 as one;\n' };
    await migrate(connection, await migrations(earlier));
    const client = new pg.Client(connection);
    await client.connect();
    const state = async () => ({
      tables: (await client.query(`select oid, xmin, relname from pg_class order by oid`)).rows,
      kept: (await client.query('select xmin, one from kept')).rows,
      applied: (await client.query('select xmin, * from schema_migrations order by name')).rows,
    });
    const before = await state();
    await expect(migrate(connection, migrationsDirectory)).rejects.toThrow(
      /^The database has the schema of an unreleased version.* empty data folder \(DATA_DIR\) or an empty database \(DATABASE_URL\)\.$/,
    );
    expect(await state()).toEqual(before);
    await client.end();
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
