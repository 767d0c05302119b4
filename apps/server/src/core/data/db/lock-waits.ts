import type { Query } from '#core/data/db/query';

/** Which statements lately had to wait for a lock, so that the next of them does not hold up a shared connection first. */
export type LockWaits = {
  /** Whether one of the queries is known to wait for a lock. */
  areHeld(queries: readonly Query<unknown>[]): boolean;
  /** A statement gave up its wait for a lock. */
  note(text: string): void;
  /** The statements got all locks, after so long on the server. */
  passed(queries: readonly Query<unknown>[], ms: number): void;
};

const maxTexts = 1000;
/** A text that is not used for that long is tried on the shared connections again. */
const keptMs = 10_000;

/**
 * By text, because PostgreSQL's error names no table: an equal text most likely waits for the same lock.
 *
 * @param promptMs what takes less did not wait
 */
export function createLockWaits(promptMs: number): LockWaits {
  const held = new Map<string, number>();

  function isHeld(text: string): boolean {
    const at = held.get(text);
    if (at === undefined) return false;
    if (performance.now() - at < keptMs) return true;
    held.delete(text);
    return false;
  }

  return {
    areHeld: (queries) => held.size > 0 && queries.some(({ text }) => isHeld(text)),
    note(text) {
      if (held.size >= maxTexts) held.clear();
      held.set(text, performance.now());
    },
    passed(queries, ms) {
      if (held.size > 0 && ms < promptMs) for (const { text } of queries) held.delete(text);
    },
  };
}
