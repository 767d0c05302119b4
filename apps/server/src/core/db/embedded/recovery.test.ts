import { spawn } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';

import type { EmbeddedPostgresError } from './index.ts';
import { findServiceUser } from './processes.ts';
import { isRunning, newFolder, postmasterPid, query, queryWhenBack, serve, start, until } from './testing/harness.ts';

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

it('is not misled by pid files that name a live process of somebody else', async () => {
  const dataDir = newFolder();
  await (await start({ dataDir })).stop();
  // The same account as the server's, since PostgreSQL ignores processes that it may not signal.
  const stranger = spawn('sleep', ['1000'], { cwd: '/', stdio: 'ignore', ...findServiceUser() });
  onTestFinished(() => void stranger.kill('SIGKILL'));
  const text = `${stranger.pid}\n${dataDir}/postgres\n1700000000\n5432\n${dataDir}/postgres\n\n  1234567         1\nready   \n`;
  writeFileSync(join(dataDir, 'postgres/postmaster.pid'), text);
  writeFileSync(join(dataDir, 'postgres/.s.PGSQL.5432.lock'), text);

  const server = await start({ dataDir });
  expect(await query(server.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  expect(isRunning(stranger.pid)).toBe(true);
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
