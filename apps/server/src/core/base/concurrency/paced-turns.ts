import type { Flow } from '#core/base/concurrency/fair-queue';
import { createFairSemaphore, type Refusal, type WaitingLimits } from '#core/base/concurrency/fair-semaphore';

/** Runs synchronous work, or reports why it is refused; tenants and their principals take equal shares. */
export type PacedTurns = (flow: Flow, work: (refusal?: Refusal) => void) => void;

/** The pause after a call, in multiples of its duration: the work takes at most a quarter of the event loop. */
const pauseRatio = 3;

/**
 * For work that takes milliseconds of the event loop: one call at a time, with a pause after it in which other requests
 * are served. The work must not throw.
 */
export function createPacedTurns(limits: WaitingLimits, now: () => number = () => performance.now()): PacedTurns {
  const semaphore = createFairSemaphore({ permits: () => 1, limits: () => limits });
  return (flow, work) => {
    semaphore.acquire(flow, (refusal, permit) => {
      if (refusal !== undefined) return work(refusal);
      const startedAt = now();
      work();
      setTimeout(() => semaphore.release(permit), pauseRatio * (now() - startedAt));
    });
  };
}
