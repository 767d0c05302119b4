import type { Worker } from 'node:cluster';

import type { Announced } from '#app/announcement';
import type { DatabaseAccess } from '#app/database-access';
import type { Collected } from '#core/platform/metrics/metric';

/** Raise this when the messages change: a new worker may run a later release than the supervising process. */
export const protocol = 3;

/** Messages to a worker; keys use the private channel, never a command line or the environment. */
export type ToWorker =
  | { kind: 'start'; access: EncodedAccess; protocol: number }
  /** Has a socket, unless it was closed meanwhile. */
  | { kind: 'connection'; id: number }
  /** Another worker has replaced this one; it finishes its open connections. */
  | { kind: 'retire' }
  | { kind: 'stop' }
  | { kind: 'collect' }
  | { kind: 'scraped'; metrics: readonly Collected[] };

/** Messages from a worker. */
export type FromWorker =
  | ({ kind: 'serving' } & Served)
  | { kind: 'failed'; reason: string }
  /** The worker confirms the connection. */
  | { kind: 'taken'; id: number }
  /** The connection has ended. */
  | { kind: 'closed'; id: number }
  /** The worker is stopping and takes no connections. */
  | { kind: 'declined'; id: number }
  /** The worker requests the metrics of all workers. */
  | { kind: 'scrape' }
  | { kind: 'collected'; metrics: readonly Collected[] };

export type Served = Omit<Announced, 'port'>;

export type EncodedAccess = Omit<DatabaseAccess, 'encryptionKeys'> & { encryptionKeys: string[] };

/** Keys as text, because messages are JSON. */
export function encodeAccess({ encryptionKeys, ...access }: DatabaseAccess): EncodedAccess {
  return { ...access, encryptionKeys: encryptionKeys.map((key) => key.toString('base64')) };
}

export function decodeAccess({ encryptionKeys, ...access }: EncodedAccess): DatabaseAccess {
  const [first, ...others] = encryptionKeys.map((key) => Buffer.from(key, 'base64'));
  return { ...access, encryptionKeys: [first!, ...others] };
}

/** Ignores a worker that has just ended; its exit is handled elsewhere. */
export function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}
