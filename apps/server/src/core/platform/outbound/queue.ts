import type { Release } from '#core/base/concurrency/semaphore';
import type { Bulkhead, Visit } from '#core/platform/outbound/bulkhead';
import { CallNotMade } from '#core/platform/outbound/circuits';
import { isTimeout } from '#core/platform/outbound/deadline';

/** One call waiting for its permits; this time does not count as a failure of the provider. */
export type Queue = {
  /** @throws CallNotMade if no permit became free in time */
  enter(signal: AbortSignal): Promise<Release>;
  /** The error, or CallNotMade if it says nothing about the provider. */
  classify(error: unknown): unknown;
};

export function createQueue(bulkhead: Bulkhead, visit: Visit, onPermit: (() => void) | undefined): Queue {
  const begunAt = performance.now();
  let waitedMs = 0;
  return {
    async enter(signal) {
      const since = performance.now();
      const release = await bulkhead(visit, signal).catch((cause: unknown) => {
        throw new CallNotMade('no permit became free before the timeout', { cause });
      });
      waitedMs += performance.now() - since;
      onPermit?.();
      return release;
    },
    classify(error) {
      // The timeout is not a failure of a provider that was called late.
      const isLate = isTimeout(error) && waitedMs > (performance.now() - begunAt) / 2;
      return isLate
        ? new CallNotMade('most of the timeout passed before a permit became free', { cause: error })
        : error;
    },
  };
}
