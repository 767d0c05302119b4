import { LRUCache } from 'lru-cache';

import { perDatabase } from '#core/db/per-database';
import type { Services } from '#core/services';
import type { Remembered } from '#modules/translation/memory/memory.queries';

/** Of one process, for all tenants together. */
const maxBytes = 8 * 2 ** 20;
/** Of an entry beside its texts, roughly. */
const overheadBytes = 400;

export type Recent = {
  get(key: string): Remembered | undefined;
  set(key: string, row: Remembered): void;
};

const recents = perDatabase(() => {
  const sizeCalculation = ({ translation }: Remembered) => 2 * translation.length + overheadBytes;
  return new LRUCache<string, Remembered>({ maxSize: maxBytes, sizeCalculation });
});

/**
 * What this process has read of one tenant's memory lately: a text that everybody has translated costs no look-up. It is true
 * for as long as its terms hold (`termsOf`), which are looked at each time.
 */
export function recentOf(database: Services['database'], tenantId: string): Recent {
  const ofAll = recents(database);
  return {
    get: (key) => ofAll.get(`${tenantId} ${key}`),
    set: (key, row) => void ofAll.set(`${tenantId} ${key}`, row),
  };
}
