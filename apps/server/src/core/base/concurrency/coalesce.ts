/** Callers share the run that is under way. The arguments of the first caller count. */
export function shareRun<Args extends unknown[], Result>(run: (...args: Args) => Promise<Result>) {
  let running: Promise<Result> | undefined;
  const share = (...args: Args) => (running ??= run(...args).finally(() => (running = undefined)));
  return Object.assign(share, { underWay: () => running });
}

/** Callers of one key share the run that is under way. */
export function createSharedRuns<Result>(): (key: string, run: () => Promise<Result>) => Promise<Result> {
  const running = new Map<string, Promise<Result>>();
  return (key, run) => {
    const shared = running.get(key) ?? run().finally(() => running.delete(key));
    running.set(key, shared);
    return shared;
  };
}

/** Callers share one run and its result for good; after a failure the next caller runs again. */
export function shareResult<Result>(run: () => Promise<Result>) {
  let result: Promise<Result> | undefined;
  const share = () =>
    (result ??= run().catch((error: unknown) => {
      result = undefined;
      throw error;
    }));
  return Object.assign(share, { begun: () => result });
}

/**
 * Runs one at a time. Callers who ask while one runs share the next run, which sees everything that happened before it began.
 * @returns resolves, or rejects, with the run that began after the call
 */
export function coalesce(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () =>
    (next ??= running = running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return run();
      }));
}

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
