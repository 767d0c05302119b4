import { LRUCache } from 'lru-cache';

import { perDatabase } from '#core/data/db/per-database';
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

export const heartbeatsOf = perDatabase(createHeartbeats);

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
