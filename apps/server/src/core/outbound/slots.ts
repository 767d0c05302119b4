/** For whom a place is: where the call leads, and who pays for it. */
export type Visit = { origin: string; owner: string | undefined };

/** Places for calls under way. */
export type Slots = {
  /** Waits for a place. @throws the reason of the signal */
  enter(visit: Visit, signal: AbortSignal): Promise<void>;
  leave(visit: Visit): void;
};

/**
 * At most `most` calls at a time, half of them at one origin and a quarter for one owner, so that what hangs leaves room
 * for the others.
 */
export function createSlots(most: number): Slots {
  const ofOrigins = createTally(Math.ceil(most / 2));
  const ofOwners = createTally(Math.ceil(most / 4));
  const waiting = new Set<{ visit: Visit; start(): void }>();
  let total = 0;

  const isFree = ({ origin, owner }: Visit) =>
    total < most && ofOrigins.isFree(origin) && (owner === undefined || ofOwners.isFree(owner));
  const count = ({ origin, owner }: Visit, change: 1 | -1) => {
    total += change;
    ofOrigins.count(origin, change);
    if (owner !== undefined) ofOwners.count(owner, change);
  };

  return {
    async enter(visit, signal) {
      signal.throwIfAborted();
      if (isFree(visit)) return count(visit, 1);
      await new Promise<void>((resolve, reject) => {
        const waiter = {
          visit,
          start() {
            signal.removeEventListener('abort', giveUp);
            waiting.delete(waiter);
            count(visit, 1);
            resolve();
          },
        };
        const giveUp = () => {
          waiting.delete(waiter);
          reject(signal.reason as Error);
        };
        signal.addEventListener('abort', giveUp, { once: true });
        waiting.add(waiter);
      });
    },
    leave(visit) {
      count(visit, -1);
      // At once, so that nobody who comes now can slip in before those who wait.
      for (const waiter of waiting) {
        if (total === most) break;
        if (isFree(waiter.visit)) waiter.start();
      }
    },
  };
}

function createTally(most: number) {
  const taken = new Map<string, number>();
  return {
    isFree: (key: string) => (taken.get(key) ?? 0) < most,
    count(key: string, change: 1 | -1): void {
      const left = (taken.get(key) ?? 0) + change;
      if (left === 0) taken.delete(key);
      else taken.set(key, left);
    },
  };
}
