import { mkdir, open, rename, rm, stat, statfs, writeFile, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { shareResult } from '#core/base/concurrency/coalesce';
import {
  ObjectMissing,
  StoreBusy,
  StoreFull,
  assertKey,
  isOutOfRoom,
  type ByteRange,
  type ObjectStore,
} from '#core/data/files/object-store';

type Space = { totalBytes: number; freeBytes: number };

/** What is under way, and how much of it is on the disk already. */
type Incoming = { sizeBytes: number; written: () => number };

const gibibyte = 1024 ** 3;
/** The free space is measured again after so many bytes of an upload. */
const measuredAfterBytes = 16 * 1024 * 1024;

/**
 * Objects as files below a folder, readable only by the user of the service.
 * @param measure how large the disk of a folder is, and how much of it is free
 */
export function createLocalStore(root: string, measure: (folder: string) => Promise<Space> = measureDisk): ObjectStore {
  const incoming = new Map<string, Incoming>();
  const pathOf = (key: string) => {
    assertKey(key);
    return path.join(root, key);
  };
  // Later callers wait as well: a folder that exists may not be on the disk yet.
  const makeRoot = shareResult(() =>
    makeDurably(root).catch((error: unknown) => {
      throw fullOr(error);
    }),
  );
  return {
    async admit(key, sizeBytes) {
      assertKey(key);
      await makeRoot();
      const { totalBytes, freeBytes } = await measure(root);
      const promised = promisedOf(incoming, ownerOf(key));
      assertShare({ sizeBytes, promised, room: freeBytes - reserveOf(totalBytes) });
      incoming.set(key, { sizeBytes, written: () => 0 });
      return () => void incoming.delete(key);
    },
    async put(key, source, sizeBytes) {
      const target = pathOf(key);
      const folder = path.dirname(target);
      const part = partOf(target);
      try {
        await makeRoot();
        await makeFolder(root, folder);
        await writeDurably(
          part,
          measuring(source, () => assertRoom(root, measure)),
          (written) => {
            const place = incoming.get(key);
            if (place !== undefined) place.written = written;
          },
        );
        await assertWhole(part, sizeBytes);
        await rename(part, target);
        await sync(folder);
      } catch (error) {
        // A failure before the first read leaves it open.
        source.destroy();
        await removeAll(target);
        throw fullOr(error);
      }
    },
    async get(key, range) {
      const handle = await openExisting(pathOf(key));
      return handle.createReadStream(limits(range));
    },
    async delete(key) {
      await removeAll(pathOf(key));
    },
    check: () => makeRoot().then(() => tryOut(root, measure)),
    close: () => Promise.resolve(),
  };
}

async function tryOut(root: string, measure: (folder: string) => Promise<Space>): Promise<void> {
  const file = path.join(root, `.check-${process.pid}`);
  await writeFile(file, 'x', { mode: 0o600 }).catch((error: unknown) => {
    throw fullOr(error);
  });
  await rm(file, { force: true });
  await assertRoom(root, measure);
}

async function assertRoom(root: string, measure: (folder: string) => Promise<Space>): Promise<void> {
  const { totalBytes, freeBytes } = await measure(root);
  if (freeBytes < reserveOf(totalBytes)) throw StoreFull();
}

/** StoreFull for a full disk or quota, else the error itself. */
function fullOr(error: unknown): unknown {
  return isOutOfRoom(error) ? StoreFull({ cause: error }) : error;
}

/** A tenant, or the exports of the installation. */
function ownerOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

type Promised = { own: number; others: number };

/** What uploads were let in with and have not written yet. */
function promisedOf(incoming: ReadonlyMap<string, Incoming>, owner: string): Promised {
  const promised: Promised = { own: 0, others: 0 };
  for (const [key, { sizeBytes, written }] of incoming) {
    promised[ownerOf(key) === owner ? 'own' : 'others'] += Math.max(0, sizeBytes - written());
  }
  return promised;
}

/**
 * A tenant gets at most half of the room that the others leave, so that room is left for one more tenant, however many
 * announce files that they send slowly.
 * @throws StoreBusy, StoreFull
 */
function assertShare({ sizeBytes, promised, room }: { sizeBytes: number; promised: Promised; room: number }): void {
  const share = Math.floor((room - promised.others) / 2);
  if (promised.own + sizeBytes <= share) return;
  throw sizeBytes <= share ? StoreBusy() : StoreFull();
}

/** Some file systems lose what they have no room for without an error. */
async function assertWhole(file: string, sizeBytes: number): Promise<void> {
  if ((await stat(file)).size !== sizeBytes) throw StoreFull();
}

function measuring(source: Readable, assertFree: () => Promise<void>): Readable {
  return Readable.from(withRoom(source, assertFree), { objectMode: false });
}

/** Others write to the same disk, so the free space may shrink while bytes arrive. */
async function* withRoom(source: Readable, assertFree: () => Promise<void>): AsyncGenerator<Buffer> {
  let unmeasured = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    unmeasured += chunk.length;
    if (unmeasured >= measuredAfterBytes) {
      unmeasured = 0;
      await assertFree();
    }
    yield chunk;
  }
}

async function removeAll(target: string): Promise<void> {
  await rm(partOf(target), { force: true });
  await rm(target, { force: true });
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

async function makeFolder(root: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await syncUpTo(root, folder);
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
