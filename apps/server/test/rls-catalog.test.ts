import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { migrationsDirectory } from '#app/service';
import { newId } from '#core/base/crypto/ids';
import { populate } from '#modules/tenants/testing/populate';
import * as catalog from '#test/rls-catalog';
import { tenantTables, tenantTablesIn } from '#test/rls-catalog';
import { useService } from '#test/support/harness';

const test = useService();
const insufficientPrivilege = '42501';
let client: pg.Client;
let tenantId: string;
let otherTenantId: string;

beforeAll(async () => {
  client = new pg.Client(test.connection);
  await client.connect();
  ({ tenantId } = await populate(test));
  otherTenantId = (await populate(test)).tenantId;
});
afterAll(() => client.end());

it.each(catalog.checks)('%s', async (_what, check) => {
  expect(await check(client)).toEqual([]);
});

it('the tenant tables that the text of the migrations shows are those of the catalog', async () => {
  const files = (await readdir(migrationsDirectory)).toSorted();
  const texts = await Promise.all(files.map((name) => readFile(path.join(migrationsDirectory, name), 'utf8')));
  const names = (await tenantTables(client)).map(({ name }) => name);
  expect(tenantTablesIn(texts.join('\n'))).toEqual(names.filter((name) => !catalog.directories.includes(name)));
});

it('finds the tables of tenants', async () => {
  const names = (await tenantTables(client)).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['tenants', 'users', 'spaces', 'contacts', 'audit_logs', 'sessions']));
  expect(names).toEqual(expect.arrayContaining(catalog.directories));
});

it('every listed exception still exists', async () => {
  const { rows } = await client.query<{ policy: string }>(
    `select tablename || '.' || policyname || ' to ' || array_to_string(roles, ', ') as policy from pg_policies`,
  );
  const policies = rows.map(({ policy }) => policy);
  expect(Object.keys(catalog.crossTenantPolicies).filter((policy) => !policies.includes(policy))).toEqual([]);
});

/** What a statement does as the tenant role, undone afterwards: its row count, or the SQLSTATE of its failure. */
async function asTenant(tenant: string | undefined, text: string, values: unknown[] = []): Promise<number | string> {
  await client.query('begin');
  try {
    await client.query('set local role atrium_tenant');
    if (tenant !== undefined) await client.query('select app_tenant($1)', [tenant]);
    return (await client.query(text, values)).rowCount ?? 0;
  } catch (error) {
    return (error as { code?: string }).code ?? 'no code';
  } finally {
    await client.query('rollback');
  }
}

async function grantedTables(privilege: 'select' | 'insert' | 'update' | 'delete') {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace
       and relkind in ('r', 'p') and has_table_privilege('atrium_tenant', oid, $1)`,
    [privilege],
  );
  const granted = new Set(rows.map(({ name }) => name));
  return (await tenantTables(client)).filter(({ name }) => granted.has(name));
}

describe('as the role that requests run as', () => {
  it('no tenant, no rows; a tenant, its own rows and no others', async () => {
    for (const { name, column } of await grantedTables('select')) {
      const all = await client.query(`select from ${name} where ${column} <> $1`, [tenantId]);
      expect(all.rowCount, `${name} has no row: create one in 'records' of testing/samples.ts of its module`).not.toBe(
        0,
      );
      expect({ name, seen: await asTenant(undefined, `select from ${name}`) }).toEqual({ name, seen: 0 });
      const foreign = await asTenant(tenantId, `select from ${name} where ${column} <> $1`, [tenantId]);
      expect({ name, foreign }).toEqual({ name, foreign: 0 });
    }
    expect(await asTenant(tenantId, 'select from contacts')).toBe(1);
  });

  it('the tenant of one transaction is not there in the next', async () => {
    await asTenant(tenantId, 'select 1');
    expect(await asTenant(undefined, 'select from contacts')).toBe(0);
  });

  it('inserting fails without a tenant and for another tenant, before any other check of the row', async () => {
    const tables = await grantedTables('insert');
    expect(tables.length).toBeGreaterThan(4);
    for (const { name, column } of tables) {
      const insert = `insert into ${name} (${column}) values ($1)`;
      expect({ name, code: await asTenant(undefined, insert, [tenantId]) }).toEqual({
        name,
        code: insufficientPrivilege,
      });
      const foreign = await asTenant(tenantId, insert, [otherTenantId]);
      expect({ name, code: foreign }).toEqual({ name, code: insufficientPrivilege });
      // The policy admits a row of this tenant, which then fails because it is incomplete.
      expect({ name, code: await asTenant(tenantId, insert, [tenantId]) }).toEqual({ name, code: '23502' });
    }
  });

  it('changing and deleting reach no row without a tenant, and none of another tenant', async () => {
    const written = new Set((await grantedTables('delete')).map(({ name }) => name));
    for (const { name, column } of await grantedTables('update')) {
      const update = `update ${name} set updated_at = updated_at where ${column} = $1`;
      const hasTime = await client.query(
        `select from information_schema.columns where table_name = $1 and column_name = 'updated_at'`,
        [name],
      );
      if (hasTime.rowCount === 1) {
        expect({ name, changed: await asTenant(undefined, update, [otherTenantId]) }).toEqual({ name, changed: 0 });
        expect({ name, changed: await asTenant(tenantId, update, [otherTenantId]) }).toEqual({ name, changed: 0 });
      }
      const move = await asTenant(tenantId, `update ${name} set ${column} = $1`, [otherTenantId]);
      expect({ name, moved: typeof move === 'string' || move === 0 }).toEqual({ name, moved: true });
      if (!written.has(name)) continue;
      const removed = await asTenant(tenantId, `delete from ${name} where ${column} = $1`, [otherTenantId]);
      expect({ name, removed }).toEqual({ name, removed: 0 });
    }
  });

  it('a tenant that is not a UUID is an error, and shows no tenant', async () => {
    expect(await asTenant('null', 'select from contacts')).toBe('22P02');
    expect(await asTenant(newId(), 'select from contacts')).toBe(0);
  });

  it('nothing beyond the grants', async () => {
    expect(await asTenant(tenantId, 'alter table contacts disable row level security')).toBe(insufficientPrivilege);
    expect(await asTenant(tenantId, 'select from accounts')).toBe(insufficientPrivilege);
    expect(await asTenant(tenantId, `select from audit_logs_default`)).toBe(insufficientPrivilege);
  });
});
