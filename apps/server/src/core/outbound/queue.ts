import { NotAsked } from '#core/outbound/circuits';
import { isTimeout } from '#core/outbound/deadline';
import type { Slots, Visit } from '#core/outbound/slots';

/** One call waiting for its places; time that it spends here is nobody's failure. */
export type Queue = {
  /** @throws NotAsked where no place became free in time */
  enter(signal: AbortSignal): Promise<void>;
  /** What went wrong, as far as it says something of the other side. */
  judge(error: unknown): unknown;
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
    judge(error) {
      // Whoever was asked when most of the time was gone is not to blame that the rest was not enough.
      const isLate = isTimeout(error) && waitedMs > (performance.now() - begunAt) / 2;
      return isLate ? new NotAsked('most of the time was gone before a place became free', { cause: error }) : error;
    },
  };
}
