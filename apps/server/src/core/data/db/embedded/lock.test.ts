import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it, vi } from 'vitest';

import { lockDataDir } from './lock.ts';
import { newFolder } from './testing/harness.ts';

vi.setConfig({ testTimeout: 120_000 });

it('has one holder, in the same process too, and is free after release', () => {
  const dataDir = newFolder();
  const lock = lockDataDir(dataDir);
  expect(() => lockDataDir(dataDir)).toThrow(new RegExp(`${dataDir}.*pid ${process.pid}`));
  lock.release();
  lockDataDir(dataDir).release();
  expect(existsSync(join(dataDir, 'atrium.lock'))).toBe(false);
});

it('is taken over from a dead process, from one that inherited its id, and when torn', () => {
  const dataDir = newFolder();
  for (const text of ['1073741824\nsome time\nan-id\n', `${process.pid}\nanother time\nan-id\n`, '']) {
    writeFileSync(join(dataDir, 'atrium.lock'), text);
    const lock = lockDataDir(dataDir);
    expect(readFileSync(join(dataDir, 'atrium.lock'), 'utf8')).toMatch(new RegExp(`^${process.pid}\n`));
    lock.release();
  }
});

it('is taken over although another process died while taking it over', () => {
  const dataDir = newFolder();
  writeFileSync(join(dataDir, 'atrium.lock'), '1073741824\nsome time\nfirst\n');
  writeFileSync(join(dataDir, 'atrium.lock.first'), '1073741825\nsome time\nsecond\n');
  lockDataDir(dataDir);
  expect(() => lockDataDir(dataDir)).toThrow('in use');
});

it('goes to exactly one of those who find it stale at the same moment', async () => {
  const parent = newFolder();
  const folders = Array.from({ length: 2000 }, (_, round) => join(parent, String(round)));
  for (const folder of folders) {
    mkdirSync(folder);
    writeFileSync(join(folder, 'atrium.lock'), '1073741824\nsome time\nfirst\n');
  }
  const workerData = { folders, threads: 2, arrived: new Int32Array(new SharedArrayBuffer(4 * folders.length)) };
  const script = join(import.meta.dirname, 'testing/hold-lock.ts');
  const results = await Promise.all(
    [1, 2].map(async () => {
      const [won] = await once(new Worker(script, { workerData }), 'message');
      return won as boolean[];
    }),
  );
  expect(folders.filter((_, round) => results.filter((won) => won[round]).length !== 1)).toEqual([]);
});
