import type { Worker } from 'node:cluster';

import type { DatabaseAccess } from '#app/database-access';
import type { Announced } from '#app/announcement';
import type { Collected } from '#core/metrics/metric';

/** To be raised when what is said here changes: a new worker may run a later release than the supervising process. */
export const protocol = 2;

/** What a worker is told; keys travel over the private channel, never on a command line or in an environment. */
export type ToWorker =
  | { kind: 'start'; access: EncodedAccess; protocol: number }
  /** Comes with a socket, unless that was closed meanwhile. */
  | { kind: 'connection'; id: number }
  /** Another has taken its place: it finishes for whoever is connected to it. */
  | { kind: 'retire' }
  | { kind: 'stop' }
  | { kind: 'collect' }
  | { kind: 'scraped'; metrics: readonly Collected[] };

/** What a worker says. */
export type FromWorker =
  | ({ kind: 'serving' } & Served)
  | { kind: 'failed'; reason: string }
  /** The connection is its own from now on. */
  | { kind: 'taken'; id: number }
  /** It is going and wants no more. */
  | { kind: 'declined'; id: number }
  /** Somebody asks it for the metrics of all. */
  | { kind: 'scrape' }
  | { kind: 'collected'; metrics: readonly Collected[] };

export type Served = Omit<Announced, 'port'>;

export type EncodedAccess = Omit<DatabaseAccess, 'encryptionKeys'> & { encryptionKeys: string[] };

/** Messages are JSON. */
export function encodeAccess({ encryptionKeys, ...access }: DatabaseAccess): EncodedAccess {
  return { ...access, encryptionKeys: encryptionKeys.map((key) => key.toString('base64')) };
}

export function decodeAccess({ encryptionKeys, ...access }: EncodedAccess): DatabaseAccess {
  const [first, ...others] = encryptionKeys.map((key) => Buffer.from(key, 'base64'));
  return { ...access, encryptionKeys: [first!, ...others] };
}

/** Who has just ended cannot be told, and is noticed by its end. */
export function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}
