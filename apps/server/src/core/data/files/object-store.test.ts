import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { AppError } from '#core/base/errors/app-error';
import { createLocalStore } from '#core/data/files/local-store';
import { ObjectMissing, StoreBusy, StoreFull, type ObjectStore } from '#core/data/files/object-store';
import { createS3Store, type S3Options } from '#core/data/files/s3-store';
import { credentials, hasSwift, startSwift, type Swift } from '#core/data/files/testing/swift';

const newKey = () => `${newId()}/${newId()}`;
const put = (store: ObjectStore, key: string, content: Buffer) =>
  store.put(key, Readable.from([content]), content.length);
const mebibyte = 1024 * 1024;

/** What every store does, with any backend. */
function behavesAsAStore(open: () => ObjectStore) {
  it('gives back what was put, whole and in parts', async () => {
    const key = newKey();
    await put(open(), key, Buffer.from('0123456789'));
    expect((await buffer(await open().get(key))).toString()).toBe('0123456789');
    expect((await buffer(await open().get(key, { start: 2, end: 4 }))).toString()).toBe('234');
    expect((await buffer(await open().get(key, { start: 9, end: 9 }))).toString()).toBe('9');
  });

  it('keeps an empty object', async () => {
    const key = newKey();
    await open().put(key, Readable.from([]), 0);
    expect(await buffer(await open().get(key))).toHaveLength(0);
  });

  it('takes 23 MiB in pieces of any size', async () => {
    const key = newKey();
    const content = Buffer.alloc(23 * mebibyte);
    for (let at = 0; at < content.length; at += 4096) content.writeUInt32LE(at, at);
    const pieces = Array.from({ length: 230 }, (_, at) => content.subarray(at * 104_858, (at + 1) * 104_858));
    await open().put(key, Readable.from(pieces, { objectMode: false }), content.length);
    expect((await buffer(await open().get(key))).equals(content)).toBe(true);
    const middle = { start: 5 * mebibyte - 2, end: 5 * mebibyte + 4097 };
    const part = await buffer(await open().get(key, middle));
    expect(part.equals(content.subarray(middle.start, middle.end + 1))).toBe(true);
  }, 120_000);

  it.each([[0], [1], [7 * mebibyte]])('has nothing of what broke off after %i bytes', async (bytes) => {
    const key = newKey();
    async function* broken() {
      for (let sent = 0; sent < bytes; sent += mebibyte) yield Buffer.alloc(Math.min(mebibyte, bytes - sent));
      throw new Error('broken off');
    }
    const source = Readable.from(broken(), { objectMode: false });
    await expect(open().put(key, source, 10 * mebibyte)).rejects.toThrow('broken off');
    await expect(open().get(key)).rejects.toThrow(ObjectMissing);
  });

  it('deletes, also what is not there', async () => {
    const key = newKey();
    await put(open(), key, Buffer.from('x'));
    await open().delete(key);
    await expect(open().get(key)).rejects.toThrow(ObjectMissing);
    await open().delete(key);
  });

  it.each([['../../etc/passwd'], ['a/b'], [`${newId()}/../${newId()}`], [newId()], ['']])(
    'takes no key but two ids: %j',
    async (key) => {
      await expect(put(open(), key, Buffer.from('x'))).rejects.toThrow('two ids');
      await expect(open().get(key)).rejects.toThrow('two ids');
      await expect(open().delete(key)).rejects.toThrow('two ids');
    },
  );
}

describe('the local store', () => {
  let folder: string;
  let store: ObjectStore;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'atrium-store-'));
    store = createLocalStore(path.join(folder, 'data/files'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  behavesAsAStore(() => store);

  it('lets no other user read, and leaves no partial file', async () => {
    const key = newKey();
    await put(store, key, Buffer.from('x'));
    const file = path.join(folder, 'data/files', key);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
    expect((await stat(path.join(folder, 'data/files'))).mode & 0o777).toBe(0o700);
    expect(await readFile(file, 'utf8')).toBe('x');
    expect(await readdir(path.dirname(file))).toEqual([path.basename(file)]);
  });

  it('removes what a dead process left of an upload', async () => {
    const key = newKey();
    const started = Promise.withResolvers<void>();
    const killed = Promise.withResolvers<void>();
    async function* endless() {
      yield Buffer.alloc(100_000);
      started.resolve();
      await killed.promise;
    }
    const source = Readable.from(endless(), { objectMode: false });
    const putting = store.put(key, source, 1_000_000).catch(() => undefined);
    await started.promise;
    expect(await readdir(path.join(folder, 'data/files', path.dirname(key)))).toHaveLength(1);
    await store.delete(key);
    expect(await readdir(path.join(folder, 'data/files', path.dirname(key)))).toEqual([]);
    killed.reject(new Error('killed'));
    await putting;
  });
});

describe('a disk that fills', () => {
  const gibibyte = 1024 ** 3;
  let folder: string;
  let freeBytes = 0;
  let totalBytes = 0;
  let store: ObjectStore;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'atrium-store-'));
    store = createLocalStore(folder, () => Promise.resolve({ totalBytes, freeBytes }));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each([
    ['a large disk keeps 1 GiB', 1000 * gibibyte, gibibyte],
    ['a small disk keeps a twentieth', 100 * mebibyte, 5 * mebibyte],
  ])('%s', async (_what, total, kept) => {
    [totalBytes, freeBytes] = [total, kept + 200];
    await expect(store.admit(newKey(), 101)).rejects.toThrow(StoreFull.message);
    const leave = await store.admit(newKey(), 100);
    leave();
  });

  it('one tenant that announces files without end leaves room for the others', async () => {
    [totalBytes, freeBytes] = [100 * mebibyte, 5 * mebibyte + 64_000];
    const [greedy, quiet] = [newId(), newId()];
    const ask = (tenantId: string, sizeBytes: number) =>
      store.admit(`${tenantId}/${newId()}`, sizeBytes).catch((error: AppError) => error);
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(greedy, 1000)));
    const taken = answers.filter((answer) => typeof answer === 'function');
    expect(taken).toHaveLength(32);
    const refused = answers.filter((answer) => typeof answer !== 'function');
    expect(new Set(refused.map(({ details }) => details?.['code']))).toEqual(new Set(['STORE_BUSY']));
    expect(new Set(refused.map(({ retryAfterSeconds }) => retryAfterSeconds))).toEqual(new Set([5]));
    const ofOthers = await Promise.all([ask(quiet, 16_000), ask(quiet, 1), ask(newId(), 8000)]);
    expect(ofOthers.map((answer) => typeof answer)).toEqual(['function', 'object', 'function']);
    for (const leave of [...taken, ofOthers[0], ofOthers[2]]) (leave as () => void)();
    ((await ask(greedy, 32_000)) as () => void)();
    expect(await ask(greedy, 32_001)).toMatchObject({ details: { code: 'STORE_FULL' } });
  });

  it('an upload ends with STORE_FULL and leaves nothing when the disk fills while it arrives', async () => {
    [totalBytes, freeBytes] = [1000 * mebibyte, 200 * mebibyte];
    const key = newKey();
    const leave = await store.admit(key, 64 * mebibyte);
    let sent = 0;
    async function* growing() {
      for (; sent < 64; sent++) {
        if (sent === 20) freeBytes = 10 * mebibyte;
        yield Buffer.alloc(mebibyte);
      }
    }
    const putting = store.put(key, Readable.from(growing(), { objectMode: false }), 64 * mebibyte);
    await expect(putting).rejects.toThrow(StoreFull.message);
    leave();
    expect(sent).toBeLessThan(64);
    expect(await readdir(path.join(folder, path.dirname(key)))).toEqual([]);
  });

  it('STORE_FULL when the disk kept fewer bytes than announced, and there is no object', async () => {
    const key = newKey();
    await expect(store.put(key, Readable.from([Buffer.from('x')]), 2)).rejects.toThrow(StoreFull.message);
    await expect(store.get(key)).rejects.toThrow(ObjectMissing);
  });

  it('STORE_FULL when the disk takes no more bytes', async () => {
    async function* failing() {
      yield await Promise.resolve(Buffer.from('x'));
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    }
    const source = Readable.from(failing(), { objectMode: false });
    await expect(store.put(newKey(), source, 10)).rejects.toThrow(StoreFull.message);
  });

  it('what was let in counts until it is written, or given up', async () => {
    [totalBytes, freeBytes] = [100 * mebibyte, 5 * mebibyte + 140];
    const key = newKey();
    const leave = await store.admit(key, 60);
    await expect(store.admit(newKey(), 41)).rejects.toThrow(StoreFull.message);
    const written = Promise.withResolvers<void>();
    const rest = Promise.withResolvers<void>();
    async function* halting() {
      yield Buffer.alloc(50);
      written.resolve();
      await rest.promise;
      yield Buffer.alloc(10);
    }
    const putting = store.put(key, Readable.from(halting(), { objectMode: false }), 60);
    await written.promise;
    freeBytes -= 50;
    const other = await vi.waitFor(() => store.admit(newKey(), 40), { timeout: 30_000 });
    await expect(store.admit(newKey(), 21)).rejects.toThrow(StoreFull.message);
    rest.resolve();
    await putting;
    freeBytes -= 10;
    for (const end of [leave, other]) end();
    const last = await store.admit(newKey(), 40);
    last();
  });
});

describe('places for uploads to an S3 store', () => {
  const open = () =>
    createS3Store({
      endpoint: 'http://127.0.0.1:1',
      bucket: 'none',
      region: 'us-east-1',
      forcePathStyle: true,
      ...credentials,
    });
  const admit = (store: ObjectStore, tenantId: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => store.admit(`${tenantId}/${newId()}`, 1)));

  it('8 for each tenant, and who comes late is refused at once', async () => {
    const store = open();
    const [tenant, other] = [newId(), newId()];
    const [first] = await admit(store, tenant, 8);
    await expect(admit(store, tenant, 1)).rejects.toThrow(StoreBusy.message);
    await admit(store, other, 8);
    first!();
    await admit(store, tenant, 1);
    await expect(admit(store, tenant, 1)).rejects.toMatchObject({ status: 503, retryAfterSeconds: 5 });
  });

  it('64 for all together', async () => {
    const store = open();
    const places = await Promise.all(Array.from({ length: 8 }, () => admit(store, newId(), 8)));
    await expect(admit(store, newId(), 1)).rejects.toThrow(StoreBusy.message);
    for (const leave of places.flat()) leave();
    await Promise.all(Array.from({ length: 8 }, () => admit(store, newId(), 8)));
  });
});

describe.skipIf(!hasSwift)(
  'the S3 store, on OpenStack Swift (skipped where Debian’s swift packages are missing)',
  () => {
    let swift: Swift;
    const stores: ObjectStore[] = [];
    beforeAll(async () => {
      swift = await startSwift();
    }, 120_000);
    afterAll(async () => {
      await Promise.all(stores.map((store) => store.close()));
      await swift?.stop();
    });

    const openStore = (changes: Partial<S3Options> = {}) => {
      const { endpoint, bucket } = swift;
      const region = 'us-east-1';
      const store = createS3Store({ endpoint, bucket, region, forcePathStyle: true, ...credentials, ...changes });
      stores.push(store);
      return store;
    };
    let shared: ObjectStore | undefined;
    behavesAsAStore(() => (shared ??= openStore()));

    it('is refused with a wrong secret and with an unknown key', async () => {
      const key = newKey();
      for (const wrong of [{ secretAccessKey: 'another-secret' }, { accessKeyId: 'test:unknown' }]) {
        const store = openStore(wrong);
        await expect(put(store, key, Buffer.from('x'))).rejects.toBeInstanceOf(Error);
        await expect(store.delete(key)).rejects.toBeInstanceOf(Error);
        await expect(store.get(key)).rejects.not.toThrow(ObjectMissing);
      }
      await expect(openStore().get(key)).rejects.toThrow(ObjectMissing);
    });

    it('fails, instead of reporting a missing object, when the server does not answer', async () => {
      const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as { port: number };
      const store = openStore({ endpoint: `http://127.0.0.1:${port}` });
      await expect(put(store, newKey(), Buffer.from('x'))).rejects.toBeInstanceOf(Error);
      await expect(store.get(newKey())).rejects.not.toThrow(ObjectMissing);
      await new Promise((resolve) => server.close(resolve));
      await expect(store.get(newKey())).rejects.not.toThrow(ObjectMissing);
    });
  },
);
