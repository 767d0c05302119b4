import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';

import { createFairSemaphore } from '#core/base/concurrency/fair-semaphore';
import type { Lookup } from '#core/platform/outbound/guarded-connect';

export type ResolverOptions = {
  /** Name servers, with a port; those of the system where undefined. */
  servers?: readonly string[];
  hostsFile?: string;
  /** For one lookup, including the wait for the system. */
  deadlineMs?: number;
  /** For names that only the system knows. */
  fallback?: Lookup;
};

const hostsFreshMs = 5000;
/** Time to wait for the answer of the other family (RFC 8305 section 3 recommends less, but some name servers are far away). */
const otherFamilyMs = 250;
/** The system looks names up on four threads, which files and compression need as well. */
const maxFallbacks = 2;

type Family = 4 | 6;

/**
 * Looks names up without the threads of the process, so that slow name servers delay only their own names: the hosts file
 * first, then the name servers of the system. Names that both do not know (search domains, other sources of names) are left to
 * the system, two at a time. Names take equal shares of these lookups, and fail with EAI_AGAIN at the deadline.
 */
export function createLookup(options: ResolverOptions = {}): Lookup {
  const { servers, hostsFile = '/etc/hosts', deadlineMs = 3000, fallback = systemLookup } = options;
  const hosts = readHosts(hostsFile);
  const askSystem = createSystemLookup(fallback);

  async function resolve(hostname: string, families: readonly Family[]): Promise<LookupAddress[]> {
    const resolver = new Resolver({ timeout: Math.ceil(deadlineMs / 3), tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const timer = setTimeout(() => resolver.cancel(), deadlineMs);
    try {
      return await firstOf(families.map((family) => query(resolver, hostname, family)));
    } finally {
      clearTimeout(timer);
      resolver.cancel();
    }
  }

  async function find(hostname: string, wanted: LookupOptions): Promise<LookupAddress[]> {
    const deadlineAt = performance.now() + deadlineMs;
    const families = familiesOf(wanted);
    const known = [...hosts(hostname), ...loopback(hostname)].filter(({ family }) =>
      families.includes(family as Family),
    );
    if (known.length > 0) return known;
    try {
      return await resolve(hostname, families);
    } catch (error) {
      if (!isUnknownName(error)) throw error;
      return askSystem(hostname, wanted, deadlineAt);
    }
  }

  return (hostname, wanted, callback) => {
    find(hostname.toLowerCase().replace(/\.$/, ''), wanted).then(
      (addresses) => callback(null, addresses),
      (error: unknown) => callback(error as Error, []),
    );
  };
}

/** Lookups by the system, a few at a time. Names take equal shares. @throws EAI_AGAIN at the deadline */
function createSystemLookup(lookup: Lookup) {
  const permits = createFairSemaphore({
    permits: () => maxFallbacks,
    // One name that hangs leaves a permit for the others.
    permitsOf: () => 1,
    // The outbound permits bound how many wait; the deadline bounds how long.
    limits: () => ({ max: Infinity, maxOf: () => Infinity, timeoutMs: Infinity }),
  });
  return (hostname: string, wanted: LookupOptions, deadlineAt: number): Promise<LookupAddress[]> =>
    new Promise((done, reject) => {
      let isAsked = false;
      const timer = setTimeout(() => {
        // A lookup that has begun occupies its thread until the system answers.
        if (!isAsked) permits.release(permit);
        reject(temporaryFailure(hostname));
      }, deadlineAt - performance.now());
      const permit = permits.acquire({ tenant: hostname, principal: '' }, (_refusal, held) => {
        isAsked = true;
        lookup(hostname, { ...wanted, all: true }, (error, addresses) => {
          clearTimeout(timer);
          permits.release(held);
          if (error === null) done(addresses);
          else reject(error);
        });
      });
    });
}

function familiesOf({ family }: LookupOptions): Family[] {
  if (family === 4 || family === 'IPv4') return [4];
  return family === 6 || family === 'IPv6' ? [6] : [4, 6];
}

async function query(resolver: Resolver, hostname: string, family: Family): Promise<LookupAddress[]> {
  const addresses = await (family === 4 ? resolver.resolve4(hostname) : resolver.resolve6(hostname));
  return addresses.map((address) => ({ address, family }));
}

/** What the first answer brings, and what the others bring shortly after. @throws the reason of the first that failed */
async function firstOf(queries: Promise<LookupAddress[]>[]): Promise<LookupAddress[]> {
  const found: LookupAddress[][] = [];
  const noted = queries.map((one, at) => one.then((addresses) => void (found[at] = addresses)));
  const all = Promise.allSettled(noted);
  await Promise.any(noted).catch(() => undefined);
  if (found.length > 0) await Promise.race([all, pause(otherFamilyMs)]);
  else for (const result of await all) if (result.status === 'rejected') throw result.reason;
  return found.flat();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

/** As getaddrinfo reports it: unlike ENOTFOUND, it says nothing about the name. */
function temporaryFailure(hostname: string): Error {
  const message = `getaddrinfo EAI_AGAIN ${hostname}`;
  return Object.assign(new Error(message), { code: 'EAI_AGAIN', syscall: 'getaddrinfo', hostname });
}

function isUnknownName(error: unknown): boolean {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  return code === 'ENOTFOUND' || code === 'ENODATA';
}

/** RFC 6761 section 6.3. */
function loopback(hostname: string): LookupAddress[] {
  if (hostname !== 'localhost' && !hostname.endsWith('.localhost')) return [];
  return [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ];
}

/** The hosts file as it was within the last seconds; without a file there are no names. */
function readHosts(file: string): (hostname: string) => LookupAddress[] {
  let known = new Map<string, LookupAddress[]>();
  let readAt = -Infinity;
  return (hostname) => {
    if (performance.now() - readAt > hostsFreshMs) {
      known = parseHosts(textOf(file));
      readAt = performance.now();
    }
    return known.get(hostname) ?? [];
  };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function parseHosts(text: string): Map<string, LookupAddress[]> {
  const known = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names)
      known.set(name.toLowerCase(), [...(known.get(name.toLowerCase()) ?? []), { address, family }]);
  }
  return known;
}
