import type { Readable } from 'node:stream';

/** Bytes of an object, both ends included. */
export type ByteRange = { start: number; end: number };

/** Where the bytes of files are. Keys are `<tenant id>/<file id>`, each written once. */
export type ObjectStore = {
  /** Whole and durable when the promise fulfils; when the source or the store fails there is nothing. */
  put(key: string, source: Readable, sizeBytes: number): Promise<void>;
  /** Opens an object, or a part of it. @throws ObjectMissing */
  get(key: string, range?: ByteRange): Promise<Readable>;
  /** Removes the object and what a broken upload left of it; fine when there is neither. */
  delete(key: string): Promise<void>;
  close(): Promise<void>;
};

/** There is no object of this key. */
export class ObjectMissing extends Error {
  override name = 'ObjectMissing';
}

const keyPattern = /^[0-9a-f-]{36}\/[0-9a-f-]{36}$/;

/** A key that is anything but two ids must not come near a path. */
export function assertKey(key: string): void {
  if (!keyPattern.test(key)) throw new Error('an object key is made of two ids');
}
