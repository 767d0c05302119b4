import { sql, type SelectQueryBuilder } from 'kysely';

import { queryBuilder, read, toRead, write, type Built, type ReadStatement } from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';
import type { NoticeRow, NotificationRow, NotificationTables } from '#modules/notifications/notifications.tables';

const builder = queryBuilder<NotificationTables>();

type ByPerson = { tenantId: string; userId: string };
type ById = ByPerson & { id: string };

/** A notification in an inbox with its notice. */
export type InboxRow = Pick<NotificationRow, 'id' | 'category' | 'language' | 'read_at'> &
  Pick<NoticeRow, 'title' | 'body' | 'i18n' | 'link' | 'data' | 'is_critical'> & { inbox_at: string };

type Filters = { unread: boolean | undefined; category: string | undefined };

const fromNotification = ['n.id', 'n.category', 'n.language', 'n.inbox_at', 'n.read_at'] as const;
const fromNotice = [
  'notice.title',
  'notice.body',
  'notice.i18n',
  'notice.link',
  'notice.data',
  'notice.is_critical',
] as const;

/** Newest first. */
export function listInbox(
  by: ByPerson,
  filters: Filters,
  { limit, offset }: { limit: number; offset: number },
): ReadStatement<InboxRow> {
  const page = filtered(by, filters)
    .select(['id', 'notice_id', 'category', 'language', 'inbox_at', 'read_at'])
    .orderBy('inbox_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset);
  const rows = builder
    .selectFrom(page.as('n'))
    .innerJoin('notices as notice', 'notice.id', 'n.notice_id')
    .select(fromNotification)
    .select(fromNotice)
    .where('notice.tenant_id', '=', by.tenantId)
    .orderBy('n.inbox_at', 'desc')
    .orderBy('n.id', 'desc');
  return toRead(rows as unknown as Built<InboxRow>);
}

export function countInbox(by: ByPerson, filters: Filters): ReadStatement<{ total: number }> {
  return countMatches(filtered(by, filters).select('id'));
}

function filtered(
  { tenantId, userId }: ByPerson,
  { unread, category }: Filters,
): SelectQueryBuilder<NotificationTables, 'notifications', object> {
  let rows: SelectQueryBuilder<NotificationTables, 'notifications', object> = builder
    .selectFrom('notifications')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .where('inbox_at', 'is not', null)
    .where('dismissed_at', 'is', null);
  if (unread !== undefined) rows = rows.where('read_at', unread ? 'is' : 'is not', null);
  if (category?.endsWith('.*')) rows = rows.where(sql<boolean>`starts_with(category, ${category.slice(0, -1)})`);
  else if (category !== undefined && category !== '*') rows = rows.where('category', '=', category);
  return rows;
}

export const countUnread = read<ByPerson, { unread: number }>((p) =>
  builder
    .selectFrom('notifications')
    .select(sql<number>`count(*)`.as('unread'))
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', '=', p.userId)
    .where('inbox_at', 'is not', null)
    .where('read_at', 'is', null)
    .where('dismissed_at', 'is', null),
);

/** `readAt` null marks it unread; a notification that is already read keeps its time. */
export const markNotification = write<ById & { readAt: string | null }, InboxRow>(
  (p) =>
    builder
      .updateTable('notifications as n')
      .from('notices as notice')
      .set({
        read_at: sql<
          string | null
        >`case when ${p.readAt}::timestamptz is not null then coalesce(n.read_at, ${p.readAt}::timestamptz) end`,
      })
      .where('n.tenant_id', '=', p.tenantId)
      .where('n.user_id', '=', p.userId)
      .where('n.id', '=', p.id)
      .where('n.inbox_at', 'is not', null)
      .where('n.dismissed_at', 'is', null)
      .where('notice.tenant_id', '=', p.tenantId)
      .whereRef('notice.id', '=', 'n.notice_id')
      .returning(fromNotification)
      .returning(fromNotice) as unknown as Built<InboxRow>,
);

/** Locked in one order, so that two requests of a user cannot deadlock. */
export const markAllRead = write<ByPerson & { before: string; at: string; max: number }, { id: string }>((p) => {
  const unread = builder
    .selectFrom('notifications')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', '=', p.userId)
    .where('inbox_at', '<=', p.before)
    .where('inbox_at', 'is not', null)
    .where('read_at', 'is', null)
    .where('dismissed_at', 'is', null)
    .orderBy('inbox_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.max)
    .forNoKeyUpdate();
  return builder
    .with('unread', () => unread)
    .updateTable('notifications')
    .set({ read_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', 'in', (db) => db.selectFrom('unread').select('id'))
    .where('read_at', 'is', null)
    .returning('id');
});

export const dismissNotification = write<ById & { at: string }, { id: string }>((p) =>
  builder
    .updateTable('notifications')
    .set({ dismissed_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', '=', p.userId)
    .where('id', '=', p.id)
    .where('inbox_at', 'is not', null)
    .where('dismissed_at', 'is', null)
    .returning('id'),
);
