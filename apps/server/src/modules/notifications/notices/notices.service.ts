import { isDeepStrictEqual } from 'node:util';

import type { Actor, Person } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import { nilId } from '#core/data/db/nil-id';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import {
  AmbiguousAudience,
  CategoryReserved,
  NoticeEnded,
  NoticeKeyTaken,
  NoticeNotFound,
  TooManyNotices,
  UnknownAudience,
} from '#modules/notifications/notices/notices.errors';
import {
  cancelNotice,
  countDeliveries,
  countNotices,
  countQueued,
  countUnknown,
  findNotice,
  findNoticeByKey,
  insertSentNotice,
  listNotices,
  lockNotice,
  lockNotices,
  suppressWaiting,
  type NoticeSummaryRow,
} from '#modules/notifications/notices/notices.queries';
import type { CreateNoticeBody, ListNoticesQuery } from '#modules/notifications/notices/notices.schemas';
import { wakeNotices } from '#modules/notifications/notices/wake';
import type { NoticeRow } from '#modules/notifications/notifications.tables';
import { channels, deliveryStatuses, type Audience } from '#modules/notifications/notifications.types';

type Scope = { services: Pick<Services, 'log' | 'now' | 'queue'>; db: TenantDb; actor: Actor<Person> };

/** Maximum number of unfinished notices of a tenant. */
const maxQueued = 20;
const suppressedAtOnce = 1000;
/** Limit of immediate suppression; further deliveries are suppressed when they are due. */
const maxSuppressedBatches = 50;

/**
 * Creates a notice; the fan-out follows in the background. An equal notice with the same key is returned unchanged.
 * @throws CategoryReserved, AmbiguousAudience, UnknownAudience, TooManyNotices, NoticeKeyTaken
 */
export async function createNotice({ services, db, actor }: Scope, body: CreateNoticeBody) {
  // Senders must not impersonate the service.
  if (/^\s*security(\.|\s*$)/i.test(body.category)) throw CategoryReserved();
  const { tenantId } = db;
  const at = services.now().toISOString();
  const row = toRow(body, { tenantId, userId: actor.userId, at });
  const details = { audience: describeAudience(row.audience) };
  const notice = await db.transaction(async (tx) => {
    await tx.all(lockNotices({ tenantId }));
    const earlier = await findEarlier(tx, row);
    if (earlier !== undefined) return earlier;
    if ((await tx.first(countQueued({ tenantId })))!.total >= maxQueued) throw TooManyNotices();
    await assertKnown(tx, row);
    return (await tx.first(insertSentNotice({ ...row, ...auditParams(actor, at, details) })))!;
  });
  await wakeNotices(services, tenantId);
  return { data: presentNotice(notice) };
}

function toRow(body: CreateNoticeBody, by: { tenantId: string; userId: string; at: string }): NoticeRow {
  return {
    tenant_id: by.tenantId,
    id: newId(),
    client_key: body.key ?? null,
    category: body.category,
    title: body.title,
    body: body.body,
    i18n: body.i18n ?? {},
    link: body.link ?? null,
    data: body.data ?? {},
    is_critical: body.isCritical ?? false,
    channels: body.channels === undefined ? null : channels.filter((channel) => body.channels!.includes(channel)),
    audience: toAudience(body.audience),
    status: 'queued',
    created_by: by.userId,
    last_user_id: null,
    recipients: 0,
    created_at: by.at,
    completed_at: null,
  };
}

function toAudience({ everyone, userIds, groupIds }: CreateNoticeBody['audience']): Audience {
  if (everyone === true) {
    if (userIds !== undefined || groupIds !== undefined) throw AmbiguousAudience();
    return { everyone };
  }
  return {
    ...(userIds === undefined ? {} : { userIds: distinct(userIds) }),
    ...(groupIds === undefined ? {} : { groupIds: distinct(groupIds) }),
  };
}

const distinct = (ids: readonly string[]) => [...new Set(ids.map((id) => id.toLowerCase()))].toSorted();

function describeAudience(audience: Audience): Record<string, unknown> {
  if ('everyone' in audience) return audience;
  return { users: audience.userIds?.length ?? 0, groups: audience.groupIds?.length ?? 0 };
}

const content = ['category', 'title', 'body', 'i18n', 'link', 'data', 'is_critical', 'channels', 'audience'] as const;

async function findEarlier(tx: Transaction, row: NoticeRow): Promise<NoticeRow | undefined> {
  if (row.client_key === null) return undefined;
  const earlier = await tx.first(findNoticeByKey({ tenantId: row.tenant_id, key: row.client_key }));
  if (earlier === undefined) return undefined;
  if (!content.every((name) => isDeepStrictEqual(earlier[name], row[name]))) throw NoticeKeyTaken();
  return earlier;
}

async function assertKnown(tx: Transaction, { tenant_id: tenantId, audience }: NoticeRow): Promise<void> {
  if ('everyone' in audience) return;
  const { userIds = [], groupIds = [] } = audience;
  const { users, groups } = (await tx.first(countUnknown({ tenantId, userIds, groupIds })))!;
  if (users + groups > 0) throw UnknownAudience({ details: { unknownUsers: users, unknownGroups: groups } });
}

/** Notices of users, newest first. */
export async function listSentNotices(
  { db, setHeader }: { db: TenantDb; setHeader: SetHeader },
  { limit = 50, offset = 0, status }: ListNoticesQuery,
) {
  const { tenantId } = db;
  const page = { limit, offset };
  const { rows, ...total } = await pageOfMatches(
    db,
    listNotices(tenantId, { status }, page),
    countNotices(tenantId, { status }),
    page,
  );
  return toPage(rows.map(presentSummary), page, total, setHeader);
}

/** Includes current delivery counts. @throws NoticeNotFound */
export async function getNotice(db: TenantDb, id: string) {
  const { tenantId } = db;
  const [[notice], counts] = await db.interactive.batch([
    findNotice({ tenantId, id }),
    countDeliveries({ tenantId, id }),
  ]);
  if (notice === undefined) throw NoticeNotFound();
  const none = Object.fromEntries(deliveryStatuses.map((status) => [status, 0]));
  const deliveries = Object.fromEntries(
    channels.map((channel) => {
      const own = counts.filter((each) => each.channel === channel);
      return [channel, { ...none, ...Object.fromEntries(own.map(({ status, count }) => [status, count])) }];
    }),
  );
  return { data: { ...presentNotice(notice), deliveries } };
}

/** Suppresses all deliveries that were not sent. @throws NoticeNotFound, NoticeEnded */
export async function cancelSentNotice({ services, db, actor }: Scope, id: string) {
  const { tenantId } = db;
  const at = services.now().toISOString();
  const { notice, last } = await db.transaction(async (tx) => {
    // Waits for a batch of the fan-out that holds the lock.
    const found = await tx.first(lockNotice({ tenantId, id }));
    if (found === undefined) throw NoticeNotFound();
    const suppressed = await tx.all(suppressWaiting({ tenantId, id, after: nilId, max: suppressedAtOnce, at }));
    if (found.status !== 'queued' && suppressed.length === 0) throw NoticeEnded();
    const cancelled = await tx.first(cancelNotice({ id, at, ...auditParams(actor, at) }));
    return { notice: cancelled!, last: lastOf(suppressed) };
  });
  await suppressRest(db, { id, at, after: last });
  return { data: presentNotice(notice) };
}

async function suppressRest(db: TenantDb, { id, at, after }: { id: string; at: string; after: string | undefined }) {
  const { tenantId } = db;
  let last = after;
  for (let count = 1; count < maxSuppressedBatches && last !== undefined; count++) {
    last = lastOf(await db.interactive.all(suppressWaiting({ tenantId, id, after: last, max: suppressedAtOnce, at })));
  }
}

/** The last id, after which there may be more rows; undefined if there are no more. */
function lastOf(rows: readonly { id: string }[]): string | undefined {
  if (rows.length < suppressedAtOnce) return undefined;
  return rows.map(({ id }) => id).reduce((highest, id) => (id > highest ? id : highest));
}

function presentSummary(row: NoticeSummaryRow) {
  return {
    id: row.id,
    key: row.client_key,
    category: row.category,
    title: row.title,
    isCritical: row.is_critical,
    channels: row.channels,
    status: row.status,
    createdBy: row.created_by,
    recipients: row.recipients,
    createdAt: row.created_at,
    completedAt: row.completed_at,
  };
}

function presentNotice(row: NoticeRow) {
  const { body, i18n, link, data, audience } = row;
  return { ...presentSummary(row), body, i18n, link, data, audience };
}
