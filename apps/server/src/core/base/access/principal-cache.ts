import { LRUCache } from 'lru-cache';

import type { Principal } from '#core/base/access/principal';

export const subjectKinds = ['session', 'user', 'account', 'tenant', 'app_account', 'api_key'] as const;

/** Dependencies of a cached principal: forgetting one of them forgets the principal. */
export type Subject = `${(typeof subjectKinds)[number]}:${string}`;

export type CachedPrincipal = { principal: Principal; subjects: readonly Subject[]; expiresAt: number };

/** Principals by the credential exactly as presented, so that each is verified once and not per request. */
export type PrincipalCache = {
  /** The principal as of its last use, without counting as one: who asks must not grant anything by it. */
  peek(credential: string): Principal | undefined;
  find(credential: string): Principal | undefined;
  /** Loads on a miss; what was forgotten while it loaded is not kept. */
  load(credential: string, loader: () => Promise<CachedPrincipal>): Promise<Principal>;
  forget(subject: Subject): void;
  clear(): void;
  /** Changes with everything that is forgotten: while it stays the same, no known principal was revoked. */
  revision(): number;
  /** Applies from this call; a change clears the cache. Without a size nothing is cached. */
  resize(size: CacheSize): void;
  /** Cache hits and misses. */
  stats(): { hits: number; misses: number };
};

export type CacheSize = { max: number; maxAgeMs: number };

type Options = {
  max: number;
  /** True while notifications from other processes arrive. */
  isCurrent: () => boolean;
  now: () => number;
  /** Maximum lifetime of an entry. */
  maxAgeMs?: number;
  /** The same while notifications may be missed. */
  blindMaxAgeMs?: number;
};

type Entry = CachedPrincipal & { loadedAt: number };

export function createPrincipalCache(options: Options): PrincipalCache {
  const { blindMaxAgeMs = 1000, now } = options;
  let { max, maxAgeMs = 60_000 } = options;
  const credentialsBySubject = new Map<Subject, Set<string>>();
  let revision = 0;
  let [hits, misses] = [0, 0];
  const open = () => openEntries(max, credentialsBySubject);
  let entries = open();

  function find(credential: string): Principal | undefined {
    const entry = entries.get(credential);
    if (entry !== undefined && isFresh(entry)) {
      hits += 1;
      return entry.principal;
    }
    misses += 1;
    if (entry !== undefined) entries.delete(credential);
    return undefined;
  }

  function isFresh({ loadedAt, expiresAt }: Entry): boolean {
    const maxAge = options.isCurrent() ? maxAgeMs : Math.min(maxAgeMs, blindMaxAgeMs);
    return now() < expiresAt && now() - loadedAt < maxAge;
  }

  function clear(): void {
    revision += 1;
    entries.clear();
  }

  return {
    peek: (credential) => entries.peek(credential)?.principal,
    find,
    async load(credential, loader) {
      const before = revision;
      const loaded = await loader();
      if (revision === before && max > 0) {
        entries.set(credential, { ...loaded, loadedAt: now() });
        for (const subject of loaded.subjects) {
          const credentials = credentialsBySubject.get(subject) ?? new Set();
          credentialsBySubject.set(subject, credentials.add(credential));
        }
      }
      return loaded.principal;
    },
    forget(subject) {
      revision += 1;
      for (const credential of credentialsBySubject.get(subject) ?? []) entries.delete(credential);
    },
    clear,
    revision: () => revision,
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
