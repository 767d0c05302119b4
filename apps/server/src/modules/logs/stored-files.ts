import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { ObjectStore } from '#core/data/files/object-store';

/**
 * Stores a text of unknown size. It is written to the disk first, because stores need the size in advance and memory must not grow
 * with it.
 * @returns the size in bytes
 * @throws StoreBusy, StoreFull; the error of the text
 */
export async function storeText(
  { files, key }: { files: ObjectStore; key: string },
  text: AsyncIterable<string>,
  ...conversions: readonly Transform[]
): Promise<number> {
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-log-'));
  const file = path.join(folder, 'file');
  try {
    const target = createWriteStream(file, { flags: 'wx', mode: 0o600 });
    await pipeline([Readable.from(text, { objectMode: false }), ...conversions, target]);
    const sizeBytes = target.bytesWritten;
    const leave = await files.admit(key, sizeBytes);
    try {
      await files.put(key, createReadStream(file), sizeBytes);
    } finally {
      leave();
    }
    return sizeBytes;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
