import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import { createMemoryStore } from '#core/data/rate-limit/memory-store';
import type { BlockingLimit } from '#core/data/rate-limit/rate-limiter';
import { createRedisStore, type RedisStore } from '#core/data/rate-limit/redis-store';
import { securitySetting } from '#core/platform/limits/config';
import { createDatabase } from '#test/support/database';
import { logInSystemAdmin } from '#test/support/factories';
import { startService, testServiceOf, type TestService } from '#test/support/harness';

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
const waitOptions = { timeout: 30_000 };

let folder: string;
let port: number;
let redis: ChildProcess | undefined;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return free;
}

async function startRedis(): Promise<void> {
  const settings = ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--dir', folder];
  redis = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'ignore'] });
  const server = redis;
  await new Promise<void>((resolve, reject) => {
    server.stdout!.on('data', (text: Buffer) => void (text.includes('Ready to accept') && resolve()));
    server.once('exit', () => reject(new Error('redis-server ended')));
  });
}

async function killRedis(): Promise<void> {
  redis!.kill('SIGKILL');
  await once(redis!, 'exit');
}

describe.skipIf(!hasRedis)('the redis store (skipped without a redis-server)', () => {
  const open: RedisStore[] = [];
  const lines: string[] = [];
  const log = { info: (line: string) => lines.push(line), warn: (_facts: object, line: string) => lines.push(line) };
  const limit: BlockingLimit = { max: 100, windowMs: 60_000, blockMs: 60_000, maxViolations: 3 };
  let round = 0;
  const someone = () => `203.0.113.${round++}`;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'atrium-redis-'));
    await vi.waitFor(async () => {
      // Another process may take it before redis does.
      port = await freePort();
      await startRedis();
    }, waitOptions);
  });
  afterEach(() => {
    for (const store of open.splice(0)) store.close();
  });
  afterAll(async () => {
    await killRedis();
    rmSync(folder, { recursive: true });
  });

  /** Waits for redis as long as a busy machine needs, where it is not the wait that is tested. */
  async function process(prefix = 'test:', timeoutMs = 30_000): Promise<RedisStore> {
    const now = () => Date.now();
    const url = `redis://127.0.0.1:${port}`;
    const local = createMemoryStore(now);
    const store = createRedisStore({ url, prefix, local, log: log as never, now, timeoutMs });
    open.push(store);
    await vi.waitUntil(() => store.isUp(), waitOptions);
    return store;
  }

  const passed = async (takes: readonly unknown[]) =>
    (await Promise.all(takes)).filter((refusal) => refusal === undefined).length;

  it.each([50, 100, 150, 200])('%i requests over two processes at once: exactly a hundred pass', async (width) => {
    const processes = [await process(), await process()];
    const address = someone();
    const takes = Array.from({ length: width }, (_, at) => processes[at % 2]!.take(address, limit));
    expect(await passed(takes)).toBe(Math.min(100, width));
    expect(await processes[0]!.count(address, limit.windowMs)).toBe(width > 100 ? 0 : width);
  });

  it('blocks in every process, and says for how long', async () => {
    const [one, other] = [await process(), await process()];
    const address = someone();
    await passed(Array.from({ length: 101 }, () => one.take(address, limit)));
    const refusal = (await other.take(address, limit))!;
    expect(refusal.retryAfterMs).toBeGreaterThan(0);
    expect(refusal.retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(refusal.isLastViolation).toBe(false);
    // Blocked locally from this time: no call to redis, and no promise.
    expect(other.take(address, limit)).not.toBeInstanceOf(Promise);
  });

  it('counts violations together', async () => {
    const processes = [await process(), await process()];
    const address = someone();
    const straws: boolean[] = [];
    for (let at = 0; at < 6; at++) {
      // Another time each, so that the block of before is not asked for.
      const refusal = await processes[at % 2]!.take(address, { ...limit, max: 0, blockMs: 60_000 + at });
      straws.push(refusal!.isLastViolation);
    }
    expect(straws).toEqual([false, false, true, false, false, true]);
  });

  it('keeps the keys of installations apart, and lets them all expire', async () => {
    const [one, other] = [await process('one:'), await process('other:')];
    const address = someone();
    await passed(Array.from({ length: 101 }, () => one.take(address, limit)));
    expect(await other.take(address, limit)).toBe(undefined);
    const cli = (...words: string[]) =>
      spawnSync('redis-cli', ['-p', String(port), ...words])
        .stdout.toString()
        .trim();
    const keys = cli('--scan').split('\n');
    expect(keys.length).toBeGreaterThanOrEqual(3);
    expect(keys.filter((key) => Number(cli('ttl', key)) < 0)).toEqual([]);
  });

  it('counts in the process while redis is gone, and together again when it is back', async () => {
    const store = await process();
    await killRedis();
    await vi.waitUntil(() => !store.isUp(), waitOptions);
    const address = someone();
    const takes = Array.from({ length: 150 }, () => store.take(address, limit));
    expect(takes.some((take) => take instanceof Promise)).toBe(false);
    expect(await passed(takes)).toBe(100);
    await startRedis();
    await vi.waitUntil(() => store.isUp(), waitOptions);
    expect(await passed(Array.from({ length: 150 }, () => store.take(someone(), limit)))).toBe(150);
    expect(lines.filter((line) => line.includes('does not answer'))).not.toEqual([]);
  });

  it('waits for a frozen redis only briefly, and then no more', async () => {
    const store = await process('test:', 100);
    redis!.kill('SIGSTOP');
    try {
      const address = someone();
      const takes = Array.from({ length: 150 }, () => store.take(address, limit));
      expect(await passed(takes)).toBe(100);
      expect(store.isUp()).toBe(false);
      expect(store.take(someone(), limit)).toBe(undefined);
    } finally {
      redis!.kill('SIGCONT');
    }
    await vi.waitUntil(() => store.isUp(), waitOptions);
  });

  describe('two services', () => {
    let services: TestService[];
    let drop: () => Promise<unknown>;
    const info = '/api/v1/system/info';
    const health = '/api/v1/system/health';

    beforeAll(async () => {
      const own = await createDatabase();
      const { connection } = own;
      ({ drop } = own);
      const environment = { REDIS_URL: `redis://127.0.0.1:${port}`, REDIS_PREFIX: `${own.connection.database}:` };
      const start = async () => testServiceOf(await startService({ connection, environment }), connection);
      services = [await start(), await start()];
    });
    afterAll(async () => {
      await Promise.all(services.map(({ service }) => service.close()));
      await drop();
    });

    it('count together, say so when redis is gone, and go on', async () => {
      const [one, other] = services as [TestService, TestService];
      const state = async (level: string) => (await one.call('GET', `${health}?level=${level}`)).body;
      const areShared = async () => (await state('basic')).status === 'ok';
      await vi.waitUntil(areShared, waitOptions);
      await vi.waitUntil(() => other.service.services.limits.shared() === 'up', waitOptions);
      expect((await state('full')).services.redis).toMatchObject({ status: 'healthy' });
      const { token } = await logInSystemAdmin(one);
      const body = { dos_max_requests_per_ip: 100 };
      const config = '/api/v1/system/security/config';
      expect((await one.call('PATCH', `${config}?force=true`, { token, body })).status).toBe(200);
      const { runtimeSettings } = other.service.services;
      await vi.waitUntil(() => runtimeSettings.current(securitySetting).dos_max_requests_per_ip === 100, waitOptions);
      let asked = 0;
      const requests = (ip = `203.0.113.${200 + asked++}`) =>
        Promise.all(Array.from({ length: 150 }, (_, at) => services[at % 2]!.call('GET', info, { ip })));
      const served = (answers: { status: number }[]) => answers.filter(({ status }) => status === 200).length;
      // An address without earlier requests: on a busy machine redis may answer too late for an earlier one to be counted.
      await vi.waitFor(async () => expect(served(await requests())).toBe(100), waitOptions);
      await killRedis();
      await vi.waitUntil(async () => !(await areShared()), waitOptions);
      await vi.waitUntil(() => other.service.services.limits.shared() === 'down', waitOptions);
      expect(await state('basic')).toMatchObject({ status: 'degraded', degradedServices: ['redis'] });
      expect(await state('ready')).toMatchObject({ status: 'degraded', degradedServices: ['redis'], ready: true });
      expect(await state('full')).toMatchObject({ status: 'degraded', services: { redis: { status: 'unhealthy' } } });
      // 75 in each of the two, which is less than either allows.
      expect(served(await requests())).toBe(150);
      await startRedis();
      await vi.waitUntil(areShared, waitOptions);
      await vi.waitUntil(() => other.service.services.limits.shared() === 'up', waitOptions);
      await vi.waitFor(async () => expect(served(await requests())).toBe(100), waitOptions);
    });
  });
});
