import { setTimeout as pause } from 'node:timers/promises';

import { restAfter } from '#core/background/rest';
import { newId } from '#core/crypto/ids';
import type { TenantDb } from '#core/db/scopes';
import { isTimeout, withDeadline } from '#core/outbound/deadline';
import { workDrainMs } from '#core/queue/terms';
import type { Work } from '#core/queue/work';
import type { Services } from '#core/services';
import type { Carrier, Parcel } from '#modules/notifications/channels/channel';
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
import type { OfChannel } from '#modules/notifications/deliveries/deliveries.types';
import { gapMs } from '#modules/notifications/deliveries/pace.rules';
import { deliveriesWork, keyOf, sendDeliveries, sendDeliveriesLater } from '#modules/notifications/deliveries/pieces';
import {
  afterAttempt,
  insteadOfAttempt,
  notBegun,
  type End,
  type Settlement,
} from '#modules/notifications/deliveries/settlement.rules';
import { settling } from '#modules/notifications/deliveries/settling';
import { textsIn } from '#modules/notifications/notices/telling.rules';
import type { DeliveryRow } from '#modules/notifications/notifications.tables';
import type { Channel } from '#modules/notifications/notifications.types';
import { decider, patternsOf, timer } from '#modules/notifications/preferences/decision.rules';
import { listDefaults, listOverridesOf } from '#modules/notifications/preferences/preferences.queries';
import { createTurns } from '#modules/notifications/turns';

export type Carriers = Readonly<Record<Exclude<Channel, 'in_app'>, Carrier>>;

/**
 * How many are attempted at a time for a channel of a tenant. No more are taken than are begun within moments: of what a process
 * that is killed has taken, all counts as if it may have reached its person.
 */
const atOnce = 8;
/**
 * For how long ends are gathered at most before they are written; a process that is killed meanwhile has them go out again. As long
 * as all that were taken take to be begun, however far apart: one statement then writes what came of them.
 */
const gatherMs = 500;
/** For how long it is known who carries for a tenant, before it is read again. */
const momentMs = 2000;
/** For the inbox nobody has to be asked: it takes two statements, and larger ones would be felt. */
const atOnceToInbox = 50;
/** How long one attempt may take: what is under way when the process is told to stop comes to its end, and is written down. */
const attemptMs = workDrainMs - 1500;
/** After so many batches, or so long, another channel or tenant gets its turn. */
const batchesInRow = 50;
const mostMs = 10_000;

/** Hands deliveries that are due to those who carry them on. */
export function deliverBy(carriers: Carriers): Work<OfChannel> {
  const turns = createTurns();
  return {
    name: deliveriesWork,
    concurrency: 4,
    attempts: 5,
    backoff: { firstSeconds: 2, mostSeconds: 300 },
    timeoutMs: 2 * 60_000,
    async run({ services, data: way, signal }) {
      const isLeft = await turns.take(keyOf(way), signal, () => takeTurn({ services, carriers, way, signal }));
      if (isLeft === undefined) return;
      if (isLeft) return sendDeliveries(services, [way]);
      const next = await services.database
        .tenant(way.tenantId)
        .slow.first(findNextDue({ ...way, now: services.now().toISOString() }));
      if (next?.at) await sendDeliveriesLater(services, way, next.at);
    },
  };
}

type Turn = { services: Services; carriers: Carriers; way: OfChannel; signal: AbortSignal };

/** @returns whether there may be something left. */
async function takeTurn({ services, carriers, way, signal }: Turn): Promise<boolean> {
  const startedAt = performance.now();
  let moment = { since: startedAt };
  for (let count = 0; count < batchesInRow && performance.now() - startedAt < mostMs; count++) {
    // What is under way ends by itself; nothing more is begun.
    signal.throwIfAborted();
    const batchAt = performance.now();
    if (batchAt - moment.since > momentMs) moment = { since: batchAt };
    if ((await deliverBatch(services, way, { carriers, signal, moment })) === 0) return false;
    // The others have rested between attempts.
    await (way.channel === 'in_app' ? restAfter(batchAt) : pause(gapMs(services.requestCounts.lately())));
  }
  return true;
}

type Delivering = { carriers: Carriers; signal?: AbortSignal; patienceMs?: number; moment?: object };

/** Takes what is due and attempts it. @returns how many it took. */
export async function deliverBatch(
  services: Services,
  way: OfChannel,
  { carriers, signal, patienceMs = attemptMs, moment = {} }: Delivering,
): Promise<number> {
  const { tenantId, channel } = way;
  const db = services.database.tenant(tenantId);
  const claim = newId();
  const most = channel === 'in_app' ? atOnceToInbox : atOnce;
  const taken = await db.slow.all(claimDue({ ...way, claim, now: services.now().toISOString(), most }));
  if (taken.length === 0) return 0;
  const allAttempted = Promise.withResolvers<void>();
  const settle = settling(
    (settlements) => db.slow.all(settleDeliveries(toColumns(settlements, { tenantId, claim, now: services.now() }))),
    { patienceMs: leaseMs - patienceMs, gather: () => Promise.race([allAttempted.promise, pause(gatherMs)]) },
  );
  const prepared = prepare(services, db, { taken, moment }).finally(() => signal?.throwIfAborted());
  const attempt = await prepared.catch(async (error: unknown) => {
    // Also where the process was told to stop meanwhile: there is no time left to see the end of an attempt.
    allAttempted.resolve();
    await Promise.allSettled(taken.map((delivery) => settle(notBegun(delivery))));
    throw error;
  });
  const carrier = channel === 'in_app' ? undefined : carriers[channel];
  const betweenThem = gapMs(services.requestCounts.lately());
  const attempts = taken.map(async (delivery, index) => {
    if (carrier !== undefined && index > 0) await pause(index * betweenThem);
    return signal?.aborted === true ? notBegun(delivery) : attempt(delivery, carrier, patienceMs);
  });
  void Promise.allSettled(attempts).then(() => allAttempted.resolve());
  const ended = await Promise.allSettled(attempts.map(async (settlement) => settle(await settlement)));
  const failed = ended.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return taken.length;
}

type Attempt = (delivery: DeliveryRow, carrier: Carrier | undefined, patienceMs: number) => Promise<Settlement>;

/** Looks once more at all that decides: much may have changed since the people were told. */
async function prepare(
  services: Services,
  db: TenantDb,
  { taken, moment }: { taken: readonly DeliveryRow[]; moment: object },
): Promise<Attempt> {
  const { tenantId } = db;
  const userIds = [...new Set(taken.map(({ user_id: id }) => id))];
  const patterns = [...new Set(taken.flatMap(({ category }) => patternsOf(category)))];
  const [people, notices, languages, defaults, overrides] = await db.slow.flight([
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
  const { timeOf } = timer(services.now());

  const attempt = async (delivery: DeliveryRow, carrier: Carrier | undefined, patienceMs: number) => {
    const person = personOf.get(delivery.user_id);
    const notice = noticeOf.get(delivery.notice_id)!;
    const decision = decide.get(delivery.category)!(delivery.channel, overridesOf.get(delivery.user_id) ?? []);
    const decided = { ...delivery, layer: decision.layer, preference_id: decision.preferenceId };
    const instead = insteadOfAttempt(decided, {
      isEnabled: decision.isEnabled,
      time: timeOf(decision, { timezone: person?.timezone ?? null, isCritical: delivery.is_critical }),
      isActive: person?.status === 'active',
      isCancelled: notice.status === 'cancelled',
    });
    if (instead !== undefined) return instead;
    const language = languageOf.get(delivery.notification_id) ?? null;
    const parcel = toParcel(delivery, { person: person!, notice, language, moment });
    const end = carrier && (await carry(services, parcel, carrier, patienceMs));
    if (end !== undefined) logFailure(services, delivery, end);
    return afterAttempt(decided, end ?? { kind: 'taken' }, services.now());
  };
  return (delivery, carrier, patienceMs) =>
    attempt(delivery, carrier, patienceMs).catch((error: unknown) => {
      services.log.error({ err: error, deliveryId: delivery.id }, 'a delivery failed for a reason of our own');
      return afterAttempt(delivery, { kind: 'failed', error }, services.now());
    });
}

type Contents = Pick<Parcel, 'person' | 'moment'> & { notice: NoticeFacts; language: string | null };

function toParcel(delivery: DeliveryRow, { person, notice, language, moment }: Contents): Parcel {
  return {
    tenantId: delivery.tenant_id,
    deliveryId: delivery.id,
    notificationId: delivery.notification_id,
    moment,
    person,
    category: delivery.category,
    texts: textsIn(language, notice),
    link: notice.link,
    data: notice.data,
    isCritical: delivery.is_critical,
  };
}

async function carry(services: Services, parcel: Parcel, carrier: Carrier, patienceMs: number): Promise<End> {
  try {
    return await withDeadline(patienceMs, undefined, (signal) => {
      const over = new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
      );
      // Not every carrier ends with its signal.
      return Promise.race([carrier(services, parcel, signal), over]);
    });
  } catch (error) {
    if (isTimeout(error)) return { kind: 'unseen' };
    throw error;
  }
}

/** Says nothing of what was sent to whom: messages of providers may repeat it. */
function logFailure({ log }: Services, { id: deliveryId, channel, attempts }: DeliveryRow, end: End): void {
  if (end.kind !== 'failed' && end.kind !== 'refused' && end.kind !== 'unseen') return;
  const cause = end.kind === 'failed' ? kindOf(end.error) : undefined;
  log.warn({ deliveryId, channel, attempt: attempts, outcome: end.kind, cause }, 'a delivery came to nothing');
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
