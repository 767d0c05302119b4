import type { Database } from '#core/data/db/database';

const origins = new WeakMap<Database, Database>();

/** Declares that a database wraps another one, so that both share their values in this process. */
export function sharesMemory(database: Database, origin: Database): Database {
  origins.set(database, origins.get(origin) ?? origin);
  return database;
}

/** What a process keeps in memory of what is in a database: one for each, so that services in one process share nothing. */
export function perDatabase<Kept extends object>(create: () => Kept): (database: Database) => Kept {
  const all = new WeakMap<Database, Kept>();
  return (database) => {
    const origin = origins.get(database) ?? database;
    const known = all.get(origin);
    if (known !== undefined) return known;
    const value = create();
    all.set(origin, value);
    return value;
  };
}
