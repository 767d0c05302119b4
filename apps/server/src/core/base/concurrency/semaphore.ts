import { Counts } from '#core/base/concurrency/counts';

/** At most `max` permits of one key are held at once. */
export type Bound = { readonly key: string; readonly max: number };

/** Gives the permit back. Repeating it has no effect. */
export type Release = () => void;

/** Permits for limited work. A permit counts within each of its bounds, for example that of a tenant and that of the process. */
export type Semaphore = {
  /** @returns undefined if a bound is reached */
  tryAcquire(bounds: readonly Bound[]): Release | undefined;
  /** @throws the refusal of the first bound that is reached */
  acquireNow(...bounds: readonly (Bound & { refusal(): Error })[]): Release;
  /**
   * Waits in order of arrival; a caller whose bound is reached does not delay those behind it.
   * @throws the reason of the signal
   */
  acquire(bounds: readonly Bound[], signal: AbortSignal): Promise<Release>;
};

export function createSemaphore(): Semaphore {
  const held = new Counts();
  const waiting = new Set<{ bounds: readonly Bound[]; start(): void }>();
  const isReached = ({ key, max }: Bound) => held.of(key) >= max;

  function hold(bounds: readonly Bound[]): Release {
    for (const { key } of bounds) held.add(key, 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const freed = bounds.filter(isReached);
      for (const { key } of bounds) held.add(key, -1);
      admit(freed);
    };
  }

  // Synchronously, so that new callers do not overtake those that wait.
  function admit(freed: readonly Bound[]): void {
    for (const waiter of waiting) {
      if (freed.every(isReached)) return;
      if (!waiter.bounds.some(isReached)) waiter.start();
    }
  }

  function wait(bounds: readonly Bound[], signal: AbortSignal): Promise<Release> {
    return new Promise((resolve, reject) => {
      const end = () => {
        waiting.delete(waiter);
        signal.removeEventListener('abort', giveUp);
      };
      const giveUp = () => {
        end();
        reject(signal.reason as Error);
      };
      const waiter = {
        bounds,
        start() {
          end();
          resolve(hold(bounds));
        },
      };
      waiting.add(waiter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  return {
    tryAcquire: (bounds) => (bounds.some(isReached) ? undefined : hold(bounds)),
    acquireNow(...bounds) {
      const reached = bounds.find(isReached);
      if (reached !== undefined) throw reached.refusal();
      return hold(bounds);
    },
    async acquire(bounds, signal) {
      signal.throwIfAborted();
      return bounds.some(isReached) ? wait(bounds, signal) : hold(bounds);
    },
  };
}

/** Permits for work of which one process can do only a few at a time, whichever part of it asks. */
export const processPermits = createSemaphore();
