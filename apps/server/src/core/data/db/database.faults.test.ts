import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { migrationsDirectory } from '#app/service';
import { newId } from '#core/base/crypto/ids';
import { openDatabase, type Database, type DatabaseOptions } from '#core/data/db/database';
import { migrate } from '#core/data/db/migrate';
import type { Query, ReadStatement } from '#core/data/db/query';
import { isUnavailable, tookNoEffect } from '#core/data/db/sql-state';
import { createDatabase, withClient } from '#test/support/database';
import { useOpened } from '#test/support/opened';
import { openRelay } from '#test/support/relay';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const { open, listen } = useOpened();
const long = { timeout: 30_000, interval: 10 };

let own: Awaited<ReturnType<typeof createDatabase>>;

beforeAll(async () => {
  own = await createDatabase();
  await migrate(own.connection, migrationsDirectory);
  await withClient(own.connection, (client) =>
    client.query('create table notes (id int primary key, n int not null); grant all on notes to atrium_tenant'),
  );
});
afterAll(() => own.drop());

// Reads by declaration only, because these tests need writes and locks on the primary pool too.
const sql = (text: string, values: unknown[] = []): ReadStatement<Record<string, any>> => ({
  kind: 'read',
  text,
  values,
  prepare: true,
});
const one = sql('select 1 as one');

function openOwn(options: Partial<DatabaseOptions> = {}): Database {
  const database = openDatabase({ connection: own.connection, ...options });
  open.push(() => database.close());
  return database;
}

const times = <Result>(count: number, work: (at: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, at) => work(at)));

/** A concurrent transaction, which ends with the work. */
function whileHeld<Result>(lock: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  return withClient(own.connection, async (client) => {
    await client.query('begin');
    await client.query(lock);
    const result = await work(client);
    await client.query('rollback');
    return result;
  });
}

function loadOf(database: Database, name: 'interactive' | 'locks') {
  return database.pools().find(({ role, pool }) => role === 'tenant' && pool === name)!;
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a locked table', () => {
  it.each(['exclusive', 'access exclusive'])(
    'holds up nothing else: reads and writes of others go on while fifty statements wait (%s)',
    async (mode) => {
      const database = openOwn({ timing: { lockMs: 20_000, waitMs: 20_000, statementMs: 25_000, stalledMs: 30_000 } });
      const insert = (at: number) => sql('insert into notes (id, n) values ($1, 0) on conflict do nothing', [at]);
      const waiting = await whileHeld(`lock table notes in ${mode} mode`, async () => {
        const writers = times(50, (at) => {
          const db = database.tenant(newId());
          return at % 2 === 0 ? db.interactive.all(insert(at)) : db.transaction((tx) => tx.all(insert(at)));
        });
        const isAside = () => loadOf(database, 'interactive').flights === 0 && loadOf(database, 'locks').flights === 4;
        await vi.waitUntil(isAside, long);
        const readers = mode === 'exclusive' ? [] : [database.tenant(newId()).all(sql('select n from notes'))];
        const others = await times(200, (at) => {
          const db = database.tenant(newId());
          if (at % 3 === 0) return db.first(one);
          return at % 3 === 1 ? db.interactive.first(one) : db.transaction((tx) => tx.first(one));
        });
        expect(others).toEqual(Array.from({ length: 200 }, () => ({ one: 1 })));
        expect(loadOf(database, 'locks').flights).toBe(4);
        return [writers, ...readers];
      });
      await Promise.all(waiting);
      expect(database.faults.counts().lock_timeout).toBeGreaterThan(0);
      expect(await database.tenant(newId()).first(sql('select count(*) as n from notes'))).toEqual({ n: 50 });
    },
  );

  it('is asked for on the shared connections again once it is free', async () => {
    const database = openOwn({ timing: { interactiveLockMs: 20 } });
    const db = database.tenant(newId());
    const text = sql('select count(*) as n from notes');
    await whileHeld('lock table notes in access exclusive mode', async (client) => {
      const waiting = db.interactive.all(text);
      await vi.waitUntil(() => database.faults.counts().lock_timeout > 0, long);
      await client.query('rollback');
      await waiting;
    });
    const isShared = async () => {
      await db.interactive.all(text);
      const { rows } = await withClient(own.connection, (client) =>
        client.query(`select from pg_stat_activity where datname = current_database() and query = $1`, [text.text]),
      );
      return rows.length > 1;
    };
    await vi.waitUntil(isShared, long);
  });

  it('fails a transaction as a whole, though its work went on after the lock was refused', async () => {
    const database = openOwn({ timing: { interactiveLockMs: 20, lockMs: 50 } });
    const id = newId();
    await whileHeld('lock table notes in exclusive mode', async () => {
      const failure = await failureOf(
        database.credential(id).transaction(async (tx) => {
          await tx.all(sql('insert into tenants (id, name, domain) values ($1, $2, $2)', [id, id]));
          await tx.all(sql('update notes set n = n + 1')).catch(() => undefined);
        }),
      );
      expect(failure).toBeInstanceOf(Error);
    });
    expect(await database.tenant(id).all(sql('select id from tenants'))).toEqual([]);
  });
});

describe('one tenant', () => {
  it('leaves connections for the others, however much it sends', async () => {
    const patient = { interactiveLockMs: 20_000, statementMs: 25_000, stalledMs: 30_000, waitMs: 20_000 };
    const database = openOwn({ timing: patient });
    const [greedy, modest] = [newId(), newId()];
    const flood = await whileHeld('select pg_advisory_xact_lock(4712)', async () => {
      const sent = times(100, () => database.tenant(greedy).interactive.all(sql('select pg_advisory_xact_lock(4712)')));
      await vi.waitUntil(() => loadOf(database, 'interactive').flights === 6, long);
      expect(await times(50, () => database.tenant(modest).interactive.first(one))).toHaveLength(50);
      expect(loadOf(database, 'interactive')).toMatchObject({ flights: 6, waiting: 94 });
      return [sent];
    });
    await Promise.all(flood);
  });
});

describe('connections that a firewall has forgotten', () => {
  it('are found out before they get a request: all kinds of requests succeed', async () => {
    const relay = await openRelay(listen);
    const timing = { idleTestMs: 1, probeMs: 1000, connectMs: 10_000, waitMs: 30_000 };
    const database = openOwn({ connection: { ...relay.connection, database: own.connection.database }, timing });
    const every = () => {
      const [id, work] = [newId(), (tx: { first(query: Query<unknown>): Promise<unknown> }) => tx.first(one)];
      const scopes = [database.tenant(id), database.platform(), database.credential(), database.purge(id)];
      return scopes.flatMap((db) => [db.first(one), db.interactive.first(one), db.transaction(work)]);
    };
    await Promise.all([...every(), ...every()]);
    for (let round = 0; round < 3; round++) {
      await sleep(20 * timing.idleTestMs);
      relay.swallow();
      await Promise.all([...every(), ...every()]);
    }
    expect(database.faults.counts().dead_connection).toBeGreaterThanOrEqual(3);
  });
});

// Shorter than the defaults, but long enough for a server on a busy machine to answer.
const hasty = { suspectMs: 300, silenceMs: 300, connectMs: 1000, waitMs: 5000, probeMs: 500, tickMs: 10 };

describe('a database that does not answer', () => {
  it('fails what is under way and what comes, and serves again by itself', async () => {
    const relay = await openRelay(listen);
    const connection = { ...relay.connection, database: own.connection.database };
    const database = openOwn({ connection, timing: hasty });
    const db = database.tenant(newId());
    await times(20, () => db.interactive.first(one));
    const underWay = [
      db.interactive.all(sql('select pg_sleep(30)')),
      db.transaction((tx) => tx.all(sql('select pg_sleep(30)'))),
    ].map(failureOf);
    await vi.waitUntil(() => database.pools().some(({ flights }) => flights === 2), long);
    relay.hang();
    relay.swallow();
    const later = [db.first(one), db.interactive.first(one), db.transaction((tx) => tx.first(one))].map(failureOf);
    const failures = await Promise.all([...underWay, ...later]);
    for (const failure of failures) expect(isUnavailable(failure)).toBe(true);
    // Nothing is known of what had been sent.
    expect(tookNoEffect(await underWay[0])).toBe(false);
    expect(database.faults.counts().unreachable).toBeGreaterThan(0);
    const refused = await times(100, () => failureOf(db.interactive.first(one)));
    for (const failure of refused) expect(isUnavailable(failure)).toBe(true);
    relay.answer();
    await vi.waitUntil(async () => (await failureOf(db.first(one))) === undefined, long);
    expect(await db.transaction((tx) => tx.first(one))).toEqual({ one: 1 });
  });

  it('is not confused with one that works on a long statement', async () => {
    const database = openOwn({ timing: hasty });
    const db = database.tenant(newId());
    expect(await db.interactive.first(sql('select pg_sleep(1.5), 1 as one'))).toMatchObject({ one: 1 });
    expect(database.faults.counts().unreachable).toBe(0);
  });

  it('is not confused with one that works on a long statement on the very pool that asks', async () => {
    const timing = {
      statementMs: 10_000,
      stalledMs: 12_000,
      primaryStalledMs: 12_000,
      suspectMs: 200,
      silenceMs: 300,
      tickMs: 20,
    };
    const database = openOwn({ timing });
    await database.platform().all(one);
    await database.platform().all(sql('select pg_sleep(1.5)'));
    expect(database.faults.counts().unreachable).toBe(0);
  });

  it('says why it cannot be reached', async () => {
    const database = openDatabase({ connection: { host: '127.0.0.1', port: 1, user: 'unknown', database: 'none' } });
    open.push(() => database.close());
    for (let attempt = 0; attempt < 3; attempt++) {
      const failure = await failureOf(database.tenant(newId()).first(one));
      expect(failure).toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    }
  });
});

describe('a database that takes no writes', () => {
  it('refuses them for now, answers reads, and takes writes again by itself', async () => {
    const writable = { ...own.connection, options: '-c default_transaction_read_only=off' };
    const settings = (text: string) => withClient(writable, (client) => client.query(text));
    const name = own.connection.database!;
    const write = sql('insert into notes (id, n) values (1000, 1) on conflict (id) do update set n = notes.n + 1');
    await settings(`alter database ${name} set default_transaction_read_only = on`);
    open.push(() => settings(`alter database ${name} reset all`));
    const database = openOwn();
    const db = database.tenant(newId());
    for (const work of [db.interactive.all(write), db.transaction((tx) => tx.all(write))]) {
      const failure = await failureOf(work);
      expect(failure).toMatchObject({ code: '25006' });
      expect([isUnavailable(failure), tookNoEffect(failure)]).toEqual([true, true]);
    }
    expect(await db.interactive.first(one)).toEqual({ one: 1 });
    await settings(`alter database ${name} reset all`);
    await vi.waitUntil(async () => (await failureOf(db.interactive.all(write))) === undefined, long);
    expect(database.faults.counts().read_only).toBeGreaterThanOrEqual(2);
  });
});

describe('damaged data', () => {
  it.each(['XX001', 'XX002'])('is told of with table and operation, and counted: %s', async (code) => {
    const told: unknown[] = [];
    const database = openOwn({ onDamage: (damage) => told.push(damage) });
    await withClient(own.connection, (client) =>
      client.query(`create or replace function read_damaged() returns int language plpgsql as $$ begin
        raise exception 'invalid page in block 0 of relation "base/5/16384"' using errcode = '${code}'; end $$`),
    );
    const damaged = sql(
      'select read_damaged() from "notes" right join tenants on false right join (select 1) x on true',
    );
    const db = database.tenant(newId());
    const tables = ['notes', 'tenants'];
    const damage = { sqlState: code, operation: 'SELECT', tables, file: 'base/5/16384' };
    await expect(db.first(damaged)).rejects.toMatchObject({ code });
    await expect(db.transaction((tx) => tx.first(damaged))).rejects.toMatchObject({ code });
    expect(told).toEqual([damage, damage]);
    expect(database.faults.counts().damaged).toBe(2);
  });
});
