import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { nilId } from '#core/data/db/nil-id';
import type { Query } from '#core/data/db/query';
import {
  claimDue,
  countDeliveries as countMatching,
  findNextDue,
  listDeliveries,
  listWaiting,
} from '#modules/notifications/deliveries/deliveries.queries';
import { countDeliveries, lockNextNotice, suppressWaiting } from '#modules/notifications/notices/notices.queries';
import type { Channel, DeliveryStatus } from '#modules/notifications/notifications.types';
import { withClient } from '#test/support/database';
import { createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();
const perNotice = 500;
const noticeCount = 60;
const now = new Date().toISOString();
let tenantId: string;
let noticeId: string;

/** Of three channels; one in a hundred is not sent, and those of the last notice all wait. */
beforeAll(async () => {
  ({ tenantId } = await createTenant(test));
  const noticeIds = Array.from({ length: noticeCount }, () => newId());
  noticeId = noticeIds.at(-1)!;
  await withClient(test.connection, async (client) => {
    await client.query(
      `insert into notices (tenant_id, id, category, title, body, i18n, data, is_critical, audience, status, recipients, created_at)
       select $1, id, 'news', 'Title', 'Body', '{}', '{}', false, '{"everyone":true}', 'done', 1, now() from unnest($2::uuid[]) as t (id)`,
      [tenantId, noticeIds],
    );
    await client.query(
      `insert into notifications (tenant_id, id, notice_id, user_id, category, created_at)
       select $1, md5(n || id::text)::uuid, id, md5(n::text)::uuid, 'news', now()
       from unnest($2::uuid[]) as t (id), generate_series(1, $3::int) n`,
      [tenantId, noticeIds, perNotice],
    );
    await client.query(
      `insert into notification_deliveries (tenant_id, id, notification_id, notice_id, user_id, category, is_critical, channel, status,
         reason, layer, due_at, attempts, interruptions, created_at, updated_at)
       select $1, uuidv7(), id, notice_id, user_id, 'news', false, channel,
         case when notice_id = $2 then 'queued' when random() < 0.01 then 'failed' else 'sent' end,
         'due', 'built_in', now() - interval '1 minute', 0, 0, now(), now()
       from notifications, unnest(array['in_app', 'push', 'email']) as t (channel) where tenant_id = $1`,
      [tenantId, noticeId],
    );
    await client.query(
      `insert into notices (tenant_id, id, category, title, body, i18n, data, is_critical, audience, status, recipients, created_at)
       select $1, uuidv7(), 'news', 'Title', 'Body', '{}', '{}', false, '{"everyone":true}', 'done', 1, now() from generate_series(1, 3000)`,
      [tenantId],
    );
    await client.query('vacuum analyze notices, notifications, notification_deliveries');
  });
}, 60_000);

type Plan = { 'Node Type': string; 'Relation Name'?: string; 'Index Name'?: string; Plans?: Plan[] };
const flatten = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flatten)];

/** The indexes that a statement goes by; it reads no deliveries without one. */
async function indexesOf({ text, values }: Query<unknown>, isPlatform = false): Promise<string[]> {
  const { database } = test.service.services;
  const query = { kind: 'read' as const, text: `explain (format json) ${text}`, values, prepare: false };
  const { interactive } = isPlatform ? database.platform() : database.tenant(tenantId);
  const [row] = await interactive.all<{ 'QUERY PLAN': { Plan: Plan }[] }>(query);
  const nodes = flatten(row!['QUERY PLAN'][0]!.Plan);
  const scanned = nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name']);
  expect(scanned).not.toContain('notification_deliveries');
  expect(scanned).not.toContain('notices');
  return [...new Set(nodes.flatMap((node) => node['Index Name'] ?? []))].filter((name) => !name.startsWith('tenants'));
}

describe('among many deliveries', () => {
  it('due deliveries are claimed by their index', async () => {
    const claiming = { tenantId, channel: 'email', claim: newId(), now, max: 8 } as const;
    expect(await indexesOf(claimDue(claiming))).toContain('notification_deliveries_due');
  });

  it('the next one due is found by an index', async () => {
    expect((await indexesOf(findNextDue({ tenantId, channel: 'email', now }))).toSorted()).toEqual([
      'notification_deliveries_due',
      'notification_deliveries_taken',
    ]);
  });

  it('channels with due deliveries are found without reading all pending ones', async () => {
    expect(await indexesOf(listWaiting({ now, max: 1000 }), true)).toContain('notification_deliveries_due');
    const rows = await test.service.services.database.platform().interactive.all(listWaiting({ now, max: 1000 }));
    const own = rows.filter((row) => row.tenant_id === tenantId).map(({ channel }) => channel);
    expect(own.toSorted()).toEqual(['email', 'in_app', 'push']);
  });

  it('deliveries of a notice are counted, and pending ones suppressed, by separate indexes', async () => {
    expect(await indexesOf(countDeliveries({ tenantId, id: noticeId }))).toEqual(['notification_deliveries_counts']);
    const suppressing = { tenantId, id: noticeId, after: nilId, max: 1000, at: now };
    expect(await indexesOf(suppressWaiting(suppressing))).toContain('notification_deliveries_waiting');
  });

  it.each<[Channel | undefined, DeliveryStatus | undefined, string]>([
    ['sms', undefined, 'notification_deliveries_channel'],
    [undefined, 'failed', 'notification_deliveries_status'],
  ])('the log of a channel (%s) or a status (%s) uses an index', async (channel, status, index) => {
    const filters = { noticeId: undefined, userId: undefined, channel, status };
    expect(await indexesOf(listDeliveries(tenantId, filters, { limit: 50, offset: 0 }))).toEqual([index]);
    await indexesOf(countMatching(tenantId, filters));
  });

  it('the next notice is found by the index of pending notices', async () => {
    expect(await indexesOf(lockNextNotice({ tenantId }))).toEqual(['notices_queued']);
  });
});
