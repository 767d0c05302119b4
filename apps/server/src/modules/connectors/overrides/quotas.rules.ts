import type { QuotaLimit } from '#modules/connectors/overrides/overrides.rules';

/** A quota limit in its current period (UTC), with the amount to reserve. */
export type Window = QuotaLimit & { starts_at: string; amount: number };

export type Amounts = Record<QuotaLimit['unit'], number>;

export function windowsOf(quotaLimits: readonly QuotaLimit[], amounts: Amounts, now: Date): Window[] {
  return quotaLimits.map((quotaLimit) => ({
    ...quotaLimit,
    starts_at: startOf(quotaLimit.period, now).toISOString(),
    amount: amounts[quotaLimit.unit],
  }));
}

export function startOf(period: QuotaLimit['period'], at: Date): Date {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  if (period === 'month') return new Date(Date.UTC(year, month));
  if (period === 'day') return new Date(Date.UTC(year, month, day));
  return new Date(Date.UTC(year, month, day, at.getUTCHours(), at.getUTCMinutes()));
}

/** Seconds until the last of these periods ends. */
export function secondsToEnd(periods: readonly QuotaLimit['period'][], now: Date): number {
  const ends = periods.map((period) => endOf(period, now).getTime());
  return Math.max(1, Math.ceil((Math.max(...ends) - now.getTime()) / 1000));
}

export function endOf(period: QuotaLimit['period'], at: Date): Date {
  const start = startOf(period, at);
  if (period === 'month') return new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1));
  return new Date(start.getTime() + (period === 'day' ? 86_400_000 : 60_000));
}
