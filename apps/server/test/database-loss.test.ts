import { readFileSync, readdirSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import type { Service } from '#app/service';
import { newId } from '#core/base/crypto/ids';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#core/data/db/embedded/index';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, startService, testServiceOf, type Answer, type TestService } from '#test/support/harness';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let dataDir: string;
let postgres: EmbeddedPostgres;
let service: Service;
let test: TestService;
let tenant: Tenant;
const frozen: number[] = [];

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-loss-'));
  await chmod(dataDir, 0o711);
  // A killed process loses what it had not handed to the operating system; only the disk may be lazy here.
  postgres = await startEmbeddedPostgres({ dataDir, durable: false, settings: { synchronous_commit: 'on' } });
  service = await startService({ connection: postgres.connection });
  test = testServiceOf(service, postgres.connection);
  tenant = await createTenant(test);
});
afterEach(() => thaw());
afterAll(async () => {
  thaw();
  await service.close();
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
});

function postmaster(): number {
  return Number(readFileSync(path.join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);
}

/** Kills the server at once and waits until it is really gone: what works afterwards works on the next one. */
async function killServer(): Promise<void> {
  const pid = postmaster();
  process.kill(pid, 'SIGKILL');
  while (isRunning(pid)) await turn();
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** The processes of the server: the postmaster and all that it has started. */
function serverProcesses(): number[] {
  const parent = postmaster();
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return Number(/^\d+ \(.*\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]) === parent;
      } catch {
        return false;
      }
    });
  return [parent, ...children];
}

function freeze(): void {
  // The postmaster first, so that it starts nothing new meanwhile.
  for (const pid of serverProcesses()) {
    process.kill(pid, 'SIGSTOP');
    frozen.push(pid);
  }
}

function thaw(): void {
  for (const pid of frozen.splice(0)) {
    try {
      process.kill(pid, 'SIGCONT');
    } catch {
      // It was killed by the test itself.
    }
  }
}

const contacts = '/api/v1/secure/contacts';

/** Reads, writes and logins at once, as a service under load has them. */
function requests(count: number): Promise<Answer[]> {
  const { token, email, password } = tenant.admin;
  return Promise.all(
    Array.from({ length: count }, (_item, at) => {
      if (at % 4 === 0) return test.call('POST', contacts, { token, body: { firstName: 'Ada' } });
      if (at % 4 === 1) return test.call('POST', '/api/v1/secure/spaces', { token, body: { name: 'Room' } });
      if (at % 16 === 2) return test.call('POST', '/api/v1/public/auth/login', { body: { email, password } });
      return test.call('GET', contacts, { token });
    }),
  );
}

/** Either it worked, or the standard body says to come back later. */
function expectAnsweredOrUnavailable(answers: readonly Answer[]): void {
  for (const answer of answers) {
    if (answer.status < 300) continue;
    expectError(answer, 503, 'SERVICE_UNAVAILABLE');
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(answer.text).not.toMatch(/postgres|ECONN|sock|terminat/i);
  }
}

/** Requests one after the other until one works; all before it must say that the service is unavailable. */
async function untilItWorks(method: 'GET' | 'POST', body?: object): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const answer = await test.call(method, contacts, { token: tenant.admin.token, body });
    if (answer.status < 300) return attempt;
    expectAnsweredOrUnavailable([answer]);
    // The reconnection gets on meanwhile.
    await turn();
  }
}

async function untilAllWork(): Promise<void> {
  for (;;) {
    const answers = await requests(16);
    expectAnsweredOrUnavailable(answers);
    if (answers.every((answer) => answer.status < 300)) return;
    await turn();
  }
}

// Four kills in all: what keeps dying is given up at the fifth within half a minute.
it('a server that is killed during requests: 503 until it is back, then everything works', async () => {
  for (let round = 0; round < 2; round++) {
    const underWay = requests(64);
    await killServer();
    expectAnsweredOrUnavailable(await underWay);
    await untilItWorks('GET');
    await untilItWorks('POST', { firstName: 'Ada' });
    await untilAllWork();
  }
});

it('sessions that ended during the outage stay ended', async () => {
  const { email, password } = tenant.admin;
  const answer = await test.call('POST', '/api/v1/public/auth/login', { body: { email, password } });
  const token = answer.body.accessToken as string;
  expect((await test.call('GET', contacts, { token })).status).toBe(200);
  await test.call('POST', '/api/v1/public/auth/logout', { token });
  await killServer();
  let after: Answer;
  do after = await test.call('GET', contacts, { token });
  while (after.status === 503);
  expectError(after, 401, 'INVALID_TOKEN');
});

it('security events during the outage are written exactly once after it', async () => {
  const tenantId = newId();
  const record = (count: number) => {
    const event = { type: 'permission_denied', tenantId, userId: null, details: {} } as const;
    for (let at = 0; at < count; at++) service.services.securityEvents.record(event);
  };
  record(1500);
  await killServer();
  record(700);
  await untilItWorks('GET');
  const written = async () => {
    const text = 'select count(*) from security_events where concerned_tenant_id = $1';
    const db = service.services.database.platform();
    return (await db.interactive.first<{ count: number }>({ kind: 'write', text, values: [tenantId], prepare: false }))
      ?.count;
  };
  await vi.waitFor(async () => expect(await written()).toBe(2200), { timeout: 60_000, interval: 100 });
  record(1);
  await vi.waitFor(async () => expect(await written()).toBe(2201), { timeout: 60_000, interval: 100 });
});

// Finding the server's processes needs /proc.
describe.skipIf(process.platform !== 'linux')('a server that runs but does not respond', () => {
  it('connections that the server closes one by one are opened again', async () => {
    const own = service.services.database.platform();
    for (let round = 0; round < 5; round++) {
      const underWay = requests(32);
      for (const pid of serverProcesses().slice(1)) if (isBackend(pid)) process.kill(pid, 'SIGTERM');
      expectAnsweredOrUnavailable(await underWay);
      await untilItWorks('GET');
    }
    await expect(own.all({ kind: 'read', text: 'select 1 as one', values: [], prepare: true })).resolves.toEqual([
      { one: 1 },
    ]);
  });

  it('a backend that crashes closes all connections: 503, then recovery', async () => {
    const underWay = requests(32);
    const [backend] = serverProcesses().slice(1).filter(isBackend);
    process.kill(backend!, 'SIGKILL');
    expectAnsweredOrUnavailable(await underWay);
    await untilItWorks('GET');
    await untilItWorks('POST', { firstName: 'Ada' });
  });

  it('lines logged while the server is frozen are stored after it continues', async () => {
    const mark = newId();
    const lines = service.services.log.child({ service: 'frozen' });
    lines.info(`before ${mark}`);
    freeze();
    for (let at = 0; at < 700; at++) lines.info(`frozen ${mark}`);
    expect((await test.call('GET', '/api/v1/system/health')).status).toBe(200);
    thaw();
    const written = async () => {
      const text = `select count(*) from application_logs where service = 'frozen' and message like $1`;
      const db = service.services.database.platform();
      return (
        await db.interactive.first<{ count: number }>({ kind: 'write', text, values: [`%${mark}`], prepare: false })
      )?.count;
    };
    await vi.waitFor(async () => expect(await written()).toBe(701), { timeout: 60_000, interval: 100 });
  });

  it('a frozen server: 503 instead of an endless wait, and recovery when it continues', async () => {
    freeze();
    const answers = await requests(24);
    expectAnsweredOrUnavailable(answers);
    expect(answers.filter((answer) => answer.status === 503).length).toBeGreaterThan(0);
    // What needs no database goes on all the while.
    expect((await test.call('GET', '/api/v1/system/health')).status).toBe(200);
    expectError(await test.call('GET', '/api/v1/system/health?level=ready'), 503, 'SERVICE_UNAVAILABLE');
    thaw();
    await untilItWorks('GET');
    await untilItWorks('POST', { firstName: 'Ada' });
  });
});

function isBackend(pid: number): boolean {
  try {
    return /atrium/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  } catch {
    return false;
  }
}
