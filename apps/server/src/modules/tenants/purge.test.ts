import type pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import type { Services } from '#core/platform/services';
import { auditOf, createClock, day, minute, newEmail, post } from '#modules/auth/testing/steps';
import { listPurgedTables } from '#modules/tenants/purge.queries';
import { purgeTenants } from '#modules/tenants/purge.service';
import { populate as populateAll } from '#modules/tenants/testing/populate';
import { moveNow, tenants } from '#modules/tenants/testing/steps';
import { tenantTables } from '#test/rls-catalog';
import { withClient } from '#test/support/database';
import { createMember, createTenant, joinTenant, logIn, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, startService, testServiceOf, useService } from '#test/support/harness';

const clock = createClock();
// A database of its own, because a purge processes all tenants after their grace period.
const test = useService({ now: clock.now, ownDatabase: true });
let bystander: Tenant;
let purgedTables: readonly { name: string }[];

beforeAll(async () => {
  bystander = await populate();
  purgedTables = await test.service.services.database.purge(bystander.tenantId).interactive.all(listPurgedTables);
}, 60_000);

/** A tenant with rows in every table except `files`: a purge waits for those, which the tests about files show. */
async function populate(): Promise<Tenant> {
  const tenant = await populateAll(test);
  await run('delete from files where tenant_id = $1', [tenant.tenantId]);
  return tenant;
}

const purge = (services: Services = test.service.services, { signal } = new AbortController()) =>
  purgeTenants({ ...services, signal });

type Rows = Record<string, string[]>;

/** All rows of a tenant, as text, by table. */
function rowsOf(tenantId: string): Promise<Rows> {
  return withClient(test.connection, async (client) => {
    const found: Rows = {};
    for (const { name, column } of [...(await tenantTables(client)), identities]) {
      const select = `select t::text as row from ${name} t where t.${column} = $1 order by 1`;
      const { rows } = await client.query<{ row: string }>(select, [tenantId]);
      found[name] = rows.map(({ row }) => row);
    }
    return found;
  });
}
const identities = { name: 'account_identities', column: 'configured_by' };

const tablesWithRows = (rows: Rows) => Object.keys(rows).filter((name) => rows[name]!.length > 0);

async function run(text: string, values: unknown[] = []): Promise<pg.QueryResult> {
  return withClient(test.connection, (client) => client.query(text, values));
}

async function statusOf(tenantId: string): Promise<string> {
  return (await run('select status from tenants where id = $1', [tenantId])).rows[0].status;
}

async function expectTombstone(tenantId: string): Promise<void> {
  expect(tablesWithRows(await rowsOf(tenantId))).toEqual(['tenants']);
  const { rows } = await run('select * from tenants where id = $1', [tenantId]);
  expect(rows).toMatchObject([
    { status: 'deleted', name: '', domain: '', settings: {}, deletes_at: null, suspended_at: null },
  ]);
  const told = await run(
    `select tenant_id, user_id, details from audit_logs where action = 'tenant.purged' and resource_id = $1`,
    [tenantId],
  );
  expect(told.rows).toEqual([
    { tenant_id: systemTenantId, user_id: null, details: { actor: { type: 'service', id: null } } },
  ]);
}

async function deleteAndWait(tenantId: string): Promise<void> {
  await moveNow(test, tenantId, 'delete');
  clock.advance(30 * day + minute);
}

it('covers every table of a tenant', async () => {
  const names = await withClient(test.connection, tenantTables);
  const handled = [...purgedTables.map(({ name }) => name), 'files', 'tenants'];
  expect(names.map(({ name }) => name).toSorted()).toEqual(handled.toSorted());
});

describe('a tenant that waits for its purge', () => {
  it('remains complete during its grace period, and until admitted requests have ended', async () => {
    const { tenantId, admin } = await createTenant(test);
    await moveNow(test, tenantId, 'delete');
    clock.advance(30 * day - minute);
    await purge();
    expect(await statusOf(tenantId)).toBe('pending_deletion');
    clock.advance(minute);
    await purge();
    expect(await statusOf(tenantId)).toBe('pending_deletion');
    expect(tablesWithRows(await rowsOf(tenantId))).toContain('users');
    clock.advance(minute);
    await purge();
    await expectTombstone(tenantId);
    const { email, password } = admin;
    expectError(await post(test, 'login', { email, password }), 401, 'AUTHENTICATION_ERROR');
  });

  it('is not purged after a restoration, and works as before', async () => {
    const { tenantId, admin } = await createTenant(test);
    await moveNow(test, tenantId, 'delete');
    clock.advance(30 * day - minute);
    await moveNow(test, tenantId, 'restore');
    clock.advance(60 * day);
    await purge();
    expect(await statusOf(tenantId)).toBe('active');
    const { email, password } = admin;
    expect((await post(test, 'login', { email, password })).status).toBe(200);
  });

  it('is purged after that minute if no grace period is configured', async () => {
    const none = await startService({
      now: clock.now,
      connection: test.connection,
      environment: { TENANT_DELETION_GRACE_DAYS: '0' },
    });
    try {
      const { tenantId } = await createTenant(test);
      const { token } = await logInSystemAdmin(test);
      const url = `${tenants}/${tenantId}`;
      const there = testServiceOf(none, test.connection);
      expect((await there.call('DELETE', url, { token })).status).toBe(204);
      expectError(await there.call('POST', `${url}/restore`, { token }), 404, 'NOT_FOUND');
      await purge();
      expect(await statusOf(tenantId)).toBe('pending_deletion');
      clock.advance(minute);
      await purge();
      await expectTombstone(tenantId);
    } finally {
      await none.close();
    }
  });
});

describe('the purge', () => {
  it('leaves only a tombstone, and does not change other tenants', async () => {
    const tenant = await populate();
    const { tenantId } = tenant;
    const person = await createMember(test, tenant);
    const { email, password } = person;
    // The earlier token has expired by then.
    const admin = await logIn(test, bystander.admin);
    await joinTenant(test, { ...bystander, admin }, person);
    await deleteAndWait(tenantId);
    const full = tablesWithRows(await rowsOf(tenantId));
    const empty = Object.keys(await rowsOf(tenantId)).filter((name) => name !== 'files' && !full.includes(name));
    expect(empty, "tables without a row: create one in the 'records' of testing/samples.ts of their modules").toEqual(
      [],
    );
    const before = [await rowsOf(bystander.tenantId), (await run('select * from accounts order by id')).rows];
    await purge();
    expect([await rowsOf(bystander.tenantId), (await run('select * from accounts order by id')).rows]).toEqual(before);
    await expectTombstone(tenantId);
    expect((await post(test, 'login', { email, password })).body.user.tenantId).toBe(bystander.tenantId);
  });

  it('frees the domain, and the addresses of users without another tenant', async () => {
    const { tenantId, domain, admin } = await createTenant(test);
    await deleteAndWait(tenantId);
    const body = { email: newEmail(), password: 'correct horse', tenantName: 'Again', tenantDomain: domain };
    expectError(await post(test, 'register', body), 409, 'CONFLICT');
    await purge();
    expect((await post(test, 'register', body)).status).toBe(201);
    const again = { ...body, email: admin.email, tenantDomain: `free-${newId()}` };
    expect((await post(test, 'register', again)).status).toBe(201);
  });

  it('is recorded for system administrators, who no longer see the tenant', async () => {
    const { tenantId } = await createTenant(test);
    await deleteAndWait(tenantId);
    await purge();
    const root = await logInSystemAdmin(test);
    const told = await auditOf(test, root, 'tenant.purged');
    expect(told.filter(({ resource_id: id }) => id === tenantId)).toHaveLength(1);
    expectError(await test.call('GET', `${tenants}/${tenantId}`, { token: root.token }), 404, 'NOT_FOUND');
    const naming = { token: root.token, headers: { 'x-tenant-id': tenantId } };
    expectError(await test.call('GET', '/api/v1/secure/spaces', naming), 404, 'NOT_FOUND');
  });

  it('deletes in batches, and trees from their leaves', async () => {
    const { tenantId } = await createTenant(test);
    const at = '2026-01-01T00:00:00Z';
    await run(
      `insert into contacts (tenant_id, id, created_at, updated_at)
       select $1, gen_random_uuid(), $2, $2 from generate_series(1, 2500)`,
      [tenantId, at],
    );
    const chain = Array.from({ length: 25 }, () => newId());
    for (const [depth, id] of chain.entries())
      await run(
        `insert into spaces (tenant_id, id, parent_id, name, created_at, updated_at) values ($1, $2, $3, 'Level', $4, $4)`,
        [tenantId, id, chain[depth - 1] ?? null, at],
      );
    await deleteAndWait(tenantId);
    const seen: number[] = [];
    await purge(watched((rows) => seen.push(rows)));
    await expectTombstone(tenantId);
    expect(Math.max(...seen)).toBe(1000);
    expect(seen.reduce((sum, rows) => sum + rows)).toBeGreaterThan(2525);
  });

  it('continues after an interruption at any statement', async () => {
    const { tenantId } = await populate();
    const before = await rowsOf(bystander.tenantId);
    await deleteAndWait(tenantId);
    let cuts = 0;
    for (let left = 0; ; left++) {
      const services = mortal(left);
      await purge(services.services).catch(() => undefined);
      if (!services.isDead()) break;
      cuts += 1;
      const { rows } = await run('select name, deletes_at from tenants where id = $1', [tenantId]);
      expect(rows).toEqual([{ name: expect.stringContaining('Tenant'), deletes_at: expect.any(Date) }]);
    }
    expect(cuts).toBeGreaterThan(purgedTables.length);
    await expectTombstone(tenantId);
    expect(await rowsOf(bystander.tenantId)).toEqual(before);
  });

  it('stops before the next statement after an abort, and continues in the next run', async () => {
    const { tenantId } = await populate();
    await deleteAndWait(tenantId);
    for (const after of [0, 1, 5]) {
      const stop = new AbortController();
      let sent = 0;
      const counting = through((send) => {
        if (sent++ === after) stop.abort(new Error('enough'));
        return send();
      });
      await expect(purge(counting, stop)).rejects.toThrow('enough');
      expect(sent).toBe(after + 1);
    }
    expect(await statusOf(tenantId)).toBe('deleted');
    await purge();
    await expectTombstone(tenantId);
  });

  it('is performed once by two concurrent processes', async () => {
    const { tenantId } = await populate();
    await deleteAndWait(tenantId);
    await Promise.all([purge(), purge(), purge()]);
    await purge();
    await expectTombstone(tenantId);
  });

  it('of a failing tenant does not block the others', async () => {
    const [stuck, other] = [await createTenant(test), await createTenant(test)];
    await moveNow(test, stuck.tenantId, 'delete');
    await deleteAndWait(other.tenantId);
    const { services } = test.service;
    const database = {
      ...services.database,
      purge: (tenantId: string) => {
        if (tenantId === stuck.tenantId) throw new Error('planted');
        return services.database.purge(tenantId);
      },
    };
    await purge({ ...services, database });
    await expectTombstone(other.tenantId);
    expect(await statusOf(stuck.tenantId)).toBe('deleted');
    expect(test.logLines.some((line) => line.includes('planted') && line.includes(stuck.tenantId))).toBe(true);
    await purge();
    await expectTombstone(stuck.tenantId);
  });
});

describe('files', () => {
  const insertFile = (tenantId: string, status: 'stored' | 'uploading') =>
    run(
      `insert into files (tenant_id, id, name, content_type, size_bytes, sha256, status, lease_until, created_at, updated_at)
       values ($1, $2, 'plan.pdf', 'application/pdf', 1, 'hash', $3, case when $3 = 'stored' then null else now() end, now(), now())`,
      [tenantId, newId(), status],
    );
  const filesOf = async (tenantId: string) =>
    (await run('select status, lease_until is not null as leased from files where tenant_id = $1', [tenantId])).rows;

  it.each(['stored', 'uploading'] as const)('%s: the rest waits until object and row are deleted', async (status) => {
    const { tenantId } = await createTenant(test);
    await insertFile(tenantId, status);
    await insertFile(bystander.tenantId, 'stored');
    await deleteAndWait(tenantId);
    await purge();
    expect(await filesOf(tenantId)).toEqual([{ status: status === 'stored' ? 'deleting' : status, leased: true }]);
    expect(await filesOf(bystander.tenantId)).toContainEqual({ status: 'stored', leased: false });
    expect(tablesWithRows(await rowsOf(tenantId))).toContain('users');
    await purge();
    expect(await statusOf(tenantId)).toBe('deleted');
    // The job that deletes objects has finished.
    await run('delete from files where tenant_id = $1', [tenantId]);
    await purge();
    await expectTombstone(tenantId);
  });
});

describe('the purge role', () => {
  /** As the role with a tenant entered, rolled back afterwards: the affected rows, or the SQLSTATE. */
  async function asPurge(tenantId: string, text: string, values: unknown[] = []): Promise<number | string> {
    return withClient(test.connection, async (client) => {
      await client.query('begin');
      try {
        await client.query('set local role atrium_purge');
        await client.query('select app_tenant($1)', [tenantId]);
        return (await client.query(text, values)).rowCount ?? 0;
      } catch (error) {
        return (error as { code: string }).code;
      }
    });
  }
  const insufficientPrivilege = '42501';

  it('reaches no row of another tenant', async () => {
    const own = await populate();
    const { tenantId: foreign } = bystander;
    for (const { name } of purgedTables) {
      const all = `select from ${name} where tenant_id = $1`;
      const rows = await asPurge(own.tenantId, all, [own.tenantId]);
      expect(rows, `${name} has no row: create one in 'records' of testing/samples.ts of its module`).not.toBe(0);
      expect({ name, rows: await asPurge(own.tenantId, all, [foreign]) }).toEqual({ name, rows: 0 });
      const remove = `delete from ${name} where tenant_id = $1`;
      expect({ name, rows: await asPurge(own.tenantId, remove, [foreign]) }).toEqual({ name, rows: 0 });
    }
  });

  it('writes nothing, and reaches no account', async () => {
    const { tenantId } = bystander;
    for (const { name } of purgedTables) {
      const insert = `insert into ${name} (tenant_id) values ($1)`;
      expect({ name, code: await asPurge(tenantId, insert, [tenantId]) }).toEqual({
        name,
        code: insufficientPrivilege,
      });
      const update = `update ${name} set tenant_id = tenant_id`;
      expect({ name, code: await asPurge(tenantId, update) }).toEqual({ name, code: insufficientPrivilege });
    }
    for (const text of ['select from accounts', 'delete from accounts', 'delete from tenants', 'delete from files'])
      expect({ text, code: await asPurge(tenantId, text) }).toEqual({ text, code: insufficientPrivilege });
  });

  it('has no connection before there is something to purge', async () => {
    const fresh = await startService({ now: clock.now, connection: test.connection });
    const connections = async () => {
      const { rows } = await run(
        `select count(*)::int as count from pg_stat_activity
         where datname = current_database() and application_name = 'atrium_purge'`,
      );
      return rows[0].count as number;
    };
    try {
      const before = await connections();
      await purge(fresh.services);
      expect(await connections()).toBe(before);
      const { tenantId } = await createTenant(test);
      await deleteAndWait(tenantId);
      await purge(fresh.services);
      expect(await connections()).toBe(before + 1);
    } finally {
      await fresh.close();
    }
  });
});

type Interactive = {
  all(query: unknown): Promise<unknown[]>;
  first(query: unknown): Promise<unknown>;
  batch(queries: unknown): Promise<unknown[][]>;
};

/** The services with every statement of the purge passing through. */
function through(wrap: (send: () => Promise<unknown>) => Promise<unknown>): Services {
  const { services } = test.service;
  const wrapped = (db: object): object => {
    const { interactive } = db as { interactive: Interactive };
    return {
      interactive: {
        all: (query: unknown) => wrap(() => interactive.all(query)),
        first: (query: unknown) => wrap(() => interactive.first(query)),
        batch: (queries: unknown) => wrap(() => interactive.batch(queries)),
      },
    };
  };
  const { database } = services;
  const all = {
    ...database,
    platform: () => wrapped(database.platform()),
    credential: () => wrapped(database.credential()),
    purge: (tenantId: string) => wrapped(database.purge(tenantId)),
  };
  return { ...services, database: all as unknown as Services['database'] };
}

function watched(onRows: (rows: number) => void): Services {
  return through(async (send) => {
    const result = await send();
    if (Array.isArray(result)) onRows(result.length);
    return result;
  });
}

/** Services that fail before their next statement after the given number of statements. */
function mortal(statements: number): { services: Services; isDead(): boolean } {
  let left = statements;
  let dead = false;
  const services = through((send) => {
    dead ||= left-- === 0;
    return dead ? Promise.reject(new Error('killed')) : send();
  });
  return { services, isDead: () => dead };
}
