import { setTimeout as sleep } from 'node:timers/promises';

import { createKeyedRuns } from '#core/base/concurrency/coalesce';
import { createFairTurns, type FairTurns } from '#core/base/concurrency/fair-semaphore';
import { orAborted } from '#core/base/concurrency/or-aborted';
import { newId } from '#core/base/crypto/ids';
import { pauseAfter } from '#core/data/background/pause';
import type { TenantDb } from '#core/data/db/scopes';
import { isTimeout, withDeadline } from '#core/platform/outbound/deadline';
import { workDrainMs } from '#core/platform/queue/terms';
import type { Work } from '#core/platform/queue/work';
import type { Services } from '#core/platform/services';
import type { ChannelAdapter, ChannelMessage } from '#modules/notifications/channels/channel';
import {
  claimDue,
  findNextDue,
  leaseMs,
  listLanguages,
  listNotices,
  listPeople,
  settleDeliveries,
  type NoticeFacts,
} from '#modules/notifications/deliveries/deliveries.queries';
import { gapMs } from '#modules/notifications/deliveries/pace.rules';
import {
  afterAttempt,
  insteadOfAttempt,
  notBegun,
  type End,
  type Settlement,
} from '#modules/notifications/deliveries/settlement.rules';
import { settling } from '#modules/notifications/deliveries/settling';
import { deliveriesWork, keyOf, sendDeliveries, sendDeliveriesLater } from '#modules/notifications/deliveries/tasks';
import { textsIn } from '#modules/notifications/notices/fan-out.rules';
import type { DeliveryRow } from '#modules/notifications/notifications.tables';
import type { Channel, OfChannel } from '#modules/notifications/notifications.types';
import { decider, patternsOf, timer } from '#modules/notifications/preferences/decision.rules';
import { listDefaults, listOverridesOf } from '#modules/notifications/preferences/preferences.queries';

type Dependencies = Pick<
  Services,
  'callLog' | 'database' | 'encryption' | 'log' | 'mail' | 'now' | 'outbound' | 'requestCounts' | 'settings'
>;

export type ChannelAdapters = Readonly<Record<Exclude<Channel, 'in_app'>, ChannelAdapter>>;

/**
 * Concurrent attempts for a channel of a tenant. A batch claims only what starts at once: after a crash, all claimed
 * deliveries count as possibly delivered.
 */
const atOnce = 8;
/**
 * Maximum time to collect outcomes before a write; after a crash in this time they are sent again. It covers the start of all
 * claimed deliveries, so that one statement writes their outcomes.
 */
const gatherMs = 500;
/** Batch size for the inbox, which needs no provider; larger statements would delay requests. */
const atOnceToInbox = 50;
/** Timeout of an attempt: attempts under way at shutdown can finish and are recorded. */
const attemptMs = workDrainMs - 1500;
/**
 * Concurrent channels of tenants in a process, and concurrent batches. Batches are shared equally among tenants, and then
 * among their channels.
 */
const atOnceInProcess = { channels: 32, batches: 4, batchesOfTenant: 3 };
/** Limits of one run, so that other channels and tenants get their share. */
const batchesInRow = 50;
const maxMs = 10_000;

/** The background task that sends due deliveries through the channel adapters. */
export function deliverBy(adapters: ChannelAdapters): Work<OfChannel> {
  const runs = createKeyedRuns();
  const inShares = createFairTurns(atOnceInProcess.batches, atOnceInProcess.batchesOfTenant);
  return {
    name: deliveriesWork,
    concurrency: atOnceInProcess.channels,
    attempts: 5,
    backoff: { firstSeconds: 2, maxSeconds: 300 },
    timeoutMs: 2 * 60_000,
    async run({ services, data: target, signal }) {
      const isLeft = await runs.run(keyOf(target), signal, () =>
        runBatches({ services, adapters, target, signal, inShares }),
      );
      if (isLeft === undefined) return;
      if (isLeft) return sendDeliveries(services, [target]);
      const next = await services.database
        .tenant(target.tenantId)
        .interactive.first(findNextDue({ ...target, now: services.now().toISOString() }));
      if (next?.at) await sendDeliveriesLater(services, target, next.at);
    },
  };
}

type Run = {
  services: Dependencies;
  adapters: ChannelAdapters;
  target: OfChannel;
  signal: AbortSignal;
  inShares: FairTurns;
};

/** @returns whether work may be left. */
async function runBatches({ services, adapters, target, signal, inShares }: Run): Promise<boolean> {
  const startedAt = performance.now();
  for (let count = 0; count < batchesInRow && performance.now() - startedAt < maxMs; count++) {
    const isLeft = await inShares({ tenant: target.tenantId, principal: target.channel }, async () => {
      // Attempts under way finish; no new ones start.
      signal.throwIfAborted();
      const batchAt = performance.now();
      if ((await deliverBatch(services, target, { adapters, signal })) === 0) return false;
      // Other channels pause between attempts.
      await (target.channel === 'in_app' ? pauseAfter(batchAt) : sleep(gapMs(services.requestCounts.lately())));
      return true;
    });
    if (!isLeft) return false;
  }
  return true;
}

type Delivering = { adapters: ChannelAdapters; signal?: AbortSignal; timeoutMs?: number };

/** Claims and attempts due deliveries. @returns the number of claimed deliveries. */
export async function deliverBatch(
  services: Dependencies,
  target: OfChannel,
  { adapters, signal, timeoutMs = attemptMs }: Delivering,
): Promise<number> {
  const { tenantId, channel } = target;
  const db = services.database.tenant(tenantId);
  const claim = newId();
  const max = channel === 'in_app' ? atOnceToInbox : atOnce;
  const taken = await db.interactive.all(claimDue({ ...target, claim, now: services.now().toISOString(), max }));
  if (taken.length === 0) return 0;
  const allAttempted = Promise.withResolvers<void>();
  const settle = settling(
    (settlements) =>
      db.interactive.all(settleDeliveries(toColumns(settlements, { tenantId, claim, now: services.now() }))),
    { retryForMs: leaseMs - timeoutMs, gather: () => Promise.race([allAttempted.promise, sleep(gatherMs)]) },
  );
  const prepared = prepare(services, db, taken).finally(() => signal?.throwIfAborted());
  const attempt = await prepared.catch(async (error: unknown) => {
    // This includes a shutdown: there is no time left for an attempt.
    allAttempted.resolve();
    await Promise.allSettled(taken.map((delivery) => settle(notBegun(delivery))));
    throw error;
  });
  const adapter = channel === 'in_app' ? undefined : adapters[channel];
  const betweenThem = gapMs(services.requestCounts.lately());
  const attempts = taken.map(async (delivery, index) => {
    if (adapter !== undefined && index > 0) await sleep(index * betweenThem);
    return signal?.aborted === true ? notBegun(delivery) : attempt(delivery, adapter, timeoutMs);
  });
  void Promise.allSettled(attempts).then(() => allAttempted.resolve());
  const ended = await Promise.allSettled(attempts.map(async (settlement) => settle(await settlement)));
  const failed = ended.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return taken.length;
}

type Attempt = (delivery: DeliveryRow, adapter: ChannelAdapter | undefined, timeoutMs: number) => Promise<Settlement>;

/** Reads everything that decides again: it may have changed since the fan-out. */
async function prepare(services: Dependencies, db: TenantDb, taken: readonly DeliveryRow[]): Promise<Attempt> {
  const { tenantId } = db;
  const userIds = [...new Set(taken.map(({ user_id: id }) => id))];
  const patterns = [...new Set(taken.flatMap(({ category }) => patternsOf(category)))];
  const [people, notices, languages, defaults, overrides] = await db.interactive.batch([
    listPeople({ tenantId, ids: userIds }),
    listNotices({ tenantId, ids: [...new Set(taken.map(({ notice_id: id }) => id))] }),
    listLanguages({ tenantId, ids: taken.map(({ notification_id: id }) => id) }),
    listDefaults({ tenantId }),
    listOverridesOf({ tenantId, userIds, patterns }),
  ]);
  const personOf = new Map(people.map((person) => [person.id, person]));
  const noticeOf = new Map(notices.map((notice) => [notice.id, notice]));
  const languageOf = new Map(languages.map(({ id, language }) => [id, language]));
  const overridesOf = Map.groupBy(overrides, ({ user_id: id }) => id);
  const decide = new Map(taken.map(({ category }) => [category, decider(category, defaults)]));
  const { withheldBy } = timer(services.now());

  const attempt = async (delivery: DeliveryRow, adapter: ChannelAdapter | undefined, timeoutMs: number) => {
    const person = personOf.get(delivery.user_id);
    const notice = noticeOf.get(delivery.notice_id)!;
    const decision = decide.get(delivery.category)!(delivery.channel, overridesOf.get(delivery.user_id) ?? []);
    const decided = { ...delivery, layer: decision.layer, preference_id: decision.preferenceId };
    const instead = insteadOfAttempt(decided, {
      withheld: withheldBy(decision, { timezone: person?.timezone ?? null, isCritical: delivery.is_critical }),
      isActive: person?.status === 'active',
      isCancelled: notice.status === 'cancelled',
    });
    if (instead !== undefined) return instead;
    const language = languageOf.get(delivery.notification_id) ?? null;
    const message = toMessage(delivery, { person: person!, notice, language });
    const end = adapter && (await send(services, message, adapter, timeoutMs));
    if (end !== undefined) logFailure(services, delivery, end);
    return afterAttempt(decided, end ?? { kind: 'taken' }, services.now());
  };
  return (delivery, adapter, timeoutMs) =>
    attempt(delivery, adapter, timeoutMs).catch((error: unknown) => {
      services.log.error({ err: error, deliveryId: delivery.id }, 'a delivery failed because of an internal error');
      return afterAttempt(delivery, { kind: 'failed', error }, services.now());
    });
}

type Contents = Pick<ChannelMessage, 'person'> & { notice: NoticeFacts; language: string | null };

function toMessage(delivery: DeliveryRow, { person, notice, language }: Contents): ChannelMessage {
  return {
    tenantId: delivery.tenant_id,
    deliveryId: delivery.id,
    notificationId: delivery.notification_id,
    person,
    category: delivery.category,
    texts: textsIn(language, notice),
    link: notice.link,
    data: notice.data,
    isCritical: delivery.is_critical,
  };
}

async function send(
  services: Dependencies,
  message: ChannelMessage,
  adapter: ChannelAdapter,
  timeoutMs: number,
): Promise<End> {
  try {
    // Some adapters ignore their signal.
    return await withDeadline(timeoutMs, undefined, (signal) => orAborted(adapter(services, message, signal), signal));
  } catch (error) {
    if (isTimeout(error)) return { kind: 'unseen' };
    throw error;
  }
}

/** Logs no content and no provider messages, which may contain content. */
function logFailure({ log }: Dependencies, { id: deliveryId, channel, attempts }: DeliveryRow, end: End): void {
  if (end.kind !== 'failed' && end.kind !== 'refused' && end.kind !== 'unseen') return;
  const cause = end.kind === 'failed' ? kindOf(end.error) : undefined;
  log.warn({ deliveryId, channel, attempt: attempts, outcome: end.kind, cause }, 'a delivery attempt failed');
}

function kindOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `${error.name} ${code}` : error.name;
}

function toColumns(
  settlements: readonly Settlement[],
  { tenantId, claim, now }: { tenantId: string; claim: string; now: Date },
) {
  return {
    tenantId,
    claim,
    at: now.toISOString(),
    ids: settlements.map(({ id }) => id),
    statuses: settlements.map(({ status }) => status),
    reasons: settlements.map(({ reason }) => reason),
    layers: settlements.map(({ layer }) => layer),
    preferenceIds: settlements.map(({ preferenceId }) => preferenceId),
    dueAts: settlements.map(({ dueAt }) => dueAt),
    attempts: settlements.map(({ attempts }) => attempts),
    interruptions: settlements.map(({ interruptions }) => interruptions),
  };
}
