import type { Ceiling } from '#modules/connectors/overrides/overrides.rules';

/** A ceiling in the period of UTC that is now, and how much of it is wanted. */
export type Window = Ceiling & { starts_at: string; amount: number };

export type Amounts = Record<Ceiling['unit'], number>;

export function windowsOf(ceilings: readonly Ceiling[], amounts: Amounts, now: Date): Window[] {
  return ceilings.map((ceiling) => ({
    ...ceiling,
    starts_at: startOf(ceiling.period, now).toISOString(),
    amount: amounts[ceiling.unit],
  }));
}

export function startOf(period: Ceiling['period'], at: Date): Date {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  if (period === 'month') return new Date(Date.UTC(year, month));
  if (period === 'day') return new Date(Date.UTC(year, month, day));
  return new Date(Date.UTC(year, month, day, at.getUTCHours(), at.getUTCMinutes()));
}

/** When the last of these periods is over, in seconds from now. */
export function secondsToEnd(periods: readonly Ceiling['period'][], now: Date): number {
  const ends = periods.map((period) => endOf(period, now).getTime());
  return Math.max(1, Math.ceil((Math.max(...ends) - now.getTime()) / 1000));
}

export function endOf(period: Ceiling['period'], at: Date): Date {
  const start = startOf(period, at);
  if (period === 'month') return new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1));
  return new Date(start.getTime() + (period === 'day' ? 86_400_000 : 60_000));
}
