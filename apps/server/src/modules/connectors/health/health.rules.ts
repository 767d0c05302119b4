import type { FailureKind } from '#modules/connectors/calls/answers.rules';

export type Status = 'active' | 'degraded' | 'offline' | 'error' | 'unknown';

/** What is known of how a connector does; times as in the database. */
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
  probe_until: string | null;
  last_latency_ms: number | null;
};

/** What came of a call or of a check. */
export type Outcome =
  | { kind: 'success'; latencyMs: number }
  /** It answered to a request that proves no more than that it is there. */
  | { kind: 'reached'; latencyMs: number }
  | { kind: 'rate_limited'; patienceSeconds: number }
  | { kind: Exclude<FailureKind, 'rate_limited'>; httpStatus: number | undefined };

const pauseMs = 30_000;
const longestPauseMs = 600_000;
const successEveryMs = 10_000;

/** One fixed sentence per kind: nothing of what the provider said or where it is. */
const messages: Record<FailureKind, string> = {
  unreachable: 'The provider gave no usable answer.',
  credentials: 'The provider refused the credentials, or they or the settings cannot be used.',
  refused: 'The provider did not take the request.',
  answer: 'The provider answered with an error.',
  content: 'The provider answered with something that could not be used.',
  rate_limited: 'The provider asks for patience.',
};

/** Null for what is no failure. */
export function messageOf({ kind }: Pick<Outcome, 'kind'>): string | null {
  return kind === 'success' || kind === 'reached' ? null : messages[kind];
}

/** How the connector does after an outcome; the very same object where that changes nothing. */
export function nextHealth(health: Health, outcome: Outcome, now: Date): Health {
  switch (outcome.kind) {
    case 'success':
      return recovered(health, outcome.latencyMs, now);
    case 'reached':
      return isProvenByAnswer(health) ? recovered(health, outcome.latencyMs, now) : notRefuted(health, outcome);
    case 'rate_limited':
      return patient(health, outcome.patienceSeconds, now);
    // Others may be served well.
    case 'refused':
      return health;
    case 'unreachable':
    case 'credentials':
    case 'answer':
    case 'content':
      return failed(health, outcome, now);
  }
}

/** One whose next success is written down only now and then. */
export function isDoingWell({ status, consecutive_failures: failures, retry_at: retryAt }: Health): boolean {
  return status === 'active' && failures === 0 && retryAt === null;
}

/** One that did well, and whose last success is so young that another one is no news. */
export function isHeardOf(health: Health, now: Date): boolean {
  const { last_success: last } = health;
  return isDoingWell(health) && last !== null && Date.parse(last) > quietSince(now).getTime();
}

/** A success that was written down since then is enough. */
export function quietSince(now: Date): Date {
  return new Date(now.getTime() - successEveryMs);
}

/** When the pause after its last failure is over; null for one that was never switched off. */
export function pauseEndsAt({ last_error: last, ejections }: Pick<Health, 'last_error' | 'ejections'>): number | null {
  return last === null || ejections === 0 ? null : Date.parse(last) + pauseOf(ejections);
}

/** How long it is left alone after it was switched off so many times in a row. */
export function pauseOf(ejections: number): number {
  return Math.min(pauseMs * ejections, longestPauseMs);
}

export type Severity = 'info' | 'warning' | 'error';

/** What is told of a move from one state to the next; undefined where there was none. */
export function moveOf(
  from: Pick<Health, 'status' | 'auto_disabled'>,
  to: Pick<Health, 'status' | 'auto_disabled' | 'error_message'>,
): { severity: Severity; reason: string; message: string } | undefined {
  if (from.status === to.status && from.auto_disabled === to.auto_disabled) return undefined;
  if (to.auto_disabled && !from.auto_disabled) {
    const message = 'The connector was switched off for its failures.';
    return { severity: 'error', reason: 'auto_disabled', message };
  }
  if (to.status === 'active') {
    const message = from.status === 'unknown' ? 'The connector works.' : 'The connector works again.';
    return { severity: 'info', reason: from.status === 'unknown' ? 'works' : 'recovered', message };
  }
  if (to.status === 'unknown') {
    return { severity: 'info', reason: 'reset', message: 'The connector gets a new chance.' };
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
  probe_until: null,
} as const satisfies Partial<Health>;

/** What enabling, another address and other credentials make of it: nobody knows yet how it does. */
export const unproven = { ...withoutFailures, status: 'unknown', last_error: null } as const satisfies Partial<Health>;

function recovered(health: Health, latencyMs: number, now: Date): Health {
  return {
    ...health,
    ...withoutFailures,
    status: 'active',
    last_success: now.toISOString(),
    last_latency_ms: latencyMs,
  };
}

/** Whether any answer is a good sign: whoever refused credentials or answered nonsense has not got better by being there. */
export function isProvenByAnswer({
  consecutive_failures: failures,
  auto_disabled: isOff,
  error_details: details,
}: Pick<Health, 'consecutive_failures' | 'auto_disabled' | 'error_details'>): boolean {
  return (failures === 0 && !isOff) || details?.['kind'] === 'unreachable';
}

/** There, but no wiser: only a call can show whether it does its work again. */
function notRefuted(health: Health, { latencyMs }: { latencyMs: number }): Health {
  return { ...health, last_latency_ms: latencyMs };
}

function patient(health: Health, seconds: number, now: Date): Health {
  const until = new Date(now.getTime() + seconds * 1000);
  // Whoever asked for more patience before has not taken it back.
  const retryAt = isAhead(health.retry_at, until) ? health.retry_at : until.toISOString();
  return { ...health, retry_at: retryAt, probe_until: null };
}

type Failed = Extract<Outcome, { httpStatus: unknown }>;

function failed(health: Health, { kind, httpStatus }: Failed, now: Date): Health {
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

/** Failures of calls that were under way, or had no other choice, do not make a pause longer that has just begun. */
function ejected(health: Health, now: Date): Partial<Health> {
  if (health.auto_disabled && isAhead(health.retry_at, now)) return {};
  const ejections = health.ejections + 1;
  return { auto_disabled: true, ejections, retry_at: after(now, pauseOf(ejections)), probe_until: null };
}

function isAhead(at: string | null, now: Date): boolean {
  return at !== null && Date.parse(at) > now.getTime();
}

function after(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}
