import { LRUCache } from 'lru-cache';

import { violationMemoryMs, type BlockingLimit, type Refusal } from '#core/data/rate-limit/rate-limiter';

/** A `RateLimiter` of this process alone, which answers at once. */
export type MemoryStore = {
  take(key: string, limit: BlockingLimit): Refusal | undefined;
  count(key: string, windowMs: number): number;
};

type Entry = { startedAt: number; count: number; blockedAt: number; violations: number; violatedAt: number };

export function createMemoryStore(now: () => number, maxKeys = 100_000): MemoryStore {
  // The oldest window goes: an attack from many addresses must not fill the memory.
  const entries = new LRUCache<string, Entry>({ max: maxKeys });

  function begin(key: string, entry: Entry, at: number): Entry {
    entry.startedAt = at;
    entry.count = 0;
    entries.set(key, entry);
    return entry;
  }

  return {
    take(key, { max, windowMs, blockMs, maxViolations }) {
      const at = now();
      const entry = entries.peek(key) ?? begin(key, emptyEntry(), at);
      const leftMs = entry.blockedAt + blockMs - at;
      if (leftMs > 0) return { retryAfterMs: leftMs, isLastViolation: false };
      if (at - entry.startedAt >= windowMs || entry.blockedAt >= entry.startedAt) begin(key, entry, at);
      entry.count += 1;
      if (entry.count <= max) return undefined;
      if (at - entry.violatedAt >= violationMemoryMs) entry.violations = 0;
      entry.violations += 1;
      entry.violatedAt = at;
      entry.blockedAt = at;
      const isLastViolation = entry.violations >= maxViolations;
      if (isLastViolation) entry.violations = 0;
      return { retryAfterMs: blockMs, isLastViolation };
    },
    count(key, windowMs) {
      const entry = entries.peek(key);
      return entry === undefined || now() - entry.startedAt >= windowMs ? 0 : entry.count;
    },
  };
}

function emptyEntry(): Entry {
  return { startedAt: 0, count: 0, blockedAt: -Infinity, violations: 0, violatedAt: -Infinity };
}
