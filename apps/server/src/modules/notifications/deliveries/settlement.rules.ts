import type { Outcome } from '#modules/notifications/channels/outcome.types';
import type { Delivery } from '#modules/notifications/deliveries/deliveries.types';
import type { DeliveryReason, DeliveryStatus, Layer } from '#modules/notifications/notifications.types';
import type { Time } from '#modules/notifications/preferences/decision.rules';

/** What is written of a delivery after an attempt, or instead of one. */
export type Settlement = {
  id: string;
  status: DeliveryStatus;
  reason: DeliveryReason;
  layer: Layer;
  preferenceId: string | null;
  dueAt: string;
  attempts: number;
  interruptions: number;
};

/** What came of an attempt; `unseen`: it was given up, and nobody knows what it did. */
export type End = Outcome | { kind: 'unseen' };

const minuteMs = 60_000;
/** After each attempt but the last. */
const pauseMinutes = [1, 5, 15, 60, 240, 720];
const mostAttempts = pauseMinutes.length + 1;
/** Whatever a channel asks for. */
const longestPauseMs = 24 * 60 * minuteMs;
/** How soon it is looked again whether somebody can be asked, and for how long that is done. */
const leastWaitMs = minuteMs / 2;
const longestWaitMs = 3 * 24 * 60 * minuteMs;

/** As it stands while it is under way. */
function present(delivery: Delivery): Omit<Settlement, 'status' | 'reason'> {
  const { id, layer, preference_id: preferenceId, due_at: dueAt, attempts, interruptions } = delivery;
  return { id, layer, preferenceId, dueAt, attempts, interruptions };
}

/** As if nobody had taken it. */
export function notBegun(delivery: Delivery): Settlement {
  return { ...present(delivery), attempts: delivery.attempts - 1, status: 'queued', reason: 'due' };
}

/** After an attempt. */
export function afterAttempt(delivery: Delivery, end: End, now: Date): Settlement {
  const same = present(delivery);
  switch (end.kind) {
    case 'taken':
      return { ...same, status: 'sent', reason: 'delivered' };
    case 'refused':
      return { ...same, status: 'failed', reason: 'refused' };
    case 'no_address':
    case 'no_provider':
    case 'switched_off':
      return { ...same, status: 'suppressed', reason: end.kind };
    case 'unseen':
      return repeated({ ...same, interruptions: same.interruptions + 1 }, 0, now);
    case 'not_asked':
      return waiting({ ...same, attempts: same.attempts - 1 }, { end, now, since: delivery.created_at });
    case 'failed':
      return repeated(same, end.retryAfterMs ?? 0, now);
  }
}

function repeated(same: Omit<Settlement, 'status' | 'reason'>, leastMs: number, now: Date): Settlement {
  const minutes = pauseMinutes[same.attempts - 1];
  if (minutes === undefined) return { ...same, status: 'failed', reason: 'attempts_used_up' };
  const pauseMs = Math.min(Math.max(minutes * minuteMs, leastMs), longestPauseMs);
  return { ...same, status: 'queued', reason: 'retry', dueAt: new Date(now.getTime() + pauseMs).toISOString() };
}

type Waiting = { end: { retryAfterMs: number }; now: Date; since: string };

/** It was nobody's attempt, so it takes none of those that there are. */
function waiting(same: Omit<Settlement, 'status' | 'reason'>, { end, now, since }: Waiting): Settlement {
  if (now.getTime() - Date.parse(since) > longestWaitMs)
    return { ...same, status: 'failed', reason: 'attempts_used_up' };
  const pauseMs = Math.min(Math.max(leastWaitMs, end.retryAfterMs), longestPauseMs);
  return { ...same, status: 'queued', reason: 'retry', dueAt: new Date(now.getTime() + pauseMs).toISOString() };
}

type Facts = {
  isActive: boolean;
  isCancelled: boolean;
  isEnabled: boolean;
  time: Time;
};

/** What keeps a delivery that was taken from being attempted now; undefined where nothing does. */
export function insteadOfAttempt(delivery: Delivery, facts: Facts): Settlement | undefined {
  const { isEnabled, time } = facts;
  // Counted when it was taken, but there was none.
  const same = { ...present(delivery), attempts: delivery.attempts - 1 };
  const suppressed = { ...same, status: 'suppressed' as const };
  // All that took it before died over it, or nearly so.
  if (same.attempts >= mostAttempts) return { ...same, status: 'failed', reason: 'attempts_used_up' };
  if (facts.isCancelled) return { ...suppressed, reason: 'cancelled' };
  if (!facts.isActive) return { ...suppressed, reason: 'not_active' };
  if (!isEnabled) return { ...suppressed, reason: 'turned_off' };
  if (time.kind === 'dropped') return { ...suppressed, reason: 'quiet_hours' };
  if (time.kind === 'now') return undefined;
  return { ...same, status: 'queued', reason: 'quiet_hours', dueAt: time.at.toISOString() };
}
