import { percentOf } from '#core/platform/metrics/percent.rules';
import { PeriodTooLong, PeriodInvalid } from '#modules/integrations/integrations.errors';

const hourMs = 60 * 60_000;
export const dayMs = 24 * hourMs;
const maxOverAllMs = 7 * dayMs;

/** `to` is exclusive. */
type Period = { from: string; to: string };

type Asked = { from?: string | undefined; to?: string | undefined };

/**
 * The time range to read. The default of `from` is 30 days ago for one tenant, and one day ago for all tenants.
 * @throws PeriodInvalid, PeriodTooLong
 */
export function periodOf({ from, to }: Asked, { isOfAll, now }: { isOfAll: boolean; now: Date }): Period {
  // Clocks of other processes may be ahead by at most this time.
  const end = Math.min(to === undefined ? Infinity : Date.parse(to), now.getTime() + hourMs);
  const latest = Math.min(end, now.getTime());
  const begin = Math.max(0, from === undefined ? latest - (isOfAll ? dayMs : 30 * dayMs) : Date.parse(from));
  if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to)) throw PeriodInvalid();
  if (isOfAll && latest - begin > maxOverAllMs) throw PeriodTooLong();
  return { from: new Date(begin).toISOString(), to: new Date(end).toISOString() };
}

/** The time since the start of the hour 24 hours ago, because counts are hourly. */
export function lastDay(now: Date): Period {
  return { from: beginOfHour(now.getTime() - dayMs), to: new Date(now.getTime() + hourMs).toISOString() };
}

export function beginOfHour(at: number | string): string {
  const ms = typeof at === 'string' ? Date.parse(at) : at;
  return new Date(Math.floor(ms / hourMs) * hourMs).toISOString();
}

/** Percent with two decimals; 100 without requests. */
export function rateOf({ requests, successes }: { requests: number; successes: number }): number {
  return percentOf(successes, requests, 100);
}
