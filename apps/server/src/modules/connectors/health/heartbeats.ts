import { LRUCache } from 'lru-cache';

import type { Services } from '#core/services';
import { quietSince } from '#modules/connectors/health/health.rules';

/** Connectors of which this process has just seen in the database that they do well, and no failure since. */
export type Heartbeats = {
  isFresh(id: string, now: Date): boolean;
  /** Begins to look; what it is told of counts unless a failure comes in between. */
  watch(id: string): { sawWell(at: Date): void };
  /** To be told before a failure is written down, and after. */
  noteFailure(id: string): void;
};

const maxConnectors = 10_000;

const known = new WeakMap<Services['database'], Heartbeats>();

export function heartbeatsOf(database: Services['database']): Heartbeats {
  const before = known.get(database);
  if (before !== undefined) return before;
  const heartbeats = createHeartbeats();
  known.set(database, heartbeats);
  return heartbeats;
}

function createHeartbeats(): Heartbeats {
  const entries = new LRUCache<string, { at: Date | undefined }>({ max: maxConnectors });
  const renew = (id: string) => {
    const entry = { at: undefined };
    entries.set(id, entry);
    return entry;
  };
  return {
    isFresh(id, now) {
      const at = entries.get(id)?.at;
      return at !== undefined && at > quietSince(now);
    },
    watch(id) {
      const entry: { at: Date | undefined } = entries.get(id) ?? renew(id);
      return { sawWell: (at) => void (entry.at = at) };
    },
    noteFailure: (id) => void renew(id),
  };
}
