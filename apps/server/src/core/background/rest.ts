import { setTimeout as pause } from 'node:timers/promises';

/** How much longer than the work is the rest; no longer than the second bound, as work may have waited for others itself. */
const factor = 3;
const shortestMs = 10;
const longestMs = 50;

/**
 * After a step of work that nobody waits for: those who wait for an answer get at the processor and the database for most of the
 * time, however much of such work there is.
 */
export function restAfter(startedAt: number): Promise<void> {
  const took = performance.now() - startedAt;
  return pause(Math.min(Math.max(factor * took, shortestMs), longestMs));
}
