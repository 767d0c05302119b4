import { mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { ObjectMissing, assertKey, type ByteRange, type ObjectStore } from '#core/files/object-store';

/** Objects as files below a folder, readable by nobody but the user of the service. */
export function createLocalStore(root: string): ObjectStore {
  const pathOf = (key: string) => {
    assertKey(key);
    return path.join(root, key);
  };
  return {
    async put(key, source) {
      const target = pathOf(key);
      const folder = path.dirname(target);
      const made = await mkdir(folder, { recursive: true, mode: 0o700 });
      if (made !== undefined) await syncUpTo(path.dirname(made), folder);
      const part = partOf(target);
      try {
        await writeDurably(part, source);
        await rename(part, target);
        await sync(folder);
      } catch (error) {
        await rm(part, { force: true });
        await rm(target, { force: true });
        throw error;
      }
    },
    async get(key, range) {
      const handle = await openExisting(pathOf(key));
      return handle.createReadStream(limits(range));
    },
    async delete(key) {
      const target = pathOf(key);
      await rm(partOf(target), { force: true });
      await rm(target, { force: true });
    },
    close: () => Promise.resolve(),
  };
}

function partOf(target: string): string {
  return `${target}.part`;
}

/** The stream owns the handle: it flushes to the disk and closes, or closes when the source fails. */
async function writeDurably(file: string, source: Readable): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  await pipeline(source, handle.createWriteStream({ flush: true }));
}

/** A folder keeps its entries only once it is written itself. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncUpTo(top: string, folder: string): Promise<void> {
  for (let at = path.dirname(folder); ; at = path.dirname(at)) {
    await sync(at);
    if (at === top || at === path.dirname(at)) return;
  }
}

async function openExisting(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new ObjectMissing('', { cause: error });
    throw error;
  }
}

function limits(range: ByteRange | undefined): Partial<ByteRange> {
  return range === undefined ? {} : { start: range.start, end: range.end };
}
