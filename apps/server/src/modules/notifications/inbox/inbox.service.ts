import type { Actor, Person } from '#core/base/access/principal';
import type { TenantDb } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import { NotificationNotFound } from '#modules/notifications/deliveries/deliveries.errors';
import {
  countInbox,
  countUnread,
  dismissNotification,
  listInbox,
  markAllRead,
  markNotification,
  type InboxRow,
} from '#modules/notifications/inbox/inbox.queries';
import type { ListInboxQuery, ReadAllBody } from '#modules/notifications/inbox/inbox.schemas';
import { textsIn } from '#modules/notifications/notices/fan-out.rules';

/** A user who acts for another tenant has an inbox only in the home tenant. */
type Scope = { services: Pick<Services, 'database' | 'now'>; actor: Actor<Person> };

/** Batch size of one statement. */
const maxRead = 5000;

/** Newest first. */
export async function listNotifications(
  { setHeader, ...scope }: Scope & { setHeader: SetHeader },
  { limit = 50, offset = 0, unread, category }: ListInboxQuery,
) {
  const { db, by } = atHome(scope);
  const page = { limit, offset };
  const filters = { unread, category };
  const { rows, ...total } = await pageOfMatches(db, listInbox(by, filters, page), countInbox(by, filters), page);
  return toPage(rows.map(presentNotification), page, total, setHeader);
}

export async function getUnreadCount(scope: Scope) {
  const { db, by } = atHome(scope);
  return { data: (await db.first(countUnread(by)))! };
}

/** Idempotent. @throws NotificationNotFound */
export async function markRead(scope: Scope, id: string) {
  return mark(scope, id, scope.services.now().toISOString());
}

/** @throws NotificationNotFound */
export async function markUnread(scope: Scope, id: string) {
  return mark(scope, id, null);
}

/** Notifications that arrive in the meantime stay unread. */
export async function readAll({ signal, ...scope }: Scope & { signal: AbortSignal }, body: ReadAllBody) {
  const { db, by } = atHome(scope);
  const at = scope.services.now().toISOString();
  // RFC 3339 allows lower case, which not every parser accepts.
  const before = body?.before === undefined ? at : new Date(body.before.toUpperCase()).toISOString();
  let read = 0;
  for (;;) {
    signal.throwIfAborted();
    const { length } = await db.interactive.all(markAllRead({ ...by, before, at, max: maxRead }));
    read += length;
    if (length < maxRead) return { data: { read } };
  }
}

/** Removes it from the inbox; its deliveries stay on record. @throws NotificationNotFound */
export async function dismiss(scope: Scope, id: string): Promise<void> {
  const { db, by } = atHome(scope);
  const at = scope.services.now().toISOString();
  if ((await db.interactive.first(dismissNotification({ ...by, id, at }))) === undefined) throw NotificationNotFound();
}

async function mark(scope: Scope, id: string, readAt: string | null) {
  const { db, by } = atHome(scope);
  const row = await db.interactive.first(markNotification({ ...by, id, readAt }));
  if (row === undefined) throw NotificationNotFound();
  return { data: presentNotification(row) };
}

function atHome({ services, actor }: Scope): { db: TenantDb; by: { tenantId: string; userId: string } } {
  const { homeTenantId: tenantId, userId } = actor;
  return { db: services.database.tenant(tenantId), by: { tenantId, userId } };
}

function presentNotification(row: InboxRow) {
  return {
    id: row.id,
    category: row.category,
    ...textsIn(row.language, row),
    link: row.link,
    data: row.data,
    isCritical: row.is_critical,
    createdAt: row.inbox_at,
    readAt: row.read_at,
  };
}
