/** Has turns of the same key come one after the other in a process. */
export type Turns = {
  /**
   * Takes a turn, and another where one was asked for meanwhile and nothing is left over.
   * @param turn answers whether there may be something left
   * @returns the same; undefined where one is under way, which looks again at its end
   */
  take(key: string, signal: AbortSignal, turn: () => Promise<boolean>): Promise<boolean | undefined>;
};

export function createTurns(): Turns {
  const underWay = new Map<string, { isWanted: boolean }>();
  return {
    async take(key, signal, turn) {
      const other = underWay.get(key);
      if (other !== undefined) {
        other.isWanted = true;
        return undefined;
      }
      signal.throwIfAborted();
      const own = { isWanted: false };
      const release = () => {
        if (underWay.get(key) === own) underWay.delete(key);
      };
      underWay.set(key, own);
      // A turn that was given up may never end, and whoever comes next must not wait for it.
      signal.addEventListener('abort', release, { once: true });
      try {
        for (;;) {
          own.isWanted = false;
          const isLeft = await turn();
          if (isLeft || !own.isWanted) return isLeft;
        }
      } finally {
        release();
        signal.removeEventListener('abort', release);
      }
    },
  };
}
