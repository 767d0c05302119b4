import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';

import { queryBuilder } from '#core/db/query';
import { containsWords, planSearch, type Search } from '#core/db/search';
import { listContacts } from '#modules/contacts/contacts.queries';
import { createTenant, type Tenant } from '#test/support/factories';
import { withClient } from '#test/support/database';
import { useService } from '#test/support/harness';

const test = useService();
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
  for (const firstName of ['Ada Łukasz', 'Alan', 'ADA 100%', 'Straße']) {
    const answer = await test.call('POST', '/api/v1/secure/contacts', {
      token: tenant.admin.token,
      body: { firstName },
    });
    expect(answer.status).toBe(201);
  }
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
    await count(20_000 - 4);
    expect(await planSearch(db(), 'contacts', 'ada  lukas')).toEqual({
      patterns: ['%ada%', '%lukas%'],
      byIndex: false,
    });
    await count(20_000 - 3);
    expect(await planSearch(db(), 'contacts', 'ada')).toEqual({ patterns: ['%ada%'], byIndex: true });
    await count(0);
  });
});

describe('containsWords', () => {
  const page = { limit: 50, offset: 0, order: undefined };
  const find = async (text: string, byIndex: boolean) => {
    const search: Search = { ...(await planSearch(db(), 'contacts', text))!, byIndex };
    return (await db().slow.all(listContacts(tenant.tenantId, { search }, page))).map((row) => row.first_name);
  };

  it.each(['ada', 'ADA', 'łukasz', 'STRASSE', 'straße', '100%', 'ada 100', '_da', 'nobody'])(
    'finds the same either way: %s',
    async (text) => {
      expect(await find(text, false)).toEqual(await find(text, true));
    },
  );

  it('finds each word in any case, in any place', async () => {
    expect(await find('ada', false)).toEqual(['ADA 100%', 'Ada Łukasz']);
    expect(await find('ŁUKASZ ada', false)).toEqual(['Ada Łukasz']);
    expect(await find('0%', false)).toEqual(['ADA 100%']);
  });

  it.each([
    [false, false],
    [true, true],
  ])('by index %s: the plan uses it %s', async (byIndex, isUsed) => {
    const [condition] = containsWords({ patterns: ['%ada%'], byIndex });
    const { sql: text, parameters } = sql`explain select from contacts where ${condition}`.compile(queryBuilder());
    const plan = await withClient(test.connection, async (client) => {
      // So that few rows do not decide it.
      await client.query('set enable_seqscan = off');
      return (await client.query(text, [...parameters])).rows.map((row) => Object.values(row)[0]).join('\n');
    });
    expect(plan.includes('contacts_search')).toBe(isUsed);
  });
});
