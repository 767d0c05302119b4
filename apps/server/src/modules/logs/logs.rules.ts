/** The step of a histogram in which so many of a hundred are reached; undefined without any. */
export function percentileOf(
  histogram: readonly { bucket: number; requests: number }[],
  percent: number,
): number | undefined {
  const total = histogram.reduce((sum, { requests }) => sum + requests, 0);
  let seen = 0;
  for (const { bucket, requests } of histogram) {
    seen += requests;
    if (seen * 100 >= total * percent && total > 0) return bucket;
  }
  return undefined;
}

/** The moment up to which the cleanup has been due; the schedule is `minute hour * * *`. */
export function lastCleanup(schedule: string, now: Date): Date {
  const [minute, hour] = schedule.split(' ').map(Number) as [number, number];
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), hour, minute);
  return new Date(today <= now.getTime() ? today : today - 24 * 60 * 60_000);
}
