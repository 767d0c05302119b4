import type { Release } from '#core/base/concurrency/semaphore';
import type { Bulkhead, Visit } from '#core/platform/outbound/bulkhead';
import { NotAsked } from '#core/platform/outbound/circuits';
import { isTimeout } from '#core/platform/outbound/deadline';

/** One call waiting for its permits; this time does not count as a failure of the provider. */
export type Queue = {
  /** @throws NotAsked if no permit became free in time */
  enter(signal: AbortSignal): Promise<Release>;
  /** The error, or NotAsked if it says nothing about the provider. */
  classify(error: unknown): unknown;
};

export function createQueue(bulkhead: Bulkhead, visit: Visit, onPlace: (() => void) | undefined): Queue {
  const begunAt = performance.now();
  let waitedMs = 0;
  return {
    async enter(signal) {
      const since = performance.now();
      const release = await bulkhead(visit, signal).catch((cause: unknown) => {
        throw new NotAsked('no place became free in time', { cause });
      });
      waitedMs += performance.now() - since;
      onPlace?.();
      return release;
    },
    classify(error) {
      // A provider that was asked late is not to blame for the timeout.
      const isLate = isTimeout(error) && waitedMs > (performance.now() - begunAt) / 2;
      return isLate ? new NotAsked('most of the time was gone before a place became free', { cause: error }) : error;
    },
  };
}
