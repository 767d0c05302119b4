import type { Actor, Person } from '#core/base/access/principal';
import type { TenantDb } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { toPage, type SetHeader } from '#core/http/paging';
import { NotificationNotFound } from '#modules/notifications/deliveries/deliveries.errors';
import {
  countDeliveries,
  findOwnNotification,
  listDeliveries,
  listDeliveriesOf,
} from '#modules/notifications/deliveries/deliveries.queries';
import type { ListDeliveriesQuery } from '#modules/notifications/deliveries/deliveries.schemas';
import { sentenceOf } from '#modules/notifications/deliveries/explanation.rules';
import type { DeliveryRow } from '#modules/notifications/notifications.tables';

/** Lists deliveries of the tenant with status and reason, newest first. */
export async function listAllDeliveries(
  { db, setHeader }: { db: TenantDb; setHeader: SetHeader },
  { limit = 50, offset = 0, noticeId, userId, channel, status }: ListDeliveriesQuery,
) {
  const { tenantId } = db;
  const filters = { noticeId, userId, channel, status };
  const page = { limit, offset };
  const { rows, ...total } = await pageOfMatches(
    db,
    listDeliveries(tenantId, filters, page),
    countDeliveries(tenantId, filters),
    page,
  );
  return toPage(rows.map(presentDelivery), page, total, setHeader);
}

/** Lists the deliveries of a notification of the caller. @throws NotificationNotFound */
export async function listOwnDeliveries({ db, actor }: { db: TenantDb; actor: Actor<Person> }, id: string) {
  const { tenantId } = db;
  const [[own], rows] = await db.batch([
    findOwnNotification({ tenantId, userId: actor.userId, id }),
    listDeliveriesOf({ tenantId, id }),
  ]);
  if (own === undefined) throw NotificationNotFound();
  return { data: rows.map(presentDelivery) };
}

function presentDelivery(row: DeliveryRow) {
  return {
    id: row.id,
    noticeId: row.notice_id,
    notificationId: row.notification_id,
    userId: row.user_id,
    category: row.category,
    isCritical: row.is_critical,
    channel: row.channel,
    status: row.status,
    reason: row.reason,
    because: sentenceOf(row),
    layer: row.layer,
    preferenceId: row.preference_id,
    dueAt: row.due_at,
    attempts: row.attempts,
    interruptions: row.interruptions,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    sentAt: row.sent_at,
  };
}
