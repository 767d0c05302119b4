/** Places for calls under way. */
export type Slots = {
  /** Waits for a place. @throws the reason of the signal */
  enter(origin: string, signal: AbortSignal): Promise<void>;
  leave(origin: string): void;
};

/** At most `most` calls at a time, and half of them at one origin, so that one that hangs leaves room for the others. */
export function createSlots(most: number): Slots {
  const mostOfOne = Math.ceil(most / 2);
  const taken = new Map<string, number>();
  const waiting = new Set<{ origin: string; start(): void }>();
  let total = 0;

  const isFree = (origin: string) => total < most && (taken.get(origin) ?? 0) < mostOfOne;
  const count = (origin: string, change: 1 | -1) => {
    const left = (taken.get(origin) ?? 0) + change;
    total += change;
    if (left === 0) taken.delete(origin);
    else taken.set(origin, left);
  };

  return {
    async enter(origin, signal) {
      signal.throwIfAborted();
      if (isFree(origin)) return count(origin, 1);
      await new Promise<void>((resolve, reject) => {
        const waiter = {
          origin,
          start() {
            signal.removeEventListener('abort', giveUp);
            waiting.delete(waiter);
            count(origin, 1);
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
    leave(origin) {
      count(origin, -1);
      // At once, so that nobody who comes now can slip in before those who wait.
      for (const waiter of waiting) {
        if (total === most) break;
        if (isFree(waiter.origin)) waiter.start();
      }
    },
  };
}
