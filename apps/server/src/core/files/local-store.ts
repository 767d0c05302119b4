import { mkdir, open, rename, rm, statfs, writeFile, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { ObjectMissing, StoreFull, assertKey, type ByteRange, type ObjectStore } from '#core/files/object-store';

type Space = { totalBytes: number; freeBytes: number };

/** What is under way, and how much of it is on the disk already. */
type Incoming = { sizeBytes: number; written: () => number };

const gibibyte = 1024 ** 3;

/**
 * Objects as files below a folder, readable by nobody but the user of the service.
 * @param measure how large the disk of a folder is, and how much of it is free
 */
export function createLocalStore(root: string, measure: (folder: string) => Promise<Space> = measureDisk): ObjectStore {
  const incoming = new Map<string, Incoming>();
  const pathOf = (key: string) => {
    assertKey(key);
    return path.join(root, key);
  };
  let rootMade: Promise<void> | undefined;
  // Whoever comes second has to wait for it as well: a folder that is there may not be on the disk yet.
  const makeRoot = () =>
    (rootMade ??= makeDurably(root).catch((error: unknown) => {
      rootMade = undefined;
      throw error;
    }));
  return {
    async admit(key, sizeBytes) {
      assertKey(key);
      await makeRoot();
      const { totalBytes, freeBytes } = await measure(root);
      let promised = 0;
      for (const other of incoming.values()) promised += Math.max(0, other.sizeBytes - other.written());
      if (freeBytes - promised - sizeBytes < reserveOf(totalBytes)) throw StoreFull();
      incoming.set(key, { sizeBytes, written: () => 0 });
      return () => void incoming.delete(key);
    },
    async put(key, source) {
      const target = pathOf(key);
      const folder = path.dirname(target);
      await makeRoot();
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await sync(root);
      const part = partOf(target);
      try {
        await writeDurably(part, source, (written) => {
          const place = incoming.get(key);
          if (place !== undefined) place.written = written;
        });
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
    check: () => makeRoot().then(() => tryOut(root, measure)),
    close: () => Promise.resolve(),
  };
}

async function tryOut(root: string, measure: (folder: string) => Promise<Space>): Promise<void> {
  const file = path.join(root, `.check-${process.pid}`);
  await writeFile(file, 'x', { mode: 0o600 });
  await rm(file, { force: true });
  const { totalBytes, freeBytes } = await measure(root);
  if (freeBytes < reserveOf(totalBytes)) throw StoreFull();
}

function partOf(target: string): string {
  return `${target}.part`;
}

/** The stream owns the handle: it flushes to the disk and closes, or closes when the source fails. */
async function writeDurably(file: string, source: Readable, report: (written: () => number) => void): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  const target = handle.createWriteStream({ flush: true });
  report(() => target.bytesWritten);
  await pipeline(source, target);
}

/** The embedded database may be on the same disk, and stops when that is full. */
function reserveOf(totalBytes: number): number {
  return Math.min(gibibyte, totalBytes / 20);
}

async function measureDisk(folder: string): Promise<Space> {
  const { bsize, blocks, bavail } = await statfs(folder);
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize };
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

async function makeDurably(folder: string): Promise<void> {
  const made = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (made !== undefined) await syncUpTo(path.dirname(made), folder);
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
