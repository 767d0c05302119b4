import type { FailureKind } from '#modules/connectors/calls/answers.rules';

export type Status = 'active' | 'degraded' | 'offline' | 'error' | 'unknown';

/** Health state of a connector; times as in the database. */
export type Health = {
  status: Status;
  last_success: string | null;
  last_error: string | null;
  error_message: string | null;
  error_details: Record<string, unknown> | null;
  consecutive_failures: number;
  auto_disable_threshold: number;
  auto_disabled: boolean;
  ejections: number;
  retry_at: string | null;
  lease_until: string | null;
  last_latency_ms: number | null;
};

/** Outcome of a call or a health check. */
export type Outcome =
  | { kind: 'success'; latencyMs: number }
  /** An answer that proves only that the provider is reachable. */
  | { kind: 'reached'; latencyMs: number }
  | { kind: 'rate_limited'; retryAfterSeconds: number }
  | { kind: Exclude<FailureKind, 'rate_limited'>; httpStatus: number | undefined };

/** A recovered provider is used within 30 s, the pause and the circuit included. */
const pauseMs = 20_000;
const maxPauseMs = 600_000;
const successEveryMs = 10_000;

/** A fixed sentence per kind, without content or address of the provider. */
const messages: Record<FailureKind, string> = {
  unreachable: 'The provider gave no usable answer.',
  credentials: 'The provider refused the credentials, or the credentials or settings are unusable.',
  refused: 'The provider refused the request.',
  answer: 'The provider answered with an error.',
  content: 'The provider answered with unusable content.',
  rate_limited: 'The provider limits the request rate.',
};

/** Null without a failure. */
export function messageOf({ kind }: Pick<Outcome, 'kind'>): string | null {
  return kind === 'success' || kind === 'reached' ? null : messages[kind];
}

/** Health state after an outcome; the same object if nothing changes. */
export function nextHealth(health: Health, outcome: Outcome, now: Date): Health {
  switch (outcome.kind) {
    case 'success':
      return recovered(health, outcome.latencyMs, now);
    case 'reached':
      return isProvenByAnswer(health) ? recovered(health, outcome.latencyMs, now) : notRefuted(health, outcome);
    case 'rate_limited':
      return rateLimited(health, outcome.retryAfterSeconds, now);
    // The refusal concerns this request only.
    case 'refused':
      return health;
    case 'unreachable':
    case 'credentials':
    case 'answer':
    case 'content':
      return failed(health, outcome, now);
  }
}

/** Whether further successes are recorded only from time to time. */
export function isHealthy({ status, consecutive_failures: failures, retry_at: retryAt }: Health): boolean {
  return status === 'active' && failures === 0 && retryAt === null;
}

/** Whether the latest success is too recent to record another one. */
export function hasRecentSuccess(health: Health, now: Date): boolean {
  const { last_success: last } = health;
  return isHealthy(health) && last !== null && Date.parse(last) > quietSince(now).getTime();
}

/** A success recorded since then is recent enough. */
export function quietSince(now: Date): Date {
  return new Date(now.getTime() - successEveryMs);
}

/** End of the pause after the latest failure; null if it was never auto-disabled. */
export function pauseEndsAt({ last_error: last, ejections }: Pick<Health, 'last_error' | 'ejections'>): number | null {
  return last === null || ejections === 0 ? null : Date.parse(last) + pauseOf(ejections);
}

/** Pause after a number of consecutive auto-disables. */
export function pauseOf(ejections: number): number {
  return Math.min(pauseMs * ejections, maxPauseMs);
}

export type Severity = 'info' | 'warning' | 'error';

/** Event for a change of state; undefined without a change. */
export function moveOf(
  from: Pick<Health, 'status' | 'auto_disabled'>,
  to: Pick<Health, 'status' | 'auto_disabled' | 'error_message'>,
): { severity: Severity; reason: string; message: string } | undefined {
  if (from.status === to.status && from.auto_disabled === to.auto_disabled) return undefined;
  if (to.auto_disabled && !from.auto_disabled) {
    const message = 'The connector was auto-disabled because of its failures.';
    return { severity: 'error', reason: 'auto_disabled', message };
  }
  if (to.status === 'active') {
    const message = from.status === 'unknown' ? 'The connector works.' : 'The connector works again.';
    return { severity: 'info', reason: from.status === 'unknown' ? 'works' : 'recovered', message };
  }
  if (to.status === 'unknown') {
    return { severity: 'info', reason: 'reset', message: 'The state of the connector was reset.' };
  }
  const severity = to.status === 'degraded' ? 'warning' : 'error';
  return { severity, reason: to.status, message: to.error_message ?? messages.answer };
}

const withoutFailures = {
  error_message: null,
  error_details: null,
  consecutive_failures: 0,
  auto_disabled: false,
  ejections: 0,
  retry_at: null,
  lease_until: null,
} as const satisfies Partial<Health>;

/** Health state after enabling, or after a change of address or credentials. */
export const unproven = { ...withoutFailures, status: 'unknown', last_error: null } as const satisfies Partial<Health>;

/** Error of an incomplete connector, which is not called. */
export function incomplete(missing: readonly string[]): Pick<Health, 'error_message' | 'error_details'> {
  const isOne = missing.length === 1;
  const error_message = `The connector is not used: ${missing.join(', ')} ${isOne ? 'is' : 'are'} missing. Add ${isOne ? 'it' : 'them'}.`;
  return { error_message, error_details: { kind: incompleteKind, missing } };
}

export function isIncomplete({ error_details: details }: Pick<Health, 'error_details'>): boolean {
  return details?.['kind'] === incompleteKind;
}

const incompleteKind = 'incomplete';

function recovered(health: Health, latencyMs: number, now: Date): Health {
  return {
    ...health,
    ...withoutFailures,
    status: 'active',
    last_success: now.toISOString(),
    last_latency_ms: latencyMs,
  };
}

/** Whether a reachable provider counts as recovered; not after refused credentials or invalid answers. */
export function isProvenByAnswer({
  consecutive_failures: failures,
  auto_disabled: isOff,
  error_details: details,
}: Pick<Health, 'consecutive_failures' | 'auto_disabled' | 'error_details'>): boolean {
  return (failures === 0 && !isOff) || details?.['kind'] === 'unreachable';
}

/** Reachable, but only a call can prove recovery. */
function notRefuted(health: Health, { latencyMs }: { latencyMs: number }): Health {
  return { ...health, last_latency_ms: latencyMs };
}

function rateLimited(health: Health, seconds: number, now: Date): Health {
  const until = new Date(now.getTime() + seconds * 1000);
  // A longer pause from an earlier answer still applies.
  const retryAt = isAhead(health.retry_at, until) ? health.retry_at : until.toISOString();
  return { ...health, retry_at: retryAt, lease_until: null };
}

function failed(health: Health, { kind, httpStatus }: Extract<Outcome, { httpStatus: unknown }>, now: Date): Health {
  const failures = health.consecutive_failures + 1;
  const isOver = failures >= health.auto_disable_threshold;
  return {
    ...health,
    status: isOver || kind === 'credentials' ? 'error' : kind === 'unreachable' ? 'offline' : 'degraded',
    consecutive_failures: failures,
    last_error: now.toISOString(),
    error_message: messages[kind],
    error_details: { kind, httpStatus: httpStatus ?? null },
    ...(isOver ? ejected(health, now) : {}),
  };
}

/** Failures of calls that were already under way do not extend a new pause. */
function ejected(health: Health, now: Date): Partial<Health> {
  if (health.auto_disabled && isAhead(health.retry_at, now)) return {};
  const ejections = health.ejections + 1;
  return { auto_disabled: true, ejections, retry_at: after(now, pauseOf(ejections)), lease_until: null };
}

function isAhead(at: string | null, now: Date): boolean {
  return at !== null && Date.parse(at) > now.getTime();
}

function after(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}
