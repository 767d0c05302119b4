import { LRUCache } from 'lru-cache';
import { errors } from 'undici';

/** Retry budget: one retry for every ten calls, so that retries never dominate the load. */
export type RetryBudget = {
  earn(key: string): void;
  /** @returns false where nothing is left */
  spend(key: string): boolean;
};

const callsForOne = 10;
const maxSaved = 10 * callsForOne;
const maxKeys = 1000;

/** One budget for each key; a new key may retry one call. */
export function createRetryBudget(): RetryBudget {
  const calls = new LRUCache<string, number>({ max: maxKeys });
  const saved = (key: string) => calls.get(key) ?? callsForOne;
  return {
    earn: (key) => void calls.set(key, Math.min(maxSaved, saved(key) + 1)),
    spend(key) {
      const left = saved(key) - callsForOne;
      if (left < 0) return false;
      calls.set(key, left);
      return true;
    },
  };
}

/** How long to wait before a call is repeated; not the same for all that failed together. */
export function pauseMs(): number {
  return 50 + Math.random() * 150;
}

const temporary: ReadonlySet<number> = new Set([502, 503, 504]);

/** Whether the same call may fare better in a moment. */
export function isWorthRepeating({ status, headers }: Response): boolean {
  return temporary.has(status) && !headers.has('retry-after');
}

/** Whether a connection ended that was there, as one that was kept may at the moment of a call. */
export function isCut(error: unknown): boolean {
  if (error instanceof errors.SocketError) return true;
  const { code } = error as { code?: unknown };
  return code === 'ECONNRESET' || code === 'EPIPE';
}
