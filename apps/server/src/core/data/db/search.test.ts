import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';

import { queryBuilder, type Query } from '#core/data/db/query';
import { containsWords, planSearch, prepareSearch, type Search } from '#core/data/db/search';
import { listContacts } from '#modules/contacts/contacts.queries';
import { withClient } from '#test/support/database';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();
let tenant: Tenant;

/** More than the index over texts has room for. */
const long = {
  firstName: '空'.repeat(100),
  middleName: '間'.repeat(100),
  lastName: '部'.repeat(100),
  city: '市'.repeat(50),
};

beforeAll(async () => {
  tenant = await createTenant(test);
  for (const firstName of ['Ada Łukasz', 'Alan', 'ADA 100%', 'Straße']) {
    const answer = await test.call('POST', '/api/v1/secure/contacts', {
      token: tenant.admin.token,
      body: { firstName },
    });
    expect(answer.status).toBe(201);
  }
  const { city, ...names } = long;
  const answer = await test.call('POST', '/api/v1/secure/contacts', {
    token: tenant.admin.token,
    body: { ...names, email: 'long@example.com', address: { city } },
  });
  expect(answer.status).toBe(201);
});

const db = () => test.service.services.database.tenant(tenant.tenantId);

/** As if others of the tenant's contacts had been counted. */
const count = (amount: number) =>
  withClient(test.connection, (client) =>
    client.query(
      `insert into row_counts (tenant_id, table_name, slot, amount) values ($1, 'contacts', 99, $2)
       on conflict (tenant_id, table_name, slot) do update set amount = excluded.amount`,
      [tenant.tenantId, amount],
    ),
  );

describe('planSearch', () => {
  it('reads a tenant of up to 20,000 rows whole, and a larger one by the index', async () => {
    expect(await planSearch(db(), 'contacts', undefined)).toBe(undefined);
    await count(20_000 - 5);
    expect(await planSearch(db(), 'contacts', 'ada  lukas')).toEqual({
      patterns: ['%ada%', '%lukas%'],
      byIndex: false,
    });
    await count(20_000 - 4);
    expect(await planSearch(db(), 'contacts', 'ada')).toEqual({ patterns: ['%ada%'], byIndex: true });
    await count(0);
  });
});

const page = { limit: 50, offset: 0, order: undefined };

describe('containsWords', () => {
  const find = async (text: string, byIndex: boolean) => {
    const search: Search = { ...(await planSearch(db(), 'contacts', text))!, byIndex };
    return (await db().interactive.all(listContacts(tenant.tenantId, { search }, page))).map((row) => row.first_name);
  };

  it.each(['ada', 'ADA', 'łukasz', 'STRASSE', 'straße', '100%', 'ada 100', '_da', 'missing', '間間 long', 'a'])(
    'finds the same either way: %s',
    async (text) => {
      expect(await find(text, false)).toEqual(await find(text, true));
    },
  );

  it('finds each word in any case, in any place', async () => {
    expect(await find('ada', false)).toEqual(['ADA 100%', 'Ada Łukasz']);
    expect(await find('ŁUKASZ ada', false)).toEqual(['Ada Łukasz']);
    expect(await find('0%', false)).toEqual(['ADA 100%']);
    expect(await find('long@ 市市', false)).toEqual([long.firstName]);
  });

  it('is every row where no word is given', async () => {
    expect(containsWords({ patterns: [], byIndex: false }, { table: 'contacts', tenantId: tenant.tenantId })).toEqual(
      [],
    );
    expect(await find(' ', false)).toHaveLength(5);
  });

  it.each([
    [true, 'on contacts_search', 'contacts_texts'],
    [false, 'Index Only Scan using contacts_texts', 'contacts_search'],
  ])('by index %s: the plan uses %s', async (byIndex, used, unused) => {
    const where = { table: 'contacts', tenantId: tenant.tenantId } as const;
    const [condition] = containsWords({ patterns: ['%ada%'], byIndex }, where);
    const { sql: text, parameters } = sql`explain select from contacts where ${condition}`.compile(queryBuilder());
    const plan = await withClient(test.connection, async (client) => {
      await client.query('vacuum analyze contacts');
      // So that few rows do not decide it.
      await client.query('set enable_seqscan = off');
      return (await client.query(text, [...parameters])).rows.map((row) => Object.values(row)[0]).join('\n');
    });
    expect(plan).toContain(used);
    expect(plan).not.toContain(unused);
  });
});

describe('prepareSearch', () => {
  const patterns = ['%a%', '%b%', '%c%'];
  const of = (filters: Parameters<typeof listContacts>[1]) => listContacts(tenant.tenantId, filters, page).prepare;

  it('keeps the plan of few words and nothing else', () => {
    expect(of({ search: { patterns, byIndex: false } })).toBe(true);
    expect(of({ search: { patterns: [...patterns, '%d%'], byIndex: false } })).toBe(false);
    expect(of({ search: { patterns, byIndex: true } })).toBe(false);
    expect(of({ search: { patterns, byIndex: false }, city: 'Berlin' })).toBe(false);
    expect(of({ city: 'Berlin' })).toBe(false);
    expect(prepareSearch({ kind: 'read', text: 'select 1', values: [], prepare: false }, {}).prepare).toBe(false);
  });

  it('makes one plan for all words and tenants', async () => {
    const search: Search = { patterns: ['%ada%'], byIndex: false };
    const plans: Query<{ custom: number; generic: number }> = {
      kind: 'read',
      text: `select custom_plans as custom, generic_plans as generic from pg_prepared_statements
              where statement like '%from "contacts"%like (select lower(%'`,
      values: [],
      prepare: false,
    };
    const [rows, [made]] = await db().interactive.batch([listContacts(tenant.tenantId, { search }, page), plans]);
    expect(rows).toHaveLength(2);
    expect(made!.custom).toBe(0);
    expect(made!.generic).toBeGreaterThan(0);
  });
});
