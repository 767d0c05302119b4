import { LRUCache } from 'lru-cache';

import type { Principal } from '#core/access/principal';

export const subjectKinds = ['session', 'user', 'account', 'tenant', 'app_account', 'api_key'] as const;

/** What a cached principal depends on: forgetting any of these forgets the principal. */
export type Subject = `${(typeof subjectKinds)[number]}:${string}`;

export type CachedPrincipal = { principal: Principal; subjects: readonly Subject[]; expiresAt: number };

/** Principals by the credential exactly as presented, so that each is verified once and not per request. */
export type PrincipalCache = {
  find(credential: string): Principal | undefined;
  /** Loads on a miss; what was forgotten while it loaded is not kept. */
  load(credential: string, loader: () => Promise<CachedPrincipal>): Promise<Principal>;
  forget(subject: Subject): void;
  clear(): void;
  /** From now on; where that changes something, what is known is forgotten. Without a size nothing is kept. */
  resize(size: CacheSize): void;
  /** How often a credential was known, and how often not. */
  stats(): { hits: number; misses: number };
};

export type CacheSize = { max: number; maxAgeMs: number };

type Options = {
  max: number;
  /** True while notifications from other processes arrive. */
  isCurrent: () => boolean;
  now: () => number;
  /** How long an entry lives at most. */
  maxAgeMs?: number;
  /** The same while notifications may be missed. */
  blindMaxAgeMs?: number;
};

type Entry = CachedPrincipal & { loadedAt: number };

export function createPrincipalCache(options: Options): PrincipalCache {
  const { blindMaxAgeMs = 1000, now } = options;
  let { max, maxAgeMs = 60_000 } = options;
  const credentialsBySubject = new Map<Subject, Set<string>>();
  let generation = 0;
  let [hits, misses] = [0, 0];
  const open = () => openEntries(max, credentialsBySubject);
  let entries = open();

  function find(credential: string): Principal | undefined {
    const entry = entries.get(credential);
    if (entry === undefined) {
      misses += 1;
      return undefined;
    }
    const age = now() - entry.loadedAt;
    const maxAge = options.isCurrent() ? maxAgeMs : Math.min(maxAgeMs, blindMaxAgeMs);
    const isFresh = now() < entry.expiresAt && age < maxAge;
    if (isFresh) {
      hits += 1;
      return entry.principal;
    }
    misses += 1;
    entries.delete(credential);
    return undefined;
  }

  function clear(): void {
    generation += 1;
    entries.clear();
  }

  return {
    find,
    async load(credential, loader) {
      const before = generation;
      const loaded = await loader();
      if (generation === before && max > 0) {
        entries.set(credential, { ...loaded, loadedAt: now() });
        for (const subject of loaded.subjects) {
          const credentials = credentialsBySubject.get(subject) ?? new Set();
          credentialsBySubject.set(subject, credentials.add(credential));
        }
      }
      return loaded.principal;
    },
    forget(subject) {
      generation += 1;
      for (const credential of credentialsBySubject.get(subject) ?? []) entries.delete(credential);
    },
    clear,
    stats: () => ({ hits, misses }),
    resize(size) {
      if (size.max === max && size.maxAgeMs === maxAgeMs) return;
      clear();
      ({ max, maxAgeMs } = size);
      entries = open();
    },
  };
}

function openEntries(max: number, credentialsBySubject: Map<Subject, Set<string>>): LRUCache<string, Entry> {
  return new LRUCache<string, Entry>({
    max: Math.max(1, max),
    dispose: (entry, credential) => {
      for (const subject of entry.subjects) {
        const credentials = credentialsBySubject.get(subject);
        credentials?.delete(credential);
        if (credentials?.size === 0) credentialsBySubject.delete(subject);
      }
    },
  });
}
