/** Runs of the same key follow each other in a process; runs of other keys are concurrent. */
export type KeyedRuns = {
  /**
   * Runs the task, and runs it again if another caller requested the same key in the meantime and nothing is left over.
   * @param task returns whether work may be left
   * @returns the same; undefined if a run of the key is under way, which then runs again
   */
  run(key: string, signal: AbortSignal, task: () => Promise<boolean>): Promise<boolean | undefined>;
};

export function createKeyedRuns(): KeyedRuns {
  const underWay = new Map<string, { isRequested: boolean }>();
  return {
    async run(key, signal, task) {
      const other = underWay.get(key);
      if (other !== undefined) {
        other.isRequested = true;
        return undefined;
      }
      signal.throwIfAborted();
      const own = { isRequested: false };
      const release = () => {
        if (underWay.get(key) === own) underWay.delete(key);
      };
      underWay.set(key, own);
      // An aborted run may never end, and the next one must not wait for it.
      signal.addEventListener('abort', release, { once: true });
      try {
        for (;;) {
          own.isRequested = false;
          const isLeft = await task();
          if (isLeft || !own.isRequested) return isLeft;
        }
      } finally {
        release();
        signal.removeEventListener('abort', release);
      }
    },
  };
}
