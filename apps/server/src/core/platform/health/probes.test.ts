import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type pg from 'pg';
import { SMTPServer } from 'smtp-server';
import { describe, expect, inject, it, vi } from 'vitest';

import type { Service } from '#app/service';
import { newId } from '#core/base/crypto/ids';
import { createLocalStore } from '#core/data/files/local-store';
import { createS3Store } from '#core/data/files/s3-store';
import { withClient } from '#test/support/database';
import { startService, testServiceOf, useService, type Answer, type TestService } from '#test/support/harness';
import { useOpened } from '#test/support/opened';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const { open, listen } = useOpened();

const waitMs = 30_000;
const stateOf = async (test: TestService, name: string) =>
  (await test.service.services.health.states()).find((state) => state.name === name);

async function start(environment: Record<string, string>, connection = inject('connection')): Promise<TestService> {
  const service: Service = await startService({ environment, connection });
  open.push(() => service.close());
  return testServiceOf(service, connection);
}

/** A way to the database that can be frozen: what comes then is neither answered nor refused. */
async function freezable(): Promise<{ connection: pg.ClientConfig; freeze(): void; thaw(): void }> {
  const real = inject('connection');
  const pairs = new Set<Socket>();
  let isFrozen = false;
  const server = createServer((socket) => {
    const target = real.host!.startsWith('/')
      ? connect(`${real.host}/.s.PGSQL.${real.port}`)
      : connect(real.port!, real.host);
    for (const [from, to] of [
      [socket, target],
      [target, socket],
    ] as const) {
      pairs.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.on('data', (bytes) => to.write(bytes));
      if (isFrozen) from.pause();
    }
  });
  const port = await listen(server);
  return {
    connection: { ...real, host: '127.0.0.1', port },
    freeze() {
      isFrozen = true;
      for (const socket of pairs) socket.pause();
    },
    thaw() {
      isFrozen = false;
      for (const socket of pairs) socket.resume();
    },
  };
}

describe('a frozen database', () => {
  it('is asked once for all who ask, refused in about a second, and seen again as soon as it goes on', async () => {
    const way = await freezable();
    const test = await start({}, way.connection);
    const health = (level: string): Promise<Answer> => test.call('GET', `/api/v1/system/health?level=${level}`);
    await vi.waitFor(async () => expect((await health('ready')).status).toBe(200), waitMs);
    const { database } = test.service.services;
    const asked = () => {
      const load = database.pools().find(({ role, pool }) => role === 'platform' && pool === 'primary')!;
      return load.flights + load.waiting;
    };
    await vi.waitFor(() => expect(asked()).toBe(0), waitMs);
    way.freeze();
    open.push(() => way.thaw());
    await vi.waitFor(async () => {
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, at) => health(at % 2 === 0 ? 'ready' : 'full')),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
      expect(answers[0]!.body.details).toEqual({
        ready: false,
        degradedServices: expect.arrayContaining(['database']),
      });
    }, waitMs);
    expect(asked()).toBeLessThanOrEqual(1);
    expect((await health('basic')).body).toMatchObject({ degradedServices: expect.arrayContaining(['database']) });
    expect((await test.call('GET', '/api/v1/system/info')).body).toMatchObject({
      status: 'degraded',
      services: { database: { status: 'unhealthy', message: 'not reachable' } },
    });
    way.thaw();
    await vi.waitFor(async () => expect((await health('ready')).status).toBe(200), waitMs);
  }, 120_000);
});

describe('storage', () => {
  it('is a folder that can be written to, and nothing stays in it', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'atrium-health-'));
    open.push(() => rm(folder, { recursive: true, force: true }));
    const store = createLocalStore(path.join(folder, 'files'));
    await store.check(new AbortController().signal);
    expect(await readdir(path.join(folder, 'files'))).toEqual([]);
    await rm(path.join(folder, 'files'), { recursive: true });
    await expect(store.check(new AbortController().signal)).rejects.toThrow('ENOENT');
  });

  it('is not healthy on a full disk', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'atrium-health-'));
    open.push(() => rm(folder, { recursive: true, force: true }));
    const store = createLocalStore(folder, () => Promise.resolve({ totalBytes: 100_000_000, freeBytes: 1000 }));
    await expect(store.check(new AbortController().signal)).rejects.toMatchObject({ details: { code: 'STORE_FULL' } });
  });

  it('is unhealthy in health, in words', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'atrium-health-'));
    open.push(() => rm(folder, { recursive: true, force: true }));
    const test = await start({ DATA_DIR: folder });
    expect(await stateOf(test, 'storage')).toMatchObject({ status: 'healthy', message: 'writable' });
    await rm(folder, { recursive: true });
    const full = () => test.call('GET', '/api/v1/system/health?level=full');
    await vi.waitFor(async () => expect((await full()).body.degradedServices).toContain('storage'), waitMs);
    const { status, body, text } = await full();
    expect([status, body.services.storage]).toMatchObject([200, { status: 'unhealthy', message: 'not writable' }]);
    expect(text).not.toContain(folder);
  });

  it('is a bucket that answers', async () => {
    const answers: Record<string, string> = { good: '200 OK', missing: '404 Not Found', closed: '403 Forbidden' };
    const port = await listen(
      createServer((socket) =>
        socket.on('data', (bytes) => {
          const bucket = /^HEAD \/(\w+)/.exec(bytes.toString())?.[1] ?? '';
          if (bucket in answers) socket.end(`HTTP/1.1 ${answers[bucket]}\r\ncontent-length: 0\r\n\r\n`);
        }),
      ),
    );
    const check = (bucket: string, signal = new AbortController().signal) => {
      const credentials = { accessKeyId: 'a', secretAccessKey: 'b', region: 'us-east-1', forcePathStyle: true };
      const store = createS3Store({ endpoint: `http://127.0.0.1:${port}`, bucket, ...credentials });
      open.push(() => store.close());
      return store.check(signal);
    };
    await check('good');
    await expect(check('missing')).rejects.toMatchObject({ name: 'NotFound' });
    await expect(check('closed')).rejects.toMatchObject({ $metadata: { httpStatusCode: 403 } });
    await expect(check('silent', AbortSignal.timeout(50))).rejects.toThrow(/abort/i);
  });
});

async function startMailServer() {
  const smtp = new SMTPServer({ disabledCommands: ['AUTH', 'STARTTLS'], logger: false });
  smtp.on('error', () => undefined);
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  return { smtp, port: (smtp.server.address() as AddressInfo).port };
}

describe('mail', () => {
  // The relay of a service takes all mails of its database, and what others left there counts as overdue.
  const own = useService({ ownDatabase: true });
  const startWith = (port: number) => start({ SMTP_URL: `smtp://127.0.0.1:${port}` }, own.connection);

  /** The probe of a service without its deadlines of a second, which a busy machine may miss. */
  async function probe(port: number) {
    const { listProbes } = await import('#core/platform/health/probes');
    const smtpUrl = `smtp://127.0.0.1:${port}`;
    const probes = listProbes({ ...own.service.services, smtpUrl, mailTimeoutMs: 60_000, now: () => new Date() });
    return probes.find(({ name }) => name === 'mail')!.check(new AbortController().signal);
  }

  it('is not listed where no mail server is configured', async () => {
    expect(await stateOf(await start({}), 'mail')).toBeUndefined();
  });

  it('is a server that greets', async () => {
    const { smtp, port } = await startMailServer();
    expect(await probe(port)).toEqual({ status: 'healthy', message: 'reachable' });
    const test = await startWith(port);
    const isHealthy = async () => expect(await stateOf(test, 'mail')).toMatchObject({ status: 'healthy' });
    // A busy machine may miss the second of the first check, and the next one comes after half a minute.
    await vi.waitFor(isHealthy, { timeout: 100_000, interval: 1000 });
    await new Promise<void>((resolve) => smtp.close(() => resolve()));
    await expect(probe(port)).rejects.toThrow('ECONNREFUSED');
    expect(await stateOf(await startWith(port), 'mail')).toMatchObject({
      status: 'unhealthy',
      message: 'no mail server answers',
    });
  });

  it.each([
    ['says nothing', () => undefined],
    ['says something else', (socket: Socket) => void socket.write('SSH-2.0-OpenSSH_9.6\r\n')],
    ['is not ready', (socket: Socket) => void socket.write('554 no service\r\n')],
    ['hangs up', (socket: Socket) => void socket.destroy()],
  ])('is not healthy with a server that %s', async (_how, behave) => {
    const test = await startWith(await listen(createServer(behave)));
    expect(await stateOf(test, 'mail')).toMatchObject({ status: 'unhealthy', message: 'no mail server answers' });
    const { status, body } = await test.call('GET', '/api/v1/system/health?level=ready');
    expect([status, body.degradedServices]).toEqual([200, ['mail']]);
  });

  it('is degraded without delivery attempts, though the server greets', async () => {
    const overdue = async (minutes: number) => {
      const at = new Date(Date.now() - minutes * 60_000).toISOString();
      await withClient(own.connection, (client) =>
        client.query(
          `insert into mail_outbox (id, recipient, subject, body, created_at, attempts, next_attempt_at)
           values ($1, 'a@example.com', 's', '', $2, 0, $2)`,
          [newId(), at],
        ),
      );
      const { smtp, port } = await startMailServer();
      open.push(() => smtp.close());
      return probe(port);
    };
    expect(await overdue(2)).toEqual({ status: 'healthy', message: 'reachable' });
    expect(await overdue(20)).toEqual({ status: 'degraded', message: 'mails wait for longer than they should' });
  });
});

describe('logs', () => {
  it('that the database does not take are seen, and that they are taken again', async () => {
    const way = await freezable();
    const test = await start({}, way.connection);
    const { logging, log, health } = test.service.services;
    const logs = () => health.known().find(({ name }) => name === 'logs');
    await logging.flush();
    expect(logs()).toMatchObject({ status: 'healthy', message: 'kept' });
    way.freeze();
    open.push(() => way.thaw());
    log.info('a line that waits');
    void logging.flush();
    const waits = { status: 'degraded', message: 'log lines wait: the database does not take them' };
    await vi.waitFor(() => expect(logs()).toMatchObject(waits), 60_000);
    way.thaw();
    await vi.waitFor(() => expect(logs()).toMatchObject({ status: 'healthy' }), 60_000);
  }, 150_000);

  it('that were dropped are seen for a minute', async () => {
    const test = await start({});
    const { listProbes } = await import('#core/platform/health/probes');
    const { services } = test.service;
    const at = Date.now();
    const verdictAt = (now: number) => {
      const state = () => ({ ...services.logging.state(), isWaiting: false, dropped: 3, lastDropAt: at });
      const parts = { ...services, logging: { state }, smtpUrl: undefined, now: () => new Date(now) };
      return listProbes(parts)
        .find(({ name }) => name === 'logs')!
        .check(AbortSignal.abort());
    };
    expect(verdictAt(at + 59_999)).toMatchObject({ status: 'degraded' });
    expect(verdictAt(at + 60_000)).toMatchObject({ status: 'healthy' });
  });
});
