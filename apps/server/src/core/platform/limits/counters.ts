/** How much one address may ask for, and what happens when it asks for more; times in milliseconds. */
export type Allowance = {
  max: number;
  windowMs: number;
  blockMs: number;
  /** This many violations count as the last one, after which counting begins again. */
  maxViolations: number;
};

/** A refusal: milliseconds to wait, and whether this violation was the last one tolerated. */
export type Refusal = { retryAfterMs: number; isLastViolation: boolean };

/** Counts requests by address. Refused requests are not counted, so retrying does not extend a block. */
export type Counters = {
  take(address: string, allowance: Allowance): Refusal | undefined;
  /** How many requests the address has made in its window. */
  used(address: string, windowMs: number): number;
};

/** What was violated is remembered for that long after the last time. */
export const violationMemoryMs = 24 * 60 * 60_000;

const maxAddresses = 100_000;

type Entry = { startedAt: number; count: number; blockedAt: number; violations: number; violatedAt: number };

/** In this process alone. A window begins with an address's first request and ends after its time. */
export function createCounters(now: () => number, max: number = maxAddresses): Counters {
  const entries = new Map<string, Entry>();

  function enter(address: string, at: number): Entry {
    // The oldest goes: an attack from many addresses must not fill the memory.
    if (entries.size >= max) entries.delete(entries.keys().next().value!);
    const entry = { startedAt: at, count: 0, blockedAt: -Infinity, violations: 0, violatedAt: -Infinity };
    entries.set(address, entry);
    return entry;
  }

  function restart(address: string, entry: Entry, at: number): void {
    entry.startedAt = at;
    entry.count = 0;
    // Young again: the order of the map is the order of windows.
    entries.delete(address);
    entries.set(address, entry);
  }

  return {
    take(address, { max: most, windowMs, blockMs, maxViolations }) {
      const at = now();
      const entry = entries.get(address) ?? enter(address, at);
      const leftMs = entry.blockedAt + blockMs - at;
      if (leftMs > 0) return { retryAfterMs: leftMs, isLastViolation: false };
      if (at - entry.startedAt >= windowMs || entry.blockedAt >= entry.startedAt) restart(address, entry, at);
      entry.count += 1;
      if (entry.count <= most) return undefined;
      if (at - entry.violatedAt >= violationMemoryMs) entry.violations = 0;
      entry.violations += 1;
      entry.violatedAt = at;
      entry.blockedAt = at;
      const isLastViolation = entry.violations >= maxViolations;
      if (isLastViolation) entry.violations = 0;
      return { retryAfterMs: blockMs, isLastViolation };
    },
    used(address, windowMs) {
      const entry = entries.get(address);
      return entry === undefined || now() - entry.startedAt >= windowMs ? 0 : entry.count;
    },
  };
}
