import { sql, type RawBuilder } from 'kysely';

import { databaseNow, fromNow, isLeaseOver } from '#core/data/db/lease';
import { queryBuilder, read, toRead, write, type ReadStatement } from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';
import type {
  DeliveryRow,
  NoticeRow,
  NotificationRow,
  NotificationTables,
  PersonRow,
} from '#modules/notifications/notifications.tables';
import type { Channel, DeliveryStatus, OfChannel } from '#modules/notifications/notifications.types';

const builder = queryBuilder<NotificationTables>();

const columns = [
  'tenant_id',
  'id',
  'notification_id',
  'notice_id',
  'user_id',
  'category',
  'is_critical',
  'channel',
  'status',
  'reason',
  'layer',
  'preference_id',
  'due_at',
  'attempts',
  'interruptions',
  'claim',
  'lease_until',
  'created_at',
  'updated_at',
  'sent_at',
] as const;

/** Lease of claimed deliveries; after that, other processes claim them. */
export const leaseMs = 90_000;

/**
 * Claims due deliveries, critical ones first, and those with an expired lease. Deliveries of a suspended or deleted tenant
 * wait until the tenant is active again.
 */
export const claimDue = write<OfChannel & { claim: string; now: string; max: number }, DeliveryRow>(
  (p) => sql`with due as materialized (
        select id, status from notification_deliveries
        where tenant_id = ${p.tenantId} and channel = ${p.channel} and status in ('queued', 'sending')
          and due_at <= ${p.now}::timestamptz and (status = 'queued' or ${isLeaseOver})
          and exists (select from tenants where tenants.id = ${p.tenantId} and tenants.status = 'active')
        order by is_critical desc, due_at limit ${p.max} for update skip locked
      )
      update notification_deliveries as delivery set status = 'sending', reason = 'due', attempts = delivery.attempts + 1,
        interruptions = delivery.interruptions + (due.status = 'sending')::integer, claim = ${p.claim}::uuid,
        lease_until = ${fromNow(leaseMs)}, updated_at = ${p.now}::timestamptz
      from due where delivery.tenant_id = ${p.tenantId} and delivery.id = due.id
      returning ${sql.join(columns.map((name) => sql.ref(`delivery.${name}`)))}`,
);

/**
 * Time of the next due delivery or the next expiring lease; null without one. Never a time in the past: a task for an expired
 * lease that must not be claimed yet would repeat itself without a pause. The sweep finds expired leases.
 */
export const findNextDue = read<OfChannel & { now: string }, { at: string | null }>((p) => {
  const waiting = (isCritical: RawBuilder<boolean>) => sql`(select due_at as at from notification_deliveries
    where tenant_id = ${p.tenantId} and channel = ${p.channel} and is_critical = ${isCritical}
      and due_at > ${p.now}::timestamptz and status = 'queued' order by due_at limit 1)`;
  return sql`select min(at) as at from (${waiting(sql`true`)} union all ${waiting(sql`false`)} union all
        (select lease_until as at from notification_deliveries
         where tenant_id = ${p.tenantId} and channel = ${p.channel} and status = 'sending'
           and lease_until > ${databaseNow} order by lease_until limit 1)) as coming`;
});

type ByIds = { tenantId: string; ids: readonly string[] };

export const listPeople = read<ByIds, PersonRow>((p) =>
  builder
    .selectFrom('users')
    .select(['tenant_id', 'id', 'email', 'display_name', 'locale', 'phone', 'timezone', 'status'])
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`id = any(${p.ids}::uuid[])`),
);

export type NoticeFacts = Pick<NoticeRow, 'id' | 'title' | 'body' | 'i18n' | 'link' | 'data' | 'status'>;

export const listNotices = read<ByIds, NoticeFacts>((p) =>
  builder
    .selectFrom('notices')
    .select(['id', 'title', 'body', 'i18n', 'link', 'data', 'status'])
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`id = any(${p.ids}::uuid[])`),
);

/** Looked up one by one: without statistics, PostgreSQL would read all rows of the tenant. */
export const listLanguages = read<ByIds, Pick<NotificationRow, 'id' | 'language'>>(
  (p) => sql`select found.id, found.language from unnest(${p.ids}::uuid[]) as given (id) cross join lateral (
        select id, language from notifications where tenant_id = ${p.tenantId} and id = given.id limit 1
      ) as found`,
);

type Settling = {
  tenantId: string;
  claim: string;
  at: string;
  ids: readonly string[];
  statuses: readonly string[];
  reasons: readonly string[];
  layers: readonly string[];
  preferenceIds: readonly (string | null)[];
  dueAts: readonly string[];
  attempts: readonly number[];
  interruptions: readonly number[];
};

/**
 * Writes the outcomes of deliveries that are still under the claim, and adds inbox entries. Rows are looked up one by one,
 * too.
 */
export const settleDeliveries = write<Settling, never>(
  (p) => sql`with given as materialized (
        select given.*, found.ctid as place from unnest(${p.ids}::uuid[], ${p.statuses}::text[], ${p.reasons}::text[],
            ${p.layers}::text[], ${p.preferenceIds}::uuid[], ${p.dueAts}::timestamptz[], ${p.attempts}::integer[],
            ${p.interruptions}::integer[])
          as given (id, status, reason, layer, preference_id, due_at, attempts, interruptions)
        cross join lateral (
          select ctid from notification_deliveries
          where tenant_id = ${p.tenantId} and id = given.id and claim = ${p.claim}::uuid limit 1 for update
        ) as found
      ), settled as (
        update notification_deliveries as delivery set status = given.status, reason = given.reason, layer = given.layer,
          preference_id = given.preference_id, due_at = given.due_at, attempts = given.attempts,
          interruptions = given.interruptions, claim = null, lease_until = null, updated_at = ${p.at}::timestamptz,
          sent_at = case when given.status = 'sent' then ${p.at}::timestamptz end
        from given where delivery.tenant_id = ${p.tenantId} and delivery.ctid = given.place
        returning delivery.notification_id, delivery.channel, delivery.status
      )
      update notifications set inbox_at = ${p.at}::timestamptz from settled
      where notifications.tenant_id = ${p.tenantId} and notifications.id = settled.notification_id
        and settled.channel = 'in_app' and settled.status = 'sent' and notifications.inbox_at is null`,
);

/**
 * Channels of all active tenants with due deliveries or expired leases. It skips from channel to channel in an index,
 * independent of the number of deliveries.
 */
export const listWaiting = read<{ now: string; max: number }, { tenant_id: string; channel: Channel }>((p) => {
  const due = (isCritical: RawBuilder<boolean>) => sql`exists (select from notification_deliveries
    where tenant_id = way.tenant_id and channel = way.channel and is_critical = ${isCritical} and status = 'queued'
      and due_at <= ${p.now}::timestamptz)`;
  return sql`with recursive way as (
          (select tenant_id, channel from notification_deliveries where status in ('queued', 'sending')
           order by tenant_id, channel limit 1)
          union all
          select next.tenant_id, next.channel from way cross join lateral (
            select tenant_id, channel from notification_deliveries
            where status in ('queued', 'sending') and (tenant_id, channel) > (way.tenant_id, way.channel)
            order by tenant_id, channel limit 1
          ) as next
        )
        select tenant_id, channel from way
        where exists (select from tenants where tenants.id = way.tenant_id and tenants.status = 'active')
          and (${due(sql`true`)} or ${due(sql`false`)} or exists (select from notification_deliveries
            where tenant_id = way.tenant_id and channel = way.channel and status = 'sending' and ${isLeaseOver}))
        limit ${p.max}`;
});

type DeliveryFilters = {
  noticeId: string | undefined;
  userId: string | undefined;
  channel: Channel | undefined;
  status: DeliveryStatus | undefined;
};

type Page = { limit: number; offset: number };

/** Newest first. */
export function listDeliveries(tenantId: string, filters: DeliveryFilters, page: Page): ReadStatement<DeliveryRow> {
  const rows = matching(tenantId, filters).select(columns).orderBy('id', 'desc');
  return toRead(rows.limit(page.limit).offset(page.offset));
}

export function countDeliveries(tenantId: string, filters: DeliveryFilters): ReadStatement<{ total: number }> {
  return countMatches(matching(tenantId, filters).select('id'));
}

function matching(tenantId: string, { noticeId, userId, channel, status }: DeliveryFilters) {
  return builder
    .selectFrom('notification_deliveries')
    .where('tenant_id', '=', tenantId)
    .$if(noticeId !== undefined, (query) => query.where('notice_id', '=', noticeId!))
    .$if(userId !== undefined, (query) => query.where('user_id', '=', userId!))
    .$if(channel !== undefined, (query) => query.where('channel', '=', channel!))
    .$if(status !== undefined, (query) => query.where('status', '=', status!));
}

export const findOwnNotification = read<{ tenantId: string; userId: string; id: string }, { id: string }>((p) =>
  builder
    .selectFrom('notifications')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('user_id', '=', p.userId),
);

/** Deliveries of a notification. */
export const listDeliveriesOf = read<{ tenantId: string; id: string }, DeliveryRow>((p) =>
  builder
    .selectFrom('notification_deliveries')
    .select(columns)
    .where('tenant_id', '=', p.tenantId)
    .where('notification_id', '=', p.id)
    .orderBy('channel'),
);
