const gap = { leastMs: 5, mostMs: 40, perRequestMs: 0.05 };

/**
 * From the beginning of one delivery to that of the next, in milliseconds: those whose requests are answered would feel many at once.
 * @param requests how many were answered in this second and the one before
 */
export function gapMs(requests: number): number {
  return Math.min(gap.leastMs + gap.perRequestMs * requests, gap.mostMs);
}
