import { createSemaphore, type Release } from '#core/base/concurrency/semaphore';
import { canonicalAddress, createAddressMatcher } from '#core/base/net/addresses';
import { clientNetwork, isLoopback } from '#core/base/net/ranges';
import type { Log } from '#core/data/log/log';

/** Bounds how many connections one client address (IPv6: one /64) keeps open, where all of them are accepted. */
export type ConnectionBounds = {
  /** Counts a connection until the function that it returns is called; undefined where it is one too many. */
  take(address: string | undefined): Release | undefined;
  /** Connections that were refused so far. */
  refused(): number;
};

type Options = {
  maxPerAddress: number;
  /** Addresses and ranges that stand for many clients, so that they have no bound. */
  trustedProxies: readonly string[];
  log: Pick<Log, 'warn'>;
  now(): number;
};

/** One line for what may be thousands. */
const warningPauseMs = 60_000;
const uncounted = () => undefined;

export function createConnectionBounds({ maxPerAddress, trustedProxies, log, now }: Options): ConnectionBounds {
  const isTrusted = createAddressMatcher(trustedProxies);
  const open = createSemaphore();
  let refused = 0;
  let warnedAt = -Infinity;

  function refuse(): undefined {
    refused += 1;
    if (now() - warnedAt < warningPauseMs) return;
    warnedAt = now();
    log.warn({ maxPerAddress }, 'connections are closed: their address has MAX_CONNECTIONS_PER_ADDRESS open');
  }

  return {
    take(written) {
      const address = canonicalAddress(written);
      // A connection that has ended already has no address any more.
      if (address === undefined || isLoopback(address) || isTrusted(address)) return uncounted;
      return open.tryAcquire([{ key: clientNetwork(address), max: maxPerAddress }]) ?? refuse();
    },
    refused: () => refused,
  };
}
