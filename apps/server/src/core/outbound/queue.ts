import { NotAsked } from '#core/outbound/circuits';
import { isTimeout } from '#core/outbound/deadline';
import type { Slots, Visit } from '#core/outbound/slots';

/** One call waiting for its permits; this time does not count as a failure of the provider. */
export type Queue = {
  /** @throws NotAsked where no place became free in time */
  enter(signal: AbortSignal): Promise<void>;
  /** The error, or NotAsked if it says nothing about the provider. */
  classify(error: unknown): unknown;
};

export function createQueue(slots: Slots, visit: Visit, onPlace: (() => void) | undefined): Queue {
  const begunAt = performance.now();
  let waitedMs = 0;
  return {
    async enter(signal) {
      const since = performance.now();
      await slots.enter(visit, signal).catch((cause: unknown) => {
        throw new NotAsked('no place became free in time', { cause });
      });
      waitedMs += performance.now() - since;
      onPlace?.();
    },
    classify(error) {
      // A provider that was asked late is not to blame for the timeout.
      const isLate = isTimeout(error) && waitedMs > (performance.now() - begunAt) / 2;
      return isLate ? new NotAsked('most of the time was gone before a place became free', { cause: error }) : error;
    },
  };
}
