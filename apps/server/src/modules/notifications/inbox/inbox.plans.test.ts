import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { countInbox, countUnread, listInbox, markAllRead } from '#modules/notifications/inbox/inbox.queries';
import { inboxPath } from '#modules/notifications/testing/inbox';
import { withClient } from '#test/support/database';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();
const count = 20_000;
const read = 6000;
let tenant: Tenant;
let by: { tenantId: string; userId: string };

beforeAll(async () => {
  tenant = await createTenant(test);
  by = { tenantId: tenant.tenantId, userId: newId() };
  await withClient(test.connection, async (client) => {
    await client.query(
      `insert into notices (tenant_id, id, category, title, body, i18n, data, is_critical, audience, status, recipients, created_at)
       select $1::uuid, md5(n::text || $1::uuid::text)::uuid, 'news', 'Title', 'Body', '{}', '{}', false, '{"everyone":true}', 'done', 1, now()
       from generate_series(1, $2::int) n`,
      [by.tenantId, count],
    );
    // Every twentieth for one person, the first ones for another, all for some user; half of them read.
    await client.query(
      `insert into notifications (tenant_id, id, notice_id, user_id, category, created_at, inbox_at, read_at)
       select $1::uuid, gen_random_uuid(), md5(n::text || $1::uuid::text)::uuid, reader, 'news', now(),
         now() - n * interval '1 minute', case when n / 20 % 2 = 0 then now() end
       from generate_series(1, $3::int) n,
         lateral (values ($2::uuid, n % 20 = 0), ($4::uuid, n <= $5::int), (gen_random_uuid(), true)) r (reader, isTold)
       where isTold`,
      [by.tenantId, by.userId, count, tenant.admin.userId, 2 * read],
    );
    await client.query('analyze notices, notifications');
  });
});

describe('the inbox of a person with many notifications', () => {
  type Plan = { 'Node Type': string; 'Index Name'?: string; 'Index Cond'?: string; Plans?: Plan[] };
  const flatten = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flatten)];

  async function planOf({ text, values }: { text: string; values: readonly unknown[] }): Promise<Plan[]> {
    const [row] = await test.service.services.database
      .tenant(by.tenantId)
      .interactive.all<{ 'QUERY PLAN': { Plan: Plan }[] }>({
        kind: 'read',
        text: `explain (format json) ${text}`,
        values,
        prepare: false,
      });
    return flatten(row!['QUERY PLAN'][0]!.Plan);
  }

  const indexesOf = (nodes: Plan[]) => nodes.flatMap((node) => node['Index Name'] ?? []);
  const all = { unread: undefined, category: undefined };

  it('is read in the order of its index, with the notices of one page only', async () => {
    const nodes = await planOf(listInbox(by, all, { limit: 20, offset: 0 }));
    expect(indexesOf(nodes)).toEqual(expect.arrayContaining(['notifications_inbox', 'notices_pkey']));
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
  });

  it('is counted by indexes', async () => {
    expect(indexesOf(await planOf(countInbox(by, all)))).toEqual(['notifications_inbox']);
    expect(indexesOf(await planOf(countUnread(by)))).toEqual(['notifications_unread']);
    const next = markAllRead({ ...by, before: new Date().toISOString(), at: new Date().toISOString(), max: 100 });
    expect((await planOf(next)).map((node) => node['Node Type'])).not.toContain('Seq Scan');
  });

  it('is marked as read by several statements', async () => {
    const { token } = tenant.admin;
    const answer = await test.call('POST', `${inboxPath}/read-all`, { token });
    expect(answer.body.data.read).toBeGreaterThanOrEqual(read);
    expect((await test.call('GET', `${inboxPath}/unread-count`, { token })).body.data.unread).toBeLessThan(2);
  });
});
