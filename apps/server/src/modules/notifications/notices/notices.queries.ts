import { sql } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { databaseNow, fromNow } from '#core/data/db/lease';
import { nilId } from '#core/data/db/nil-id';
import { auditedWrite, lock, queryBuilder, read, toRead, write, type ReadStatement } from '#core/data/db/query';
import { tenantLock, type ById } from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';
import type { Recipient } from '#modules/notifications/notices/fan-out.rules';
import type { DeliveryRow, NoticeRow, NotificationTables } from '#modules/notifications/notifications.tables';

const builder = queryBuilder<NotificationTables>();
const resourceType = 'notice';

const isDue = sql<boolean>`due_at <= ${databaseNow}`;

const summaryColumns = [
  'tenant_id',
  'id',
  'client_key',
  'category',
  'title',
  'is_critical',
  'channels',
  'status',
  'created_by',
  'recipients',
  'created_at',
  'completed_at',
] as const;
const columns = [...summaryColumns, 'body', 'i18n', 'link', 'data', 'audience', 'last_user_id'] as const;

export type NoticeSummaryRow = Pick<NoticeRow, (typeof summaryColumns)[number]>;

/** Needs only the privilege to insert, so that it fits into any transaction of the tenant. */
export const insertNotice = write<NoticeRow, never>((p) => insertion(p));

export const insertSentNotice = auditedWrite<NoticeRow & AuditParams, NoticeRow>((p) =>
  withAudit<NoticeRow>(insertion(p).returning(columns), { action: 'notice.created', resourceType }, p),
);

function insertion(p: NoticeRow) {
  const row = Object.fromEntries(columns.map((name) => [name, p[name]])) as NoticeRow;
  return builder.insertInto('notices').values({ ...row, tenant_id: p.tenant_id });
}

/** Serialises the creation of notices in a tenant, for the key and the limit. */
export const lockNotices = tenantLock('notices');

export const countQueued = read<{ tenantId: string }, { total: number }>((p) =>
  builder
    .selectFrom('notices')
    .select(sql<number>`count(*)`.as('total'))
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`status = 'queued'`)
    .where('created_by', 'is not', null),
);

type Named = { tenantId: string; userIds: readonly string[]; groupIds: readonly string[] };

/** Number of ids without a user or group in the tenant. */
export const countUnknown = read<Named, { users: number; groups: number }>((p) =>
  builder.selectNoFrom([
    sql<number>`(select count(*) from unnest(${p.userIds}::uuid[]) as given (id) where not exists (
      select from users where users.tenant_id = ${p.tenantId} and users.id = given.id and users.status <> 'deleted'))`.as(
      'users',
    ),
    sql<number>`(select count(*) from unnest(${p.groupIds}::uuid[]) as given (id) where not exists (
      select from groups where groups.tenant_id = ${p.tenantId} and groups.id = given.id))`.as('groups'),
  ]),
);

export const findNoticeByKey = read<{ tenantId: string; key: string }, NoticeRow>((p) =>
  builder.selectFrom('notices').select(columns).where('tenant_id', '=', p.tenantId).where('client_key', '=', p.key),
);

/** Only notices of users: notifications of the service are private to their recipient. */
const sent = (p: { tenantId: string }) =>
  builder.selectFrom('notices').where('tenant_id', '=', p.tenantId).where('created_by', 'is not', null);

export const findNotice = read<ById, NoticeRow>((p) => sent(p).select(columns).where('id', '=', p.id));

export const lockNotice = lock<ById, NoticeRow>((p) => sent(p).select(columns).where('id', '=', p.id).forUpdate());

type Filters = { status: NoticeRow['status'] | undefined };

export function listNotices(
  tenantId: string,
  filters: Filters,
  { limit, offset }: { limit: number; offset: number },
): ReadStatement<NoticeSummaryRow> {
  return toRead(matching(tenantId, filters).select(summaryColumns).orderBy('id', 'desc').limit(limit).offset(offset));
}

export function countNotices(tenantId: string, filters: Filters): ReadStatement<{ total: number }> {
  return countMatches(matching(tenantId, filters).select('id'));
}

function matching(tenantId: string, { status }: Filters) {
  return sent({ tenantId }).$if(status !== undefined, (query) => query.where('status', '=', status!));
}

export const countDeliveries = read<ById, Pick<DeliveryRow, 'channel' | 'status'> & { count: number }>((p) =>
  builder
    .selectFrom('notification_deliveries')
    .select(['channel', 'status', sql<number>`count(*)`.as('count')])
    .where('tenant_id', '=', p.tenantId)
    .where('notice_id', '=', p.id)
    .groupBy(['channel', 'status']),
);

/** Suppresses waiting deliveries of a notice; attempts under way continue. */
export const suppressWaiting = write<ById & { after: string; max: number; at: string }, { id: string }>(
  (p) => sql`with waiting as materialized (
        select id from notification_deliveries
        where tenant_id = ${p.tenantId} and notice_id = ${p.id} and status = 'queued' and id > ${p.after}
        order by id limit ${p.max}
      )
      update notification_deliveries as delivery
      set status = 'suppressed', reason = 'cancelled', updated_at = ${p.at}::timestamptz
      from waiting where delivery.tenant_id = ${p.tenantId} and delivery.id = waiting.id and delivery.status = 'queued'
      returning delivery.id`,
);

export const cancelNotice = auditedWrite<{ id: string; at: string } & AuditParams, NoticeRow>((p) =>
  withAudit<NoticeRow>(
    builder
      .updateTable('notices')
      .set({ status: 'cancelled', completed_at: sql`coalesce(completed_at, ${p.at}::timestamptz)` })
      .where('tenant_id', '=', p.tenantId)
      .where('id', '=', p.id)
      .returning(columns),
    { action: 'notice.cancelled', resourceType },
    p,
  ),
);

/**
 * Locks the next notice until the end of the transaction, critical ones first. No row if other processes have all of them, or if
 * the tenant is suspended or deleted.
 */
export const lockNextNotice = lock<{ tenantId: string }, NoticeRow>((p) =>
  builder
    .selectFrom('notices')
    .select(columns)
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`status = 'queued'`)
    .where(isDue)
    .where(sql<boolean>`exists (select from tenants where tenants.id = ${p.tenantId} and tenants.status = 'active')`)
    .orderBy('is_critical', 'desc')
    .orderBy('due_at')
    .orderBy('id')
    .limit(1)
    .forUpdate()
    .skipLocked(),
);

/** The next active users of an audience, by id. */
export function listRecipients(notice: NoticeRow, max: number): ReadStatement<Recipient> {
  const { tenant_id: tenantId, audience, last_user_id: after } = notice;
  const people = builder
    .selectFrom('users')
    .select(['id', 'locale', 'timezone'])
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'active')
    .$if(after !== null, (query) => query.where('id', '>', after!))
    .orderBy('id')
    .limit(max);
  if ('everyone' in audience) return toRead(people);
  const { userIds = [], groupIds = [] } = audience;
  const given = sql<string>`(select id from unnest(${userIds}::uuid[]) as named (id) where id > ${after ?? nilId}
    union select user_id from group_members
    where tenant_id = ${tenantId} and group_id = any(${groupIds}::uuid[]) and user_id > ${after ?? nilId})`;
  return toRead(people.where('id', 'in', given));
}

type Told = {
  tenantId: string;
  noticeId: string;
  category: string;
  at: string;
  ids: readonly string[];
  userIds: readonly string[];
  languages: readonly (string | null)[];
  inboxAts: readonly (string | null)[];
};

export const insertNotifications = write<Told, never>(
  (p) => sql`insert into notifications (tenant_id, id, notice_id, user_id, category, language, created_at, inbox_at)
      select ${p.tenantId}::uuid, told.id, ${p.noticeId}::uuid, told.user_id, ${p.category}, told.language, ${p.at}::timestamptz,
        told.inbox_at
      from unnest(${p.ids}::uuid[], ${p.userIds}::uuid[], ${p.languages}::text[], ${p.inboxAts}::timestamptz[])
        as told (id, user_id, language, inbox_at)
      on conflict on constraint notifications_once do nothing`,
);

type Ways = {
  tenantId: string;
  noticeId: string;
  category: string;
  isCritical: boolean;
  at: string;
  ids: readonly string[];
  userIds: readonly string[];
  channels: readonly string[];
  statuses: readonly string[];
  reasons: readonly string[];
  layers: readonly string[];
  preferenceIds: readonly (string | null)[];
  dueAts: readonly string[];
  sentAts: readonly (string | null)[];
};

export const insertDeliveries = write<Ways, never>(
  (
    p,
  ) => sql`insert into notification_deliveries (tenant_id, id, notification_id, notice_id, user_id, category, is_critical, channel,
        status, reason, layer, preference_id, due_at, attempts, interruptions, created_at, updated_at, sent_at)
      select ${p.tenantId}::uuid, way.id, notifications.id, ${p.noticeId}::uuid, way.user_id, ${p.category}, ${p.isCritical}::boolean,
        way.channel, way.status, way.reason, way.layer, way.preference_id, way.due_at, 0, 0, ${p.at}::timestamptz,
        ${p.at}::timestamptz, way.sent_at
      from unnest(${p.ids}::uuid[], ${p.userIds}::uuid[], ${p.channels}::text[], ${p.statuses}::text[], ${p.reasons}::text[],
          ${p.layers}::text[], ${p.preferenceIds}::uuid[], ${p.dueAts}::timestamptz[], ${p.sentAts}::timestamptz[])
        as way (id, user_id, channel, status, reason, layer, preference_id, due_at, sent_at)
      join notifications on notifications.tenant_id = ${p.tenantId}::uuid and notifications.notice_id = ${p.noticeId}::uuid
        and notifications.user_id = way.user_id
      on conflict on constraint notification_deliveries_once do nothing`,
);

type Progress = ById & {
  lastUserId: string | null;
  more: number;
  status: NoticeRow['status'];
  completedAt: string | null;
};

export const advanceNotice = write<Progress, never>((p) =>
  builder
    .updateTable('notices')
    .set({
      last_user_id: p.lastUserId,
      recipients: sql`recipients + ${p.more}::integer`,
      attempts: 0,
      due_at: databaseNow,
      status: p.status,
      completed_at: p.completedAt,
    })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id),
);

type Failing = ById & { pausesMs: readonly number[]; at: string };

/** Postpones a notice with growing backoff; it fails after the last pause. */
export const putOffNotice = write<Failing, Pick<NoticeRow, 'status'>>((p) => {
  const pause = sql`(${p.pausesMs}::float8[])[attempts + 1]`;
  return sql`update notices set attempts = attempts + 1,
        due_at = ${fromNow(sql`coalesce(${pause}, 0)`)},
        status = case when ${pause} is null then 'failed' else 'queued' end,
        completed_at = case when ${pause} is null then ${p.at}::timestamptz end
      where tenant_id = ${p.tenantId} and id = ${p.id} and status = 'queued'
      returning status`;
});

/** Active tenants with unfinished notices. */
export const listTenantsWithQueued = read<{ max: number }, { id: string }>((p) =>
  builder
    .selectFrom('tenants')
    .select('id')
    .where('status', '=', 'active')
    .where(
      sql<boolean>`exists (select from notices
        where notices.tenant_id = tenants.id and notices.status = 'queued' and ${isDue})`,
    )
    .limit(p.max),
);

/** Tenants with records beyond their retention. */
export const listTenantsWithOld = read<{ before: string; max: number }, { id: string }>((p) =>
  builder
    .selectFrom('tenants')
    .select('id')
    .where(
      sql<boolean>`exists (select from notices where notices.tenant_id = tenants.id and notices.completed_at < ${p.before})`,
    )
    .limit(p.max),
);

type Old = { tenantId: string; before: string; max: number };

export const deleteOldDeliveries = write<Old, { id: string }>((p) =>
  builder
    .deleteFrom('notification_deliveries')
    .where('tenant_id', '=', p.tenantId)
    .where('id', 'in', (db) =>
      db
        .selectFrom('notification_deliveries as row')
        .innerJoin('notices', (join) =>
          join.onRef('notices.tenant_id', '=', 'row.tenant_id').onRef('notices.id', '=', 'row.notice_id'),
        )
        .select('row.id')
        .where('row.tenant_id', '=', p.tenantId)
        .where('notices.tenant_id', '=', p.tenantId)
        .where('notices.completed_at', '<', p.before)
        .limit(p.max),
    )
    .returning('id'),
);

export const deleteOldNotifications = write<Old, { id: string }>((p) =>
  builder
    .deleteFrom('notifications')
    .where('tenant_id', '=', p.tenantId)
    .where('id', 'in', (db) =>
      db
        .selectFrom('notifications as row')
        .innerJoin('notices', (join) =>
          join.onRef('notices.tenant_id', '=', 'row.tenant_id').onRef('notices.id', '=', 'row.notice_id'),
        )
        .select('row.id')
        .where('row.tenant_id', '=', p.tenantId)
        .where('notices.tenant_id', '=', p.tenantId)
        .where('notices.completed_at', '<', p.before)
        .limit(p.max),
    )
    .returning('id'),
);

export const deleteOldNotices = write<Old, { id: string }>((p) =>
  builder
    .deleteFrom('notices')
    .where('tenant_id', '=', p.tenantId)
    .where('id', 'in', (db) =>
      db
        .selectFrom('notices')
        .select('id')
        .where('tenant_id', '=', p.tenantId)
        .where('completed_at', '<', p.before)
        .limit(p.max),
    )
    .returning('id'),
);
