import { setImmediate } from 'node:timers/promises';

import { retryPausesMs } from '#core/base/backoff.rules';
import { createKeyedRuns } from '#core/base/concurrency/coalesce';
import { createFairTurns, type FairTurns } from '#core/base/concurrency/fair-semaphore';
import { newId } from '#core/base/crypto/ids';
import { pauseAfter } from '#core/data/background/pause';
import type { Transaction } from '#core/data/db/scopes';
import { isUnavailable } from '#core/data/db/sql-state';
import type { Work } from '#core/platform/queue/work';
import type { Services } from '#core/platform/services';
import { sendDeliveries, sendDeliveriesLater } from '#modules/notifications/deliveries/tasks';
import { createPlanner, type DeliveryPlan, type Recipient } from '#modules/notifications/notices/fan-out.rules';
import {
  advanceNotice,
  insertDeliveries,
  insertNotifications,
  listRecipients,
  lockNextNotice,
  putOffNotice,
} from '#modules/notifications/notices/notices.queries';
import { noticesWork, wakeNotices, type OfTenant } from '#modules/notifications/notices/wake';
import type { NoticeRow } from '#modules/notifications/notifications.tables';
import type { Channel } from '#modules/notifications/notifications.types';
import { patternsOf } from '#modules/notifications/preferences/decision.rules';
import { listDefaults, listOverridesOf } from '#modules/notifications/preferences/preferences.queries';

type Dependencies = Pick<Services, 'database' | 'log' | 'now' | 'queue'>;

/** Recipients per transaction; larger transactions would delay other requests. */
export const batchSize = 40;
/** Concurrent tenants and concurrent batches in a process; batches are shared equally. */
const atOnceInProcess = { tenants: 16, batches: 2 };
/** Batches of one run, so that other tenants get their share. */
export const batchesInRow = 15;

/** Backoff after each failed batch except the last. */
const pausesMs = retryPausesMs.slice(0, 4);
/** Decisions between two yields to the event loop. */
const decidedInRow = 20;

/** The background task of the fan-out: a notification for each recipient, and a delivery for each channel. */
export function expandNotices(): Work<OfTenant> {
  const runs = createKeyedRuns();
  const inShares = createFairTurns(atOnceInProcess.batches);
  return {
    name: noticesWork,
    concurrency: atOnceInProcess.tenants,
    attempts: 5,
    backoff: { firstSeconds: 2, maxSeconds: 300 },
    timeoutMs: 10 * 60_000,
    async run({ services, data: { tenantId }, signal }) {
      // Tenants share the batches, so that a large notice does not delay other tenants.
      const isLeft = await runs.run(tenantId, signal, () => runBatches({ services, tenantId, signal, inShares }));
      if (isLeft === true) await wakeNotices(services, tenantId);
    },
  };
}

type Run = { services: Dependencies; tenantId: string; signal: AbortSignal; inShares: FairTurns };

/** @returns whether work may be left. */
async function runBatches({ services, tenantId, signal, inShares }: Run): Promise<boolean> {
  for (let count = 0; count < batchesInRow; count++) {
    const isLeft = await inShares({ tenant: tenantId, principal: '' }, async () => {
      signal.throwIfAborted();
      const startedAt = performance.now();
      const batch = await expandBatch(services, tenantId);
      if (batch === undefined) return false;
      await sendOn(services, tenantId, batch);
      await pauseAfter(startedAt);
      return true;
    });
    if (!isLeft) return false;
  }
  return true;
}

/** Channels with due deliveries, and the earliest time of waiting ones by channel. */
type Batch = { due: ReadonlySet<Channel>; later: ReadonlyMap<Channel, string> };

/** Expands the next recipients of the next notice; undefined without one, or if another process has claimed it. */
async function expandBatch(services: Dependencies, tenantId: string): Promise<Batch | undefined> {
  const db = services.database.tenant(tenantId);
  let notice: NoticeRow | undefined;
  try {
    return await db.transaction(async (tx) => {
      notice = await tx.first(lockNextNotice({ tenantId }));
      return notice && expandNext(tx, notice, services);
    });
  } catch (error) {
    if (notice === undefined || isUnavailable(error)) throw error;
    await putOff(services, notice, error);
    return nothing;
  }
}

const nothing: Batch = { due: new Set(), later: new Map() };

/** Postpones a notice whose fan-out fails, so that it does not block others; it finally fails. */
async function putOff({ database, log, now }: Dependencies, notice: NoticeRow, error: unknown): Promise<void> {
  const { tenant_id: tenantId, id } = notice;
  const given = { tenantId, id, pausesMs, at: now().toISOString() };
  const [left] = await database.tenant(tenantId).interactive.all(putOffNotice(given));
  log.error({ err: error, tenantId, noticeId: id, status: left?.status }, 'the fan-out of a notice failed');
}

/** Writes notifications, deliveries and the progress of the notice in one transaction. */
async function expandNext(tx: Transaction, notice: NoticeRow, { now: clock, log }: Dependencies): Promise<Batch> {
  const { tenant_id: tenantId, id } = notice;
  const now = clock();
  const people = await tx.all(listRecipients(notice, batchSize));
  const { told, unknownZones } = await decideAll(tx, notice, { people, now });
  if (unknownZones.size > 0) {
    const facts = { tenantId, noticeId: id, zones: [...unknownZones].slice(0, 10) };
    log.warn(facts, 'time zones of users are unknown; other time zones are used instead');
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

type Planned = { userId: string; plan: DeliveryPlan };

async function decideAll(
  tx: Transaction,
  notice: NoticeRow,
  { people, now }: { people: readonly Recipient[]; now: Date },
): Promise<{ told: Planned[]; unknownZones: ReadonlySet<string> }> {
  const { tenant_id: tenantId } = notice;
  const { planFor, unknownZones } = createPlanner(notice, await tx.all(listDefaults({ tenantId })), now);
  const userIds = people.map(({ id }) => id);
  const overrides = Map.groupBy(
    await tx.all(listOverridesOf({ tenantId, userIds, patterns: patternsOf(notice.category) })),
    ({ user_id: id }) => id,
  );
  const told: Planned[] = [];
  for (const person of people) {
    if (told.length > 0 && told.length % decidedInRow === 0) await setImmediate();
    told.push({ userId: person.id, plan: planFor(person, overrides.get(person.id) ?? []) });
  }
  return { told, unknownZones };
}

async function insertAll(tx: Transaction, notice: NoticeRow, { told, at }: { told: readonly Planned[]; at: string }) {
  const of = { tenantId: notice.tenant_id, noticeId: notice.id, category: notice.category, at };
  await tx.all(
    insertNotifications({
      ...of,
      ids: told.map(() => newId()),
      userIds: told.map(({ userId }) => userId),
      languages: told.map(({ plan }) => plan.language),
      inboxAts: told.map(({ plan }) => plan.inboxAt),
    }),
  );
  const deliveries = told.flatMap(({ userId, plan }) => plan.deliveries.map((delivery) => ({ userId, ...delivery })));
  if (deliveries.length === 0) return;
  await tx.all(
    insertDeliveries({
      ...of,
      isCritical: notice.is_critical,
      ids: deliveries.map(() => newId()),
      userIds: deliveries.map(({ userId }) => userId),
      channels: deliveries.map(({ channel }) => channel),
      statuses: deliveries.map(({ status }) => status),
      reasons: deliveries.map(({ reason }) => reason),
      layers: deliveries.map(({ layer }) => layer),
      preferenceIds: deliveries.map(({ preferenceId }) => preferenceId),
      dueAts: deliveries.map(({ dueAt }) => dueAt),
      sentAts: deliveries.map(({ sentAt }) => sentAt),
    }),
  );
}

function batchOf(told: readonly Planned[]): Batch {
  const waiting = told.flatMap(({ plan }) => plan.deliveries).filter(({ status }) => status === 'queued');
  const later = new Map<Channel, string>();
  for (const { channel, reason, dueAt } of waiting) {
    if (reason === 'quiet_hours' && dueAt < (later.get(channel) ?? '~')) later.set(channel, dueAt);
  }
  return { due: new Set(waiting.filter(({ reason }) => reason === 'due').map(({ channel }) => channel)), later };
}

async function sendOn(services: Dependencies, tenantId: string, { due, later }: Batch): Promise<void> {
  await sendDeliveries(
    services,
    [...due].map((channel) => ({ tenantId, channel })),
  );
  for (const [channel, at] of later) await sendDeliveriesLater(services, { tenantId, channel }, at);
}
