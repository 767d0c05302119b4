import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished, vi } from 'vitest';

import { lockDataDir } from './lock.ts';
import { newFolder } from './testing/harness.ts';

vi.setConfig({ testTimeout: 120_000 });

async function contend(dataDir: string, at: number): Promise<{ said: string; kill(): Promise<unknown> }> {
  const script = join(import.meta.dirname, 'testing/hold-lock.ts');
  const child = spawn(process.execPath, [script, dataDir, String(at)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said] = await once(createInterface(child.stdout), 'line');
  return { said: String(said), kill: () => (child.kill('SIGKILL'), exit) };
}

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

it('is taken over although somebody died while taking it over', () => {
  const dataDir = newFolder();
  writeFileSync(join(dataDir, 'atrium.lock'), '1073741824\nsome time\nfirst\n');
  writeFileSync(join(dataDir, 'atrium.lock.first'), '1073741825\nsome time\nsecond\n');
  lockDataDir(dataDir);
  expect(() => lockDataDir(dataDir)).toThrow('in use');
});

it('goes to exactly one of many who find it stale at the same moment, again and again', async () => {
  const dataDir = newFolder();
  writeFileSync(join(dataDir, 'atrium.lock'), '1073741824\nsome time\nfirst\n');
  for (let round = 0; round < 5; round++) {
    const at = Date.now() + 500;
    const contenders = await Promise.all(Array.from({ length: 6 }, () => contend(dataDir, at)));
    expect(contenders.map(({ said }) => said).sort()).toEqual([...Array<string>(5).fill('DATA_DIR_IN_USE'), 'won']);
    await Promise.all(contenders.map(({ kill }) => kill()));
  }
});
