import { retryAfter, retryPausesMs } from '#core/base/backoff.rules';
import type { Outcome } from '#modules/notifications/channels/outcome.types';
import type { DeliveryRow } from '#modules/notifications/notifications.tables';
import type { DeliveryReason, DeliveryStatus, Layer } from '#modules/notifications/notifications.types';
import type { Withheld } from '#modules/notifications/preferences/decision.rules';

/** The new state of a delivery after an attempt, or instead of one. */
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

/** Outcome of an attempt; `unseen`: it timed out, and its effect is unknown. */
export type End = Outcome | { kind: 'unseen' };

const minuteMs = 60_000;
const maxAttempts = retryPausesMs.length + 1;
/** Upper bound, also for Retry-After of a channel. */
const maxPauseMs = 24 * 60 * minuteMs;
/** Bounds of the wait for a provider while all are paused. */
const minWaitMs = minuteMs / 2;
const maxWaitMs = 3 * 24 * 60 * minuteMs;

/** The unchanged part of a delivery. */
function present(delivery: DeliveryRow): Omit<Settlement, 'status' | 'reason'> {
  const { id, layer, preference_id: preferenceId, due_at: dueAt, attempts, interruptions } = delivery;
  return { id, layer, preferenceId, dueAt, attempts, interruptions };
}

/** The state before the claim. */
export function notBegun(delivery: DeliveryRow): Settlement {
  return { ...present(delivery), attempts: delivery.attempts - 1, status: 'queued', reason: 'due' };
}

/** The state after an attempt. */
export function afterAttempt(delivery: DeliveryRow, end: End, now: Date): Settlement {
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

function repeated(same: Omit<Settlement, 'status' | 'reason'>, minMs: number, now: Date): Settlement {
  const backoffMs = retryAfter(same.attempts);
  if (backoffMs === undefined) return { ...same, status: 'failed', reason: 'attempts_used_up' };
  const pauseMs = Math.min(Math.max(backoffMs, minMs), maxPauseMs);
  return { ...same, status: 'queued', reason: 'retry', dueAt: new Date(now.getTime() + pauseMs).toISOString() };
}

type Waiting = { end: { retryAfterMs: number }; now: Date; since: string };

/** No provider was called, so this does not use an attempt. */
function waiting(same: Omit<Settlement, 'status' | 'reason'>, { end, now, since }: Waiting): Settlement {
  if (now.getTime() - Date.parse(since) > maxWaitMs) return { ...same, status: 'failed', reason: 'attempts_used_up' };
  const pauseMs = Math.min(Math.max(minWaitMs, end.retryAfterMs), maxPauseMs);
  return { ...same, status: 'queued', reason: 'retry', dueAt: new Date(now.getTime() + pauseMs).toISOString() };
}

type Facts = {
  isActive: boolean;
  isCancelled: boolean;
  /** By the preferences of now. */
  withheld: Withheld | undefined;
};

/** The state of a claimed delivery that must not be attempted now; undefined if it can be. */
export function insteadOfAttempt(delivery: DeliveryRow, facts: Facts): Settlement | undefined {
  // The claim counted an attempt that did not happen.
  const same = { ...present(delivery), attempts: delivery.attempts - 1 };
  const suppressed = { ...same, status: 'suppressed' as const };
  // Earlier attempts crashed their process or nearly so.
  if (same.attempts >= maxAttempts) return { ...same, status: 'failed', reason: 'attempts_used_up' };
  if (facts.isCancelled) return { ...suppressed, reason: 'cancelled' };
  if (!facts.isActive) return { ...suppressed, reason: 'not_active' };
  return facts.withheld && { ...same, ...facts.withheld };
}
