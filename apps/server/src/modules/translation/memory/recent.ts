import { LRUCache } from 'lru-cache';

import { perDatabase } from '#core/data/db/per-database';
import type { Services } from '#core/platform/services';
import type { Remembered } from '#modules/translation/memory/memory.queries';

/** Limit of one process for all tenants together. */
const maxBytes = 8 * 2 ** 20;
/** Approximate size of an entry without its texts. */
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
 * Recently read entries of one tenant's memory in this process: frequent texts need no look-up. They are valid while their terms
 * are (`termsOf`), which are checked each time.
 */
export function recentOf(database: Services['database'], tenantId: string): Recent {
  const ofAll = recents(database);
  return {
    get: (key) => ofAll.get(`${tenantId} ${key}`),
    set: (key, row) => void ofAll.set(`${tenantId} ${key}`, row),
  };
}
