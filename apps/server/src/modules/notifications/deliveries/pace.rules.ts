const gap = { minMs: 5, maxMs: 40, perRequestMs: 0.05 };

/**
 * Milliseconds between the starts of two deliveries; many at once would slow down requests.
 * @param requests number of requests answered in this second and the previous one
 */
export function gapMs(requests: number): number {
  return Math.min(gap.minMs + gap.perRequestMs * requests, gap.maxMs);
}
