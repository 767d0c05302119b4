import { pauseEndsAt } from '#modules/connectors/health/health.rules';

/** The tenant's connectors by priority, then the installation's; those in the preferred order come first. */
export function inOrder<Row extends { api_key: string }>(rows: readonly Row[], order: readonly string[]): Row[] {
  const place = ({ api_key: key }: Row) => {
    const at = order.indexOf(key);
    return at === -1 ? order.length : at;
  };
  return rows.toSorted((left, right) => place(left) - place(right));
}

/** The part of the health state that decides whether a connector is called. */
export type Standing = {
  auto_disabled: boolean;
  retry_at: string | null;
  lease_until: string | null;
  error_details: Record<string, unknown> | null;
  last_error: string | null;
  ejections: number;
};

/**
 * `probe`: its pause is over, and one call may test whether it has recovered. `out`: it is called only if no other connector
 * is left.
 */
export type Readiness = 'ready' | 'probe' | 'out';

export function readinessOf(
  row: Standing,
  { now, isOwnCredentials }: { now: Date; isOwnCredentials: boolean },
): Readiness {
  // Health belongs to the connector's credentials, and outcomes with other credentials are not recorded.
  if (isOwnCredentials && (!row.auto_disabled || row.error_details?.['kind'] === 'credentials')) return 'ready';
  if (isAhead(row.retry_at, now)) return 'out';
  if (isOwnCredentials) return 'ready';
  if (!row.auto_disabled) return 'ready';
  return isAhead(row.lease_until, now) ? 'out' : 'probe';
}

/** Whether it is paused because of Retry-After, not because of failures. */
export function hasRetryAfter(row: Standing, now: Date): boolean {
  const { retry_at: retryAt, auto_disabled: isOff } = row;
  if (!isAhead(retryAt, now)) return false;
  const pausedUntil = pauseEndsAt(row);
  return !isOff || (pausedUntil !== null && Date.parse(retryAt!) > pausedUntil);
}

/** Seconds until it may be called again. */
export function secondsUntilRetry(until: string, now: Date): number {
  return Math.max(1, Math.ceil((Date.parse(until) - now.getTime()) / 1000));
}

function isAhead(at: string | null, now: Date): boolean {
  return at !== null && Date.parse(at) > now.getTime();
}
