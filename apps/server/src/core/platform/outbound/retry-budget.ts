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

/** Delay before a retry, with jitter for calls that failed together. */
export function retryDelayMs(): number {
  return 50 + Math.random() * 150;
}

const temporary: ReadonlySet<number> = new Set([502, 503, 504]);

/** Whether the same call may succeed shortly afterwards. */
export function isTemporary({ status, headers }: Response): boolean {
  return temporary.has(status) && !headers.has('retry-after');
}

/** Whether an open connection ended, as a pooled one may at the moment of a call. */
export function isConnectionReset(error: unknown): boolean {
  if (error instanceof errors.SocketError) return true;
  const { code } = error as { code?: unknown };
  return code === 'ECONNRESET' || code === 'EPIPE';
}
