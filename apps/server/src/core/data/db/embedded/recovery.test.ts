import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import type { EmbeddedPostgresError } from './index.ts';
import { findServiceUser } from './processes.ts';
import { isRunning, newFolder, postmasterPid, query, queryWhenBack, serve, start, until } from './testing/harness.ts';

/** A small disk of its own takes root, on Linux. */
function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'at-'));
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).status === 0;
  if (isMounted) spawnSync('umount', [folder]);
  rmSync(folder, { recursive: true });
  return isMounted;
}

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

it('comes back at the same address after the server was killed, with what was committed', async () => {
  const dataDir = newFolder();
  const server = await start({ dataDir, durable: true });
  await query(server.connection, 'create table kept as select 42 as value');
  for (let round = 0; round < 2; round++) {
    process.kill(postmasterPid(dataDir), 'SIGKILL');
    expect(await queryWhenBack(server.connection, 'select value from kept')).toEqual([{ value: 42 }]);
  }
});

it('waits for a child of the killed server that is slow to go', async () => {
  const dataDir = newFolder();
  let refused = 0;
  const onLog = (line: string) => (refused += Number(line.includes('FATAL:  pre-existing shared memory')));
  const server = await start({ dataDir, onLog });
  const [writer] = await query(server.connection, `select pid from pg_stat_activity where backend_type = 'walwriter'`);
  process.kill(Number(writer?.pid), 'SIGSTOP');
  process.kill(postmasterPid(dataDir), 'SIGKILL');
  await until(() => refused > 5);
  process.kill(Number(writer?.pid), 'SIGCONT');
  expect(await queryWhenBack(server.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
});

it('stops cleanly while it is being started again', async () => {
  const dataDir = newFolder();
  const server = await start({ dataDir });
  process.kill(postmasterPid(dataDir), 'SIGKILL');
  await until(() => server.stderrTail().includes('starting it again'));
  await server.stop();
  const again = await start({ dataDir });
  expect(await query(again.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
});

it('gives up and says so when the server cannot come back', async () => {
  const dataDir = newFolder();
  const { promise, resolve } = Promise.withResolvers<EmbeddedPostgresError>();
  const server = await start({ dataDir, onFatal: resolve });
  renameSync(join(dataDir, 'postgres/global'), join(dataDir, 'postgres/global.gone'));
  process.kill(postmasterPid(dataDir), 'SIGKILL');
  expect(await promise).toMatchObject({ code: 'START_FAILED', message: expect.stringContaining(dataDir) });
  await server.stop();
});

describe.skipIf(!canMount())('a disk that fills', () => {
  const mebibyte = 1024 * 1024;

  function newDisk(sizeBytes: number): {
    dataDir: string;
    freeBytes(): number;
    fill(leftBytes: number): void;
    free(): void;
  } {
    const dataDir = newFolder();
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes},mode=755`, 'tmpfs', dataDir]);
    onTestFinished(() => void execFileSync('umount', ['-l', dataDir]));
    const filler = join(dataDir, 'filler');
    const freeBytes = () => {
      const { bavail, bsize } = statfsSync(dataDir);
      return bavail * bsize;
    };
    return {
      dataDir,
      freeBytes,
      fill: (leftBytes) => {
        const chunk = Buffer.alloc(64 * 1024);
        while (freeBytes() >= leftBytes + chunk.length) appendFileSync(filler, chunk);
      },
      free: () => rmSync(filler),
    };
  }

  const write = (server: Awaited<ReturnType<typeof start>>) =>
    query(server.connection, 'insert into kept values (1)').then(
      () => 'written',
      (error: { code?: string }) => error.code,
    );

  it('makes the database read-only before the disk is full, and writable once there is room', async () => {
    const disk = newDisk(400 * mebibyte);
    const server = await start({ dataDir: disk.dataDir });
    await query(server.connection, 'create table kept as select 42 as value');
    disk.fill(40 * mebibyte);
    await until(async () => (await write(server)) === '25006');
    expect(await query(server.connection, 'select value from kept where value = 42')).toEqual([{ value: 42 }]);
    expect(server.stderrTail()).toContain('the database is read-only');
    disk.free();
    await until(async () => (await write(server)) === 'written');
  });

  it('recovers from a crash on a disk without room, to read and, once there is room, to write', async () => {
    const disk = newDisk(400 * mebibyte);
    const server = await start({ dataDir: disk.dataDir, durable: true });
    await query(server.connection, 'create table kept as select 42 as value');
    disk.fill(0);
    await until(async () => (await write(server)) === '25006');
    process.kill(postmasterPid(disk.dataDir), 'SIGKILL');
    expect(await queryWhenBack(server.connection, 'select value from kept where value = 42')).toEqual([{ value: 42 }]);
    disk.free();
    await until(async () => (await write(server)) === 'written');
  });
});

it('takes over from an Atrium that was killed and left its server running', async () => {
  const dataDir = newFolder();
  const killed = serve(dataDir);
  const { connection, postmaster } = await killed.outcome;
  await query(connection, 'create table kept as select 42 as value');
  await killed.kill('SIGKILL');
  expect(isRunning(postmaster)).toBe(true);

  const server = await start({ dataDir });
  expect(isRunning(postmaster)).toBe(false);
  expect(await query(server.connection, 'select value from kept')).toEqual([{ value: 42 }]);
});

it('leaves no server behind when the process exits without stop', async () => {
  const dataDir = newFolder();
  const served = serve(dataDir, { andThen: 'exit' });
  const { postmaster } = await served.outcome;
  await served.stop();
  await until(() => !isRunning(postmaster));
  const server = await start({ dataDir });
  expect(await query(server.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
});

it('keeps the server out of the process group that Ctrl-C reaches', async () => {
  const dataDir = newFolder();
  await start({ dataDir });
  const pid = postmasterPid(dataDir);
  expect(() => process.kill(-pid, 0)).not.toThrow();
});

it('lets exactly one of several starters win and leaves the winner alone', async () => {
  const dataDir = newFolder();
  const children = Array.from({ length: 3 }, () => serve(dataDir));
  const outcomes = await Promise.all(children.map((child) => child.outcome));
  const winners = outcomes.filter(({ connection }) => connection !== undefined);
  expect(winners).toHaveLength(1);
  const winner = children[outcomes.findIndex(({ connection }) => connection !== undefined)]!;
  for (const loser of outcomes.filter(({ connection }) => connection === undefined)) {
    expect(loser).toEqual({ code: 'DATA_DIR_IN_USE', message: expect.stringContaining(`pid ${winner?.process.pid}`) });
  }
  await expect(start({ dataDir })).rejects.toMatchObject({
    code: 'DATA_DIR_IN_USE',
    message: expect.stringContaining(dataDir),
  });
  expect(await query(winners[0]!.connection, 'select 1 as one')).toEqual([{ one: 1 }]);

  const own = newFolder();
  const both = await Promise.allSettled([start({ dataDir: own }), start({ dataDir: own })]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
});

it('ignores pid files that name an unrelated live process', async () => {
  const dataDir = newFolder();
  await (await start({ dataDir })).stop();
  // The same account as the server's, since PostgreSQL ignores processes that it may not signal.
  const unrelated = spawn('sleep', ['1000'], { cwd: '/', stdio: 'ignore', ...findServiceUser() });
  onTestFinished(() => void unrelated.kill('SIGKILL'));
  const text = `${unrelated.pid}\n${dataDir}/postgres\n1700000000\n5432\n${dataDir}/postgres\n\n  1234567         1\nready   \n`;
  writeFileSync(join(dataDir, 'postgres/postmaster.pid'), text);
  writeFileSync(join(dataDir, 'postgres/.s.PGSQL.5432.lock'), text);

  const server = await start({ dataDir });
  expect(await query(server.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  expect(isRunning(unrelated.pid)).toBe(true);
});

it('does not touch a server that runs where its process cannot be seen', async () => {
  const dataDir = newFolder();
  const other = newFolder();
  const server = await start({ dataDir: other });
  // As on a volume shared by two containers: the socket answers, the pid file says nothing useful here.
  mkdirSync(join(dataDir, 'postgres'), { mode: 0o700 });
  symlinkSync(join(other, 'postgres/.s.PGSQL.5432'), join(dataDir, 'postgres/.s.PGSQL.5432'));
  await expect(start({ dataDir })).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' });
  expect(await query(server.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
});

it('sees through a link to a data folder that is in use', async () => {
  const dataDir = newFolder();
  const alias = join(newFolder(), 'alias');
  symlinkSync(dataDir, alias);
  await start({ dataDir });
  await expect(start({ dataDir: alias })).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' });
});
