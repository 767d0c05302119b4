import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { openDatabase, type Database, type DatabaseOptions } from '#core/data/db/database';
import type { ReadStatement } from '#core/data/db/query';
import { isUnavailable } from '#core/data/db/sql-state';

// Reads by declaration only, because these tests need writes and locks on the primary pool too.
const sql = (text: string, values: unknown[] = [], prepare = true): ReadStatement<Record<string, any>> => ({
  kind: 'read',
  text,
  values,
  prepare,
});
const insertTenant = (id: string) =>
  sql('insert into tenants (id, name, domain) values ($1, $2, $2) returning id', [id, id]);
const countTenants = sql('select count(*) as n from tenants');

let owner: pg.Client;

beforeAll(async () => {
  owner = new pg.Client(inject('connection'));
  await owner.connect();
});
afterAll(() => owner.end());

const modes: [string, Partial<DatabaseOptions>][] = [
  ['implicit transactions', {}],
  ['explicit transactions, as on Citus', { explicitTransactions: true }],
  ['behind a transaction pooler', { pooled: true, preparedStatements: false }],
];

describe.each(modes)('%s', (_name, mode) => {
  let database: Database;

  beforeAll(() => {
    database = openDatabase({ connection: inject('connection'), ...mode });
  });
  afterAll(() => database.close());

  it('a flight sees its tenant only', async () => {
    const [a, b] = [newId(), newId()];
    await database.credential(a).all(insertTenant(a));
    await database.credential(b).all(insertTenant(b));
    expect(await database.tenant(a).all(sql('select id from tenants'))).toEqual([{ id: a }]);
    expect(await database.tenant(b).interactive.all(sql('select id from tenants'))).toEqual([{ id: b }]);
  });

  it('each access runs in its own role', async () => {
    const role = sql('select current_user as role');
    expect(await database.tenant(newId()).first(role)).toEqual({ role: 'atrium_tenant' });
    expect(await database.platform().first(role)).toEqual({ role: 'atrium_platform' });
    expect(await database.credential().first(role)).toEqual({ role: 'atrium_credential' });
    expect(await database.credential().transaction((tx) => tx.first(role))).toEqual({ role: 'atrium_credential' });
  });

  it('a flight takes effect as a whole or not at all', async () => {
    const id = newId();
    await expect(database.credential(id).batch([insertTenant(id), sql('select 1 / 0')])).rejects.toThrow(
      'division by zero',
    );
    expect(await database.tenant(id).first(countTenants)).toEqual({ n: 0 });
  });

  it('a failing flight does not disturb its neighbours on the same connection', async () => {
    const id = newId();
    const db = database.tenant(id);
    const results = await Promise.allSettled(
      Array.from({ length: 200 }, (_, at) =>
        db.first(at % 3 === 0 ? sql('select 1 / ($1::int - $1::int)', [at]) : sql('select $1::int as at', [at])),
      ),
    );
    for (const [at, result] of results.entries()) {
      if (at % 3 === 0) expect(result.status).toBe('rejected');
      else expect(result).toEqual({ status: 'fulfilled', value: { at } });
    }
  });

  it('a statement that failed the first time can still be prepared', async () => {
    const db = database.tenant(newId());
    const cast = (text: string) => sql(`select $1::int as "${_name}"`, [text]);
    await expect(db.first(cast('x'))).rejects.toThrow('invalid input syntax');
    expect(await db.first(cast('1'))).toEqual({ [_name]: 1 });
    expect(await db.first(cast('2'))).toEqual({ [_name]: 2 });
  });

  it('an interactive transaction commits or rolls back', async () => {
    const id = newId();
    await database.credential(id).transaction((tx) => tx.all(insertTenant(id)));
    expect(await database.tenant(id).first(countTenants)).toEqual({ n: 1 });
    const rename = (name: string) => sql('update tenants set name = $1, updated_at = now() where id = $2', [name, id]);
    await expect(
      database.tenant(id).transaction(async (tx) => {
        await tx.all(rename('changed'));
        throw new Error('on second thought');
      }),
    ).rejects.toThrow('on second thought');
    expect(await database.tenant(id).first(sql('select name from tenants'))).toEqual({ name: id });
  });

  it('the tenant does not outlive its transaction', async () => {
    const id = newId();
    await database.credential(id).all(insertTenant(id));
    await Promise.all(Array.from({ length: 20 }, () => database.tenant(id).first(countTenants)));
    // No tenant: the policy hides all rows, also after another tenant used the connection.
    expect(await database.credential().all(sql('select * from users'))).toEqual([]);
    await expect(database.credential().all(insertTenant(newId()))).rejects.toThrow('row-level security');
  });

  it('the same work is done again when PostgreSQL asks for it', async () => {
    const id = newId();
    let attempts = 0;
    await database.credential(id).transaction(async (tx) => {
      attempts += 1;
      await tx.all(insertTenant(id));
      if (attempts < 3) await tx.all(sql(`do $$ begin raise exception 'again' using errcode = '40001'; end $$`));
    });
    expect(attempts).toBe(3);
    expect(await database.tenant(id).first(countTenants)).toEqual({ n: 1 });
  });

  it('a killed connection costs its own requests only', async () => {
    const db = database.tenant(newId());
    const { pid } = (await db.first(sql('select pg_backend_pid() as pid')))!;
    await owner.query('select pg_terminate_backend($1, 5000)', [pid]);
    const answers = await Promise.allSettled(Array.from({ length: 10 }, () => db.first(sql('select 1 as one'))));
    for (const answer of answers) if (answer.status === 'rejected') expect(isUnavailable(answer.reason)).toBe(true);
    expect(await db.first(sql('select 1 as one'))).toEqual({ one: 1 });
  });
});

describe('limits', () => {
  it('refuses more waiting work than it can do in time', async () => {
    const database = openDatabase({ connection: inject('connection') });
    const db = database.tenant(newId());
    const sleep = sql('select pg_sleep(0.05)');
    const results = await Promise.allSettled(Array.from({ length: 300 }, () => db.interactive.all(sleep)));
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused) expect(isUnavailable(reason)).toBe(true);
    await database.close();
  });

  it('says that the database cannot be reached', async () => {
    const database = openDatabase({ connection: { host: '127.0.0.1', port: 1, user: 'unknown', database: 'none' } });
    const failure = await database
      .platform()
      .all(countTenants)
      .catch((error: unknown) => error);
    expect(isUnavailable(failure)).toBe(true);
    await database.close();
  });

  it('refuses work after it was closed', async () => {
    const database = openDatabase({ connection: inject('connection') });
    await database.close();
    const failure = await database
      .platform()
      .all(countTenants)
      .catch((error: unknown) => error);
    expect(isUnavailable(failure)).toBe(true);
  });
});
