import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { Client, newTenant } from './support/client.ts';
import { embeddedIn, onDatabase } from './support/database.ts';
import {
  accepts,
  isAlive,
  main,
  postmasterOf,
  startRefused,
  until,
  Workplace,
  type StartOptions,
} from './support/service.ts';
import { startWorkers } from './support/workers.ts';

// Whole services are started for each test, on a machine that may be busy.
vi.setConfig({ testTimeout: 240_000 });

const workplace = new Workplace();
afterEach(() => workplace.clear());

const administrator = 'admin@atrium.local';
const key = randomBytes(32).toString('base64');

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

describe('what a start prints', () => {
  it('the address, the reference, the data folder, and the generated password exactly once', async () => {
    const dataDir = workplace.dataDir();
    const first = await workplace.start({ dataDir });
    expect(first.stdout).toContain(`serves on http://127.0.0.1:${first.port}`);
    expect(first.stdout).toContain(`${first.base}/docs`);
    expect(first.stdout).toContain(dataDir);
    const password = /password (\S+)/.exec(first.stdout)![1]!;
    expect((await new Client(first.base).logIn(administrator, password)).status).toBe(200);
    await first.kill('SIGTERM');
    expect(count(first.stdout + first.stderr, password)).toBe(1);

    const second = await workplace.start({ dataDir });
    expect((await new Client(second.base).logIn(administrator, password)).status).toBe(200);
    await second.kill('SIGTERM');
    expect(second.stdout + second.stderr).not.toContain(password);
    expect(second.stdout).not.toContain(' password ');
  });

  it('no password that the operator configured', async () => {
    const password = randomBytes(12).toString('hex');
    const service = await workplace.start({
      dataDir: workplace.dataDir(),
      env: { SYSTEM_ADMIN_PASSWORD: password, SYSTEM_ADMIN_EMAIL: 'root@example.com' },
    });
    expect((await new Client(service.base).logIn('root@example.com', password)).status).toBe(200);
    await service.kill('SIGTERM');
    expect(service.stdout + service.stderr).not.toContain(password);
  });
});

describe('a restart', () => {
  it('keeps data, sessions and tokens', async () => {
    const dataDir = workplace.dataDir();
    const first = await workplace.start({ dataDir });
    const { client } = await newTenant(first.base);
    const id = await client.createContact('Kept');
    expect(await first.kill('SIGTERM')).toEqual({ code: 0, signal: null });

    const second = await workplace.start({ dataDir });
    const later = new Client(second.base);
    later.take({ accessToken: client.accessToken!, refreshToken: client.refreshToken! });
    expect((await later.get(`/api/v1/secure/contacts/${id}`)).status).toBe(200);
    const refreshed = await later.post('/api/v1/public/auth/refresh', { refreshToken: later.refreshToken });
    expect(refreshed.status).toBe(200);
  });
});

describe('a start that cannot succeed ends with 1 and one line that names the reason', () => {
  async function expectRefusal(env: Record<string, string>, reason: string | RegExp, dataDir = workplace.dataDir()) {
    const { code, stdout, stderr } = await startRefused({ dataDir, env });
    expect(stderr).toMatch(reason);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stdout).toBe('');
    expect(code).toBe(1);
  }

  it.each([
    ['PORT', 'abc'],
    ['PORT', '70000'],
    ['ENCRYPTION_KEY', 'short'],
    ['DATABASE_URL', 'mysql://localhost/atrium'],
    ['LOG_LEVEL', 'loud'],
    ['SYSTEM_ADMIN_EMAIL', 'invalid'],
    ['PUBLIC_URL', 'not a url'],
    ['TRUSTED_PROXIES', 'proxy.example'],
  ])('%s=%s', async (name, value) => {
    await expectRefusal({ [name]: value }, name);
  });

  it('DATABASE_URL without ENCRYPTION_KEY', async () => {
    await expectRefusal({ DATABASE_URL: 'postgres://localhost/atrium' }, 'ENCRYPTION_KEY');
  });

  it('a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await until('another program listens', () => other.listening);
    const { port } = other.address() as AddressInfo;
    const dataDir = workplace.dataDir();
    await expectRefusal({ PORT: String(port) }, new RegExp(`${port}.*in use`), dataDir);
    other.close();
    // Nothing of the failed start is in the way of the next one.
    const service = await workplace.start({ dataDir });
    expect((await fetch(`${service.base}/api/v1/system/health`)).status).toBe(200);
  });

  it('a database that cannot be reached', async () => {
    const url = `postgres://atrium:very-secret@127.0.0.1:${await freePort()}/atrium`;
    const { code, stderr } = await startRefused({
      dataDir: workplace.dataDir(),
      env: { DATABASE_URL: url, ENCRYPTION_KEY: key },
    });
    expect(stderr).toMatch(/^[^\n]*DATABASE_URL[^\n]*\n$/);
    expect(stderr).not.toContain('very-secret');
    expect(code).toBe(1);
  });

  it('a data folder that another service uses, which continues', async () => {
    const dataDir = workplace.dataDir();
    const first = await workplace.start({ dataDir });
    await expectRefusal({}, /DATA_DIR/, dataDir);
    const { client } = await newTenant(first.base);
    await client.createContact('Still here');
  });

  it('a data folder of an unreleased version', async () => {
    const dataDir = workplace.dataDir();
    const first = await workplace.start({ dataDir });
    const rename = `update schema_migrations set name = '0001-foundation.sql' where name like '0001-%'`;
    await onDatabase(embeddedIn(dataDir), rename);
    await first.kill('SIGTERM');
    await expectRefusal({}, /unreleased version.*empty data folder/, dataDir);
  });

  const unprivilegedUid = 65_534;
  const isRoot = process.getuid?.() === 0;
  const unprivilegedMayRun =
    isRoot &&
    spawnSync(process.execPath, ['-e', `fs.accessSync('${main}')`], { uid: unprivilegedUid, cwd: '/' }).status === 0;

  // Root may write anywhere, so root starts the service as an unprivileged user, if that user can read the checkout.
  it.runIf(!isRoot || unprivilegedMayRun)('a data folder without write permission', async () => {
    const dataDir = workplace.dataDir();
    mkdirSync(dataDir);
    chmodSync(dataDir, 0o555);
    const { code, stderr } = await startRefused({ dataDir, ...(isRoot ? { uid: unprivilegedUid } : {}) });
    expect(stderr).toMatch(/^[^\n]*DATA_DIR[^\n]*\n$/);
    expect(stderr).toContain(dataDir);
    expect(code).toBe(1);
  });
});

describe('a stop', () => {
  it('answers all running requests, then exits with 0', async () => {
    const service = await workplace.start({ dataDir: workplace.dataDir() });
    const { client } = await newTenant(service.base);
    // Logins take turns at the password hash, so most of them are still waiting when the first is answered.
    const logins = Array.from({ length: 30 }, (_, at) =>
      new Client(service.base).post('/api/v1/public/auth/login', {
        email: `n${at}@example.com`,
        password: 'wrong one',
      }),
    );
    const creates = Array.from({ length: 20 }, (_, at) =>
      client.post('/api/v1/secure/contacts', { firstName: `Number ${at}` }),
    );
    // Sent after the logins: once these are answered, all of those have reached the service.
    const created = await Promise.all(creates);
    service.child.kill('SIGTERM');
    expect(new Set(created.map(({ status }) => status))).toEqual(new Set([201]));
    const answers = await Promise.all(logins);
    expect([401, 503]).toEqual(expect.arrayContaining([...new Set(answers.map(({ status }) => status))]));
    expect(await service.exit).toEqual({ code: 0, signal: null });
    expect(service.stderr).toBe('');
    expect(await accepts(service.port)).toBe(false);
  });

  it.each([
    ['one process', (options: StartOptions) => workplace.start(options)],
    ['two workers', (options: StartOptions) => startWorkers(workplace, options)],
  ])('ends in time although its output is not read: %s', async (_how, start) => {
    const dataDir = workplace.dataDir();
    const service = await start({ dataDir });
    const postmaster = postmasterOf(dataDir);
    const ended = once(service.child, 'exit');
    service.child.stdout!.pause();
    // Each is a line of some 250 bytes; what the system holds of them for a reader is less than all.
    const ask = async () => {
      for (let asked = 0; asked < 250; asked++) await new Client(service.base).get('/api/v1/system/info');
    };
    await Promise.all(Array.from({ length: 16 }, ask));
    service.child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    await until('PostgreSQL is gone', () => !isAlive(postmaster));
    service.child.stdout!.resume();
  });

  it.each(['the npm process', 'the whole process group'])('of `npm start` by a signal to %s', async (whom) => {
    const dataDir = workplace.dataDir();
    const service = await workplace.start({ dataDir, command: ['npm', 'start'], detached: true });
    const postmaster = postmasterOf(dataDir);
    process.kill(whom === 'the npm process' ? service.pid : -service.pid, 'SIGTERM');
    expect(await service.exit).toEqual({ code: 0, signal: null });
    await until('PostgreSQL is gone', () => !isAlive(postmaster));
    expect(await accepts(service.port)).toBe(false);
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await until('a port is found', () => server.listening);
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

describe('a stop', () => {
  it('answers an upload that outlasts it 503, and the process exits with 0', async () => {
    const service = await workplace.start({ dataDir: workplace.dataDir() });
    const { client } = await newTenant(service.base);
    const socket = connect({ port: service.port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    const head = [
      'POST /api/v1/secure/files?name=long.txt HTTP/1.1',
      'host: x',
      `authorization: Bearer ${client.accessToken}`,
      'content-type: text/plain',
      'content-length: 100000000',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    const sending = setInterval(() => socket.write('x'.repeat(8192)), 20);
    const stored = () => client.get('/api/v1/secure/files');
    await until('the upload is under way', async () => (await stored()).status === 200);
    const exit = await service.kill('SIGTERM').finally(() => clearInterval(sending));
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1\.1 503 [^]*connection: close/i);
    expect(exit).toEqual({ code: 0, signal: null });
  });

  it('cuts a download that outlasts it, and the process exits with 0', async () => {
    const service = await workplace.start({ dataDir: workplace.dataDir() });
    const { client } = await newTenant(service.base);
    const headers = { authorization: `Bearer ${client.accessToken}` };
    const files = `${service.base}/api/v1/secure/files`;
    const size = 64 * 1024 * 1024;
    const stored = await fetch(`${files}?name=long.txt`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'text/plain' },
      body: Buffer.alloc(size, 'x'),
    });
    const { data } = (await stored.json()) as { data: { id: string } };
    const socket = connect({ port: service.port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    socket.write(`GET ${new URL(files).pathname}/${data.id}/content HTTP/1.1\r\nhost: x\r\n`);
    socket.write(`authorization: ${headers.authorization}\r\n\r\n`);
    await once(socket, 'readable');
    const exit = await service.kill('SIGTERM');
    let received = '';
    socket.on('data', (chunk: Buffer) => (received ||= chunk.toString()));
    await once(socket, 'close');
    expect(received).toMatch(/^HTTP\/1.1 200 /);
    expect(socket.bytesRead).toBeLessThan(size);
    expect(exit).toEqual({ code: 0, signal: null });
  });
});
