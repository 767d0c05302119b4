import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createLocalStore } from '#core/data/files/local-store';
import { ObjectMissing, StoreFull } from '#core/data/files/object-store';

const space = () => Promise.resolve({ totalBytes: 1e12, freeBytes: 1e12 });
const newKey = () => `${newId()}/${newId()}`;
const errorOf = (code: string) => Object.assign(new Error(code), { code });
let folder: string;

beforeEach(async () => {
  folder = await fs.mkdtemp(path.join(tmpdir(), 'atrium-store-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  await fs.rm(folder, { recursive: true });
});

/** Makes one call of the file system fail below the folder of the test. */
const failures: Record<string, (code: string) => void> = {
  mkdir: (code) => vi.spyOn(fs, 'mkdir').mockRejectedValue(errorOf(code)),
  open: (code) => vi.spyOn(fs, 'open').mockRejectedValue(errorOf(code)),
  writeFile: (code) => vi.spyOn(fs, 'writeFile').mockRejectedValue(errorOf(code)),
  rename: (code) => vi.spyOn(fs, 'rename').mockRejectedValue(errorOf(code)),
  fsync: (code) => {
    const { open } = fs;
    vi.spyOn(fs, 'open').mockImplementation(async (...given) => {
      const handle = await open(...given);
      return Object.assign(handle, { sync: () => Promise.reject(errorOf(code)) });
    });
  },
};

const ofPut = ['mkdir', 'open', 'rename', 'fsync'];
const calls = ['ENOSPC', 'EDQUOT'].flatMap((code) => ofPut.map((name) => [code, name] as const));

describe('a full disk', () => {
  it.each(calls)('put > STORE_FULL for %s from %s, with the source closed and nothing stored', async (code, name) => {
    const store = createLocalStore(path.join(folder, 'files'), space);
    const key = newKey();
    const source = Readable.from([Buffer.from('x')]);
    failures[name]!(code);
    syncBuiltinESMExports();
    await expect(store.put(key, source, 1)).rejects.toThrow(StoreFull.message);
    expect(source.destroyed).toBe(true);
    vi.restoreAllMocks();
    syncBuiltinESMExports();
    await expect(store.get(key)).rejects.toThrow(ObjectMissing);
    await store.put(key, Readable.from([Buffer.from('x')]), 1);
    expect((await buffer(await store.get(key))).toString()).toBe('x');
  });

  it.each(['ENOSPC', 'EDQUOT'])('admit and check > STORE_FULL for %s from mkdir', async (code) => {
    const store = createLocalStore(path.join(folder, 'files'), space);
    failures['mkdir']!(code);
    syncBuiltinESMExports();
    await expect(store.admit(newKey(), 1)).rejects.toThrow(StoreFull.message);
    await expect(store.check(AbortSignal.timeout(60_000))).rejects.toThrow(StoreFull.message);
  });

  it('check > STORE_FULL for ENOSPC from writeFile', async () => {
    const store = createLocalStore(folder, space);
    failures['writeFile']!('ENOSPC');
    syncBuiltinESMExports();
    await expect(store.check(AbortSignal.timeout(60_000))).rejects.toThrow(StoreFull.message);
  });

  it('put > passes on any other error and closes the source', async () => {
    const store = createLocalStore(path.join(folder, 'files'), space);
    const source = Readable.from([Buffer.from('x')]);
    failures['mkdir']!('EACCES');
    syncBuiltinESMExports();
    await expect(store.put(newKey(), source, 1)).rejects.toThrow('EACCES');
    expect(source.destroyed).toBe(true);
  });
});
