import type { Readable } from 'node:stream';

import { defineError } from '#core/base/errors/app-error';

/** Bytes of an object, both ends included. */
export type ByteRange = { start: number; end: number };

/** Where the bytes of files are. Keys are `<tenant id>/<file id>`; for files of the installation `exports/<name>`, or `archives/` and the parts of a relative path. */
export type ObjectStore = {
  /**
   * Checks, before any byte is accepted, that the store can take an object of this size now; it refuses instead of queueing.
   * The caller must call the returned function once the object is stored or abandoned.
   * @throws StoreBusy, StoreFull
   */
  admit(key: string, sizeBytes: number): Promise<() => void>;
  /** Whole and durable when the promise fulfils; when the source or the store fails there is nothing. */
  put(key: string, source: Readable, sizeBytes: number): Promise<void>;
  /** Opens an object, or a part of it. @throws ObjectMissing */
  get(key: string, range?: ByteRange): Promise<Readable>;
  /** Removes the object and what a broken upload left of it; fine when there is neither. */
  delete(key: string): Promise<void>;
  /** Fails where nothing could be put now; puts nothing that stays. */
  check(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
};

export const StoreBusy = defineError(
  'SERVICE_UNAVAILABLE',
  'The store is at its limit of concurrent uploads. Retry when one of them has ended.',
  'STORE_BUSY',
  5,
);
export const StoreFull = defineError(
  'SERVICE_UNAVAILABLE',
  'The disk for files has no room for this file. Send a smaller file, or ask the operator to make room.',
  'STORE_FULL',
);

/** Whether a file system call failed because the disk, or the quota on it, is full. */
export function isOutOfRoom(error: unknown): boolean {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** There is no object of this key. */
export class ObjectMissing extends Error {
  override name = 'ObjectMissing';
}

// No part of a path begins with a dot, so none leads upwards or is hidden.
const keyPattern =
  /^(?:[0-9a-f-]{36}\/[0-9a-f-]{36}|exports\/[a-z0-9][a-z0-9.-]{0,127}|archives(?:\/[A-Za-z0-9_][A-Za-z0-9._-]{0,127}){1,11})$/;

/** A key of any other form must not come near a path. */
export function assertKey(key: string): void {
  if (!keyPattern.test(key)) throw new Error('an object key is made of two ids, or names an export or an archive');
}
