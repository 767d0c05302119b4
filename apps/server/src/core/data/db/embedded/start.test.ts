import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { fitsSocket, isPrivateFolder } from './endpoint.ts';
import { isRoot, isRunning, newFolder, postmasterPid, query, serve, start, until } from './testing/harness.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

describe('startEmbeddedPostgres', () => {
  it('creates a cluster, answers on a private socket and ends with stop', async () => {
    const dataDir = newFolder();
    const server = await start({ dataDir, durable: true, settings: { work_mem: '7MB' } });
    const [row] = await query(
      server.connection,
      `
      select current_user as "user", current_database() as database, datlocprovider, datlocale, pg_encoding_to_char(encoding) as encoding,
             current_setting('data_checksums') as checksums, current_setting('fsync') as fsync, current_setting('TimeZone') as zone,
             current_setting('listen_addresses') as tcp, current_setting('work_mem') as work_mem
      from pg_database where datname = current_database()`,
    );
    expect(row).toEqual({
      user: 'atrium',
      database: 'atrium',
      datlocprovider: 'b',
      datlocale: 'C.UTF-8',
      encoding: 'UTF8',
      checksums: 'on',
      fsync: 'on',
      zone: 'UTC',
      tcp: '',
      work_mem: '7MB',
    });
    expect(server.connection).toMatchObject({ host: join(dataDir, 'postgres'), port: 5432 });
    expect(statSync(join(dataDir, 'postgres')).mode & 0o777).toBe(0o700);
    expect(server.stderrTail()).toContain('ready to accept connections');

    const pid = postmasterPid(dataDir);
    await Promise.all([server.stop(), server.stop()]);
    expect(isRunning(pid)).toBe(false);
    expect(readdirSync(dataDir)).toEqual(['postgres']);
  });

  it('keeps the data for the next start, also when the folder was left open to others', async () => {
    const dataDir = newFolder();
    const first = await start({ dataDir });
    await query(first.connection, 'create table kept as select 42 as value');
    await first.stop();
    chmodSync(join(dataDir, 'postgres'), 0o755);

    const second = await start({ dataDir });
    expect(await query(second.connection, 'select value from kept')).toEqual([{ value: 42 }]);
  });

  it('uses a short private folder for the socket when the path is too long', async () => {
    const dataDir = join(newFolder(), 'x'.repeat(100));
    const server = await start({ dataDir });
    onTestFinished(() => rmSync(server.connection.host, { recursive: true }));
    expect(server.connection.host).not.toContain(dataDir);
    expect(statSync(server.connection.host).mode & 0o777).toBe(0o700);
    expect(await query(server.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('uses loopback with a password when no socket is possible', async () => {
    const dataDir = join(newFolder(), 'x'.repeat(100));
    vi.stubEnv('TMPDIR', dataDir);
    onTestFinished(() => void vi.unstubAllEnvs());
    for (let round = 0; round < 2; round++) {
      const server = await start({ dataDir });
      expect(server.connection).toMatchObject({ host: '127.0.0.1', password: expect.stringMatching(/^[0-9a-f]{48}$/) });
      expect(await query(server.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
      await expect(query({ ...server.connection, password: 'wrong' }, 'select 1')).rejects.toMatchObject({
        code: '28P01',
      });
      await server.stop();
    }
    expect(statSync(join(dataDir, 'postgres.password')).mode & 0o777).toBe(0o600);
  });

  it('starts over when an earlier start was killed while it created the cluster', async () => {
    const dataDir = newFolder();
    const killed = serve(dataDir);
    const draft = await until(() => readdirSync(dataDir).find((name) => name.startsWith('postgres.init-')));
    await until(() => existsSync(join(dataDir, draft, 'PG_VERSION')) || !existsSync(join(dataDir, draft)));
    await killed.kill('SIGKILL');
    mkdirSync(join(dataDir, 'postgres.init-older', 'base'), { recursive: true });

    const server = await start({ dataDir });
    expect(await query(server.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(existsSync(join(dataDir, 'postgres.init-older'))).toBe(false);
  });
});

describe('startEmbeddedPostgres > refusals', () => {
  it('VERSION_MISMATCH', async () => {
    const dataDir = newFolder();
    await (await start({ dataDir })).stop();
    writeFileSync(join(dataDir, 'postgres/PG_VERSION'), '17\n');
    await expect(start({ dataDir })).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      message: expect.stringContaining(dataDir),
    });
    expect(existsSync(join(dataDir, 'atrium.lock'))).toBe(false);
  });

  it('DATA_DIR_UNUSABLE: a file in the way, a folder of something else, a link that leads nowhere', async () => {
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');
    const other = newFolder();
    mkdirSync(join(other, 'postgres/photos'), { recursive: true });
    const dangling = newFolder();
    symlinkSync('/nowhere/at/all', join(dangling, 'postgres'));
    for (const dataDir of [file, join(file, 'below'), other, dangling]) {
      await expect(start({ dataDir })).rejects.toMatchObject({
        code: 'DATA_DIR_UNUSABLE',
        message: expect.stringMatching(new RegExp(`^[^\\n]*${dataDir}[^\\n]*$`)),
      });
    }
  });

  it('START_FAILED tells what PostgreSQL complained about', async () => {
    const dataDir = newFolder();
    await expect(start({ dataDir, settings: { shared_buffers: 'plenty' } })).rejects.toMatchObject({
      code: 'START_FAILED',
      message: expect.stringMatching(/shared_buffers.*plenty/),
    });
    const server = await start({ dataDir });
    expect(await query(server.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('isPrivateFolder', () => {
  it('makes it, accepts its own, refuses a link', () => {
    const folder = newFolder();
    expect(isPrivateFolder(join(folder, 'own'), undefined)).toBe(true);
    expect(isPrivateFolder(join(folder, 'own'), undefined)).toBe(true);
    symlinkSync(join(folder, 'own'), join(folder, 'link'));
    expect(isPrivateFolder(join(folder, 'link'), undefined)).toBe(false);
  });

  it.runIf(isRoot)('refuses a folder of another owner', () => {
    const folder = newFolder();
    chownSync(folder, 12345, 12345);
    expect(isPrivateFolder(folder, { name: 'other', uid: 54321, gid: 54321 })).toBe(false);
    expect(isPrivateFolder(folder, { name: 'owner', uid: 12345, gid: 12345 })).toBe(true);
  });
});

describe('fitsSocket', () => {
  it('counts bytes and the name of the socket', () => {
    const longest = process.platform === 'linux' ? 93 : 89;
    expect(fitsSocket(`/${'x'.repeat(longest - 1)}`)).toBe(true);
    expect(fitsSocket(`/${'x'.repeat(longest)}`)).toBe(false);
    expect(fitsSocket(`/${'é'.repeat(47)}`)).toBe(false);
  });
});
