import { beforeAll, expect, it } from 'vitest';

import { calendar } from '#modules/calendar/testing/events';
import { withClient } from '#test/support/database';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

type Calendar = { id: string; name: string; entity_type: string };

const test = useService();
const count = 50_000;
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
  await withClient(test.connection, async (client) => {
    // Many spaces share a name, so that page boundaries fall between equal names.
    await client.query(
      `insert into spaces (tenant_id, id, name, status, created_at, updated_at)
       select $1::uuid, md5(n::text || $1::text)::uuid, 'Room ' || (n * 7919 % 9000), 'active', now(), now()
       from generate_series(1, $2::int) n`,
      [tenant.tenantId, count],
    );
    await client.query('analyze spaces');
  });
});

const list = (query = '') => test.call('GET', `${calendar}${query}`, { token: tenant.admin.token });
/** One text, because comparing long lists is slow. */
const idsOf = (data: Calendar[]) => data.map(({ id }) => id).join();
const compare = (left: string, right: string) => (left < right ? -1 : Number(left > right));

it('streams the calendars of 50,000 spaces by name, without duplicates', async () => {
  const { status, headers, body } = await list();
  expect({ status, length: headers['content-length'], total: body.total }).toEqual({
    status: 200,
    length: undefined,
    total: count + 1,
  });
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  const data = body.data as Calendar[];
  expect(new Set(data.map(({ id }) => id)).size).toBe(count + 1);
  const order = data.map(({ name, id }) => `${name.toLowerCase()} ${id}`);
  expect(order.join()).toBe(order.toSorted(compare).join());
});

it('streams the rest after an offset, and lists of one kind or with a search', async () => {
  const all = (await list()).body.data as Calendar[];
  const rest = await list('?offset=44000');
  expect([idsOf(rest.body.data), rest.body.total]).toEqual([idsOf(all.slice(44_000)), count + 1]);
  expect((await list('?entity_type=space')).body.total).toBe(count);
  const found = await list('?search=room%208');
  const matching = all.filter(({ name }) => /room.*8/i.test(name));
  expect(matching.length).toBeGreaterThan(5000);
  expect([idsOf(found.body.data), found.body.total]).toEqual([idsOf(matching), matching.length]);
});

it('returns a page if a limit is set, and nothing after the end', async () => {
  const page = await list('?limit=200&offset=300');
  expect(page.body.data).toHaveLength(200);
  expect(page.headers['x-total-capped']).toBe('true');
  expect((await list(`?offset=${count + 1}`)).body.data).toEqual([]);
  for (const limit of ['0', '201', '1.5', 'all']) expect((await list(`?limit=${limit}`)).status).toBe(400);
});

it('answers HEAD without a body', async () => {
  const response = await test.raw({
    method: 'HEAD',
    url: calendar,
    headers: { authorization: `Bearer ${tenant.admin.token}` },
  });
  expect([response.statusCode, response.payload]).toEqual([200, '']);
});
