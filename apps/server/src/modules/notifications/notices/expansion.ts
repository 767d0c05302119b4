import { setImmediate } from 'node:timers/promises';

import { restAfter } from '#core/background/rest';
import { newId } from '#core/crypto/ids';
import type { Transaction } from '#core/db/scopes';
import { isUnavailable } from '#core/db/sql-state';
import type { Work } from '#core/queue/work';
import type { Services } from '#core/services';
import { sendDeliveries, sendDeliveriesLater } from '#modules/notifications/deliveries/pieces';
import {
  advanceNotice,
  insertDeliveries,
  insertNotifications,
  listRecipients,
  lockNextNotice,
  putOffNotice,
} from '#modules/notifications/notices/notices.queries';
import type { Recipient } from '#modules/notifications/notices/notices.types';
import { teller, type Telling } from '#modules/notifications/notices/telling.rules';
import { noticesWork, wakeNotices, type OfTenant } from '#modules/notifications/notices/wake';
import type { NoticeRow } from '#modules/notifications/notifications.tables';
import type { Channel } from '#modules/notifications/notifications.types';
import { patternsOf } from '#modules/notifications/preferences/decision.rules';
import { listDefaults, listOverridesOf } from '#modules/notifications/preferences/preferences.queries';
import { createTurns } from '#modules/notifications/turns';

/** How many people are told with one transaction: more would keep the database to themselves for longer than others notice. */
export const batchSize = 40;
/** After so many another tenant gets its turn. */
export const batchesInRow = 15;

/** After each attempt to tell some of its people that failed, but the last. */
const pauseMinutes = [1, 5, 15, 60];
/** How many people are decided about before others get at the processor. */
const decidedInRow = 20;

/** Makes of each notice what its people get: a notification for each of them, and a delivery for each channel. */
export function tellNotices(): Work<OfTenant> {
  const turns = createTurns();
  return {
    name: noticesWork,
    concurrency: 2,
    attempts: 5,
    backoff: { firstSeconds: 2, mostSeconds: 300 },
    timeoutMs: 10 * 60_000,
    async run({ services, data: { tenantId }, signal }) {
      // However much one tenant has to tell, another one is told beside it.
      const isLeft = await turns.take(tenantId, signal, () => takeTurn(services, tenantId, signal));
      if (isLeft === true) await wakeNotices(services, tenantId);
    },
  };
}

/** @returns whether there may be something left. */
async function takeTurn(services: Services, tenantId: string, signal: AbortSignal): Promise<boolean> {
  for (let count = 0; count < batchesInRow; count++) {
    signal.throwIfAborted();
    const startedAt = performance.now();
    const batch = await tellBatch(services, tenantId);
    if (batch === undefined) return false;
    await sendOn(services, tenantId, batch);
    await restAfter(startedAt);
  }
  return true;
}

/** The channels that something is due on, and when the first of those is that wait. */
type Batch = { due: ReadonlySet<Channel>; later: ReadonlyMap<Channel, string> };

/** The next people of the notice whose turn it is; undefined where there is nothing to do, or others do it. */
async function tellBatch(services: Services, tenantId: string): Promise<Batch | undefined> {
  const db = services.database.tenant(tenantId);
  let notice: NoticeRow | undefined;
  try {
    return await db.transaction(async (tx) => {
      notice = await tx.first(lockNextNotice({ tenantId }));
      return notice && tellNext(tx, notice, services);
    });
  } catch (error) {
    if (notice === undefined || isUnavailable(error)) throw error;
    await putOff(services, notice, error);
    return nothing;
  }
}

const nothing: Batch = { due: new Set(), later: new Map() };

/** One notice that cannot be told keeps no other from it, and does not hold its place for ever. */
async function putOff({ database, log, now }: Services, notice: NoticeRow, error: unknown): Promise<void> {
  const { tenant_id: tenantId, id } = notice;
  const given = { tenantId, id, pauseMinutes, at: now().toISOString() };
  const [left] = await database.tenant(tenantId).slow.all(putOffNotice(given));
  log.error({ err: error, tenantId, noticeId: id, status: left?.status }, 'a notice could not be told');
}

/** Notifications, deliveries and how far the notice has got are written together, or not at all. */
async function tellNext(tx: Transaction, notice: NoticeRow, { now: clock, log }: Services): Promise<Batch> {
  const { tenant_id: tenantId, id } = notice;
  const now = clock();
  const people = await tx.all(listRecipients(notice, batchSize));
  const { told, unknownZones } = await decideAll(tx, notice, { people, now });
  if (unknownZones.size > 0) {
    const facts = { tenantId, noticeId: id, zones: [...unknownZones].slice(0, 10) };
    log.warn(facts, 'time zones of people are unknown, and others are taken instead');
  }
  const at = now.toISOString();
  if (people.length > 0) await insertAll(tx, notice, { told, at });
  const isLast = people.length < batchSize;
  await tx.all(
    advanceNotice({
      tenantId,
      id,
      lastUserId: people.at(-1)?.id ?? notice.last_user_id,
      more: people.length,
      status: isLast ? 'done' : 'queued',
      completedAt: isLast ? at : null,
    }),
  );
  return batchOf(told);
}

type Told = { userId: string; telling: Telling };

async function decideAll(
  tx: Transaction,
  notice: NoticeRow,
  { people, now }: { people: readonly Recipient[]; now: Date },
): Promise<{ told: Told[]; unknownZones: ReadonlySet<string> }> {
  const { tenant_id: tenantId } = notice;
  const { tellingOf, unknownZones } = teller(notice, await tx.all(listDefaults({ tenantId })), now);
  const userIds = people.map(({ id }) => id);
  const overrides = Map.groupBy(
    await tx.all(listOverridesOf({ tenantId, userIds, patterns: patternsOf(notice.category) })),
    ({ user_id: id }) => id,
  );
  const told: Told[] = [];
  for (const person of people) {
    if (told.length > 0 && told.length % decidedInRow === 0) await setImmediate();
    told.push({ userId: person.id, telling: tellingOf(person, overrides.get(person.id) ?? []) });
  }
  return { told, unknownZones };
}

async function insertAll(tx: Transaction, notice: NoticeRow, { told, at }: { told: readonly Told[]; at: string }) {
  const of = { tenantId: notice.tenant_id, noticeId: notice.id, category: notice.category, at };
  await tx.all(
    insertNotifications({
      ...of,
      ids: told.map(() => newId()),
      userIds: told.map(({ userId }) => userId),
      languages: told.map(({ telling }) => telling.language),
      inboxAts: told.map(({ telling }) => telling.inboxAt),
    }),
  );
  const ways = told.flatMap(({ userId, telling }) => telling.ways.map((way) => ({ userId, ...way })));
  if (ways.length === 0) return;
  await tx.all(
    insertDeliveries({
      ...of,
      isCritical: notice.is_critical,
      ids: ways.map(() => newId()),
      userIds: ways.map(({ userId }) => userId),
      channels: ways.map(({ channel }) => channel),
      statuses: ways.map(({ status }) => status),
      reasons: ways.map(({ reason }) => reason),
      layers: ways.map(({ layer }) => layer),
      preferenceIds: ways.map(({ preferenceId }) => preferenceId),
      dueAts: ways.map(({ dueAt }) => dueAt),
      sentAts: ways.map(({ sentAt }) => sentAt),
    }),
  );
}

function batchOf(told: readonly Told[]): Batch {
  const waiting = told.flatMap(({ telling }) => telling.ways).filter(({ status }) => status === 'queued');
  const later = new Map<Channel, string>();
  for (const { channel, reason, dueAt } of waiting) {
    if (reason === 'quiet_hours' && dueAt < (later.get(channel) ?? '~')) later.set(channel, dueAt);
  }
  return { due: new Set(waiting.filter(({ reason }) => reason === 'due').map(({ channel }) => channel)), later };
}

async function sendOn(services: Services, tenantId: string, { due, later }: Batch): Promise<void> {
  await sendDeliveries(
    services,
    [...due].map((channel) => ({ tenantId, channel })),
  );
  for (const [channel, at] of later) await sendDeliveriesLater(services, { tenantId, channel }, at);
}
