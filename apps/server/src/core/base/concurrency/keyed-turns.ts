/**
 * Runs work that shares a key one after the other, in order of arrival.
 * @param keys the work waits for earlier work of any of them
 * @throws the error of the work, or of the work before it, and then does not run
 */
export type KeyedTurns = <Result>(keys: readonly string[], work: () => Promise<Result>) => Promise<Result>;

export function createKeyedTurns(): KeyedTurns {
  /** The last work of each key that has not ended. */
  const last = new Map<string, Promise<unknown>>();
  return async (keys, work) => {
    const ended = Promise.all(keys.flatMap((key) => last.get(key) ?? [])).then(work);
    for (const key of keys) last.set(key, ended);
    try {
      return await ended;
    } finally {
      for (const key of keys) if (last.get(key) === ended) last.delete(key);
    }
  };
}
