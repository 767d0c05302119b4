import { request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { Client, newTenant } from './support/client.ts';
import { embeddedIn, onDatabase } from './support/database.ts';
import { allowLoad, Doors } from './support/doors.ts';
import { Load } from './support/load.ts';
import { accepts, isAlive, postmasterOf, startRefused, until, Workplace, type Service } from './support/service.ts';
import { comeBack } from './support/walk.ts';
import { launchedBy, linesOf, startWorkers, workersOf } from './support/workers.ts';

// Two or three processes are started for each test, on a machine that may be busy.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 120_000 });

const workplace = new Workplace();
afterEach(() => workplace.clear());

const me = '/api/v1/auth/me';
const connections = 12;
const timeoutMs = 120_000;
const pauseMs = 10;

const administrator = { SYSTEM_ADMIN_EMAIL: 'root@example.com', SYSTEM_ADMIN_PASSWORD: 'a password of the operator' };

async function administratorOf({ base }: Service): Promise<Client> {
  const client = new Client(base);
  await client.logIn(administrator.SYSTEM_ADMIN_EMAIL, administrator.SYSTEM_ADMIN_PASSWORD);
  return client;
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** A request on a connection of its own: the status, or the error it ended with. */
function visit({ base }: Service, token?: string): Promise<number | string> {
  const headers = { connection: 'close', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  return new Promise((resolve) => {
    const sent = request(`${base}${me}`, { headers, agent: false }, (response) => {
      response.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code!));
      response.on('end', () => resolve(response.complete ? response.statusCode! : 'cut')).resume();
    });
    sent.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code!)).end();
  });
}

/** Visits one after the other, several at a time; the pauses are for the processes that are started meanwhile. */
class Visitors {
  readonly outcomes = new Map<number | string, number>();
  open = 0;
  #stopped = false;

  constructor(service: Service, client: Client) {
    for (let number = 0; number < connections; number++) void this.#visit(service, client.accessToken!);
  }

  get answered(): number {
    return this.outcomes.get(200) ?? 0;
  }

  async answerMore(): Promise<void> {
    const before = this.answered;
    await until('more visitors are answered', () => this.answered > before + 2 * connections, timeoutMs);
  }

  /** Fails when one of them hangs. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await until('every connection has ended', () => this.open === 0, timeoutMs);
  }

  async #visit(service: Service, token: string): Promise<void> {
    this.open++;
    while (!this.#stopped) {
      const outcome = await visit(service, token);
      this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
      await sleep(pauseMs);
    }
    this.open--;
  }
}

describe('a start with workers', () => {
  it('announces itself and the generated password once, and ends with everything it started', async () => {
    const dataDir = workplace.dataDir();
    const service = await startWorkers(workplace, { dataDir });
    const password = /password (\S+)/.exec(service.stdout)![1]!;
    expect(count(service.stdout, 'serves on')).toBe(1);
    expect(count(service.stdout + service.stderr, password)).toBe(1);
    expect((await new Client(service.base).logIn('admin@atrium.local', password)).status).toBe(200);
    const processes = [...workersOf(service), postmasterOf(dataDir)];
    expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(processes.filter((pid) => isAlive(pid))).toEqual([]);
    expect(service.stderr).toBe('');
  });

  it('`npm start -- --workers 2` ends with its process group', async () => {
    const dataDir = workplace.dataDir();
    const command = ['npm', 'start', '--', '--workers', '2'];
    const service = await workplace.start({ dataDir, command, detached: true });
    await until('both workers serve', () => workersOf(service).length === 2);
    const processes = [...workersOf(service), postmasterOf(dataDir)];
    process.kill(-service.pid, 'SIGINT');
    await service.exit;
    await until('nothing is left', () => processes.every((pid) => !isAlive(pid)));
    expect(await accepts(service.port)).toBe(false);
  });

  it('that cannot succeed ends with 1 and one line that names the reason', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await until('another program listens', () => other.listening);
    const { port } = other.address() as AddressInfo;
    const refused = await startRefused({
      dataDir: workplace.dataDir(),
      env: { PORT: String(port), WORKERS: '2', LOG_LEVEL: 'warn' },
    });
    other.close();
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(new RegExp(`^atrium: [^\\n]*${port}[^\\n]*in use[^\\n]*\\n$`));
  });
});

describe('kill -9', () => {
  it('of a worker: the others serve, and it is replaced', async () => {
    const service = await startWorkers(workplace, { dataDir: workplace.dataDir() });
    const { client } = await newTenant(service.base);
    const [first, second] = workersOf(service);
    process.kill(first!, 'SIGKILL');
    await until('it is replaced', () => workersOf(service).length === 2 && !workersOf(service).includes(first!));
    process.kill(second!, 'SIGKILL');
    await until('that too', () => workersOf(service).length === 2 && !workersOf(service).includes(second!));
    expect((await client.get(me)).status).toBe(200);
    expect(linesOf(service.stdout, 'a worker has ended and is replaced')).toHaveLength(2);
  });

  it('of all workers at once: new connections are answered after the workers are replaced', async () => {
    const service = await startWorkers(workplace, { dataDir: workplace.dataDir() });
    const { client } = await newTenant(service.base);
    const killed = workersOf(service);
    for (const pid of killed) process.kill(pid, 'SIGKILL');
    const visits = Array.from({ length: connections }, () => visit(service, client.accessToken));
    expect(new Set(await Promise.all(visits))).toEqual(new Set([200]));
    await until('both are replaced', () => workersOf(service).length === 2);
    expect(workersOf(service).some((pid) => killed.includes(pid))).toBe(false);
  });

  it('of a worker before it confirms a connection: another worker answers it', async () => {
    const service = await startWorkers(workplace, { dataDir: workplace.dataDir() });
    const [standing] = workersOf(service);
    process.kill(standing!, 'SIGSTOP');
    const outcomes: (number | string)[] = [];
    const visits = Array.from({ length: connections }, async () => outcomes.push(await visit(service)));
    await until('all are answered but the one it was given', () => outcomes.length === connections - 1);
    process.kill(standing!, 'SIGKILL');
    await Promise.all(visits);
    expect(outcomes).toEqual(Array.from({ length: connections }, () => 401));
  });

  it('of all workers in turn under a load of new connections: each is answered or closed, and none hangs', async () => {
    const options = { dataDir: workplace.dataDir(), env: { ...administrator, WORKERS: '3' } };
    const service = await workplace.start(options);
    await allowLoad(await administratorOf(service));
    const { client } = await newTenant(service.base);
    const visitors = new Visitors(service, client);
    await until('all workers serve', () => workersOf(service).length === 3, timeoutMs);
    // After the last kill no worker serves until the first is replaced.
    for (const pid of workersOf(service)) {
      await visitors.answerMore();
      process.kill(pid, 'SIGKILL');
    }
    await visitors.answerMore();
    await visitors.stop();
    const cut = ['ECONNRESET', 'EPIPE', 'cut'];
    expect([...visitors.outcomes.keys()].filter((outcome) => !cut.includes(String(outcome)))).toEqual([200]);
    await until('each was replaced', () => workersOf(service).length === 3, timeoutMs);
    expect(launchedBy(service)).toHaveLength(6);
    expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('of the supervising process: all workers end, and the next start has all data', async () => {
    const dataDir = workplace.dataDir();
    const first = await startWorkers(workplace, { dataDir });
    const { client, email } = await newTenant(first.base);
    const id = await client.createContact('Kept');
    const workers = workersOf(first);
    await first.kill('SIGKILL');
    await until('the workers have ended', () => workers.every((pid) => !isAlive(pid)));
    expect(await accepts(first.port)).toBe(false);

    const second = await startWorkers(workplace, { dataDir });
    const again = await comeBack(second.base, email);
    expect((await again.get(`/api/v1/secure/contacts/${id}`)).status).toBe(200);
  });
});

it('SIGTERM to a worker: all requests are answered while it takes no more connections', async () => {
  const service = await startWorkers(workplace, { dataDir: workplace.dataDir(), env: administrator });
  await allowLoad(await administratorOf(service));
  const { client } = await newTenant(service.base);
  const visitors = new Visitors(service, client);
  for (const pid of workersOf(service)) {
    await visitors.answerMore();
    process.kill(pid, 'SIGTERM');
    await until('it is replaced', () => !isAlive(pid) && workersOf(service).length === 2, timeoutMs);
  }
  await visitors.answerMore();
  await visitors.stop();
  expect([...visitors.outcomes.keys()]).toEqual([200]);
});

it('metrics cover all workers, each labelled with its number', async () => {
  const token = 'a-token-for-the-one-who-scrapes';
  const service = await startWorkers(workplace, { dataDir: workplace.dataDir(), env: { METRICS_TOKEN: token } });
  const { client } = await newTenant(service.base);
  const doors = new Doors([service.base]);
  for (let round = 0; round < 5; round++) await doors.statuses('GET', me, { token: client.accessToken });
  const counted = async () => {
    const { status, text } = await scrape(service, token);
    expect(status).toBe(200);
    return [...text.matchAll(/^http_request_duration_seconds_count\{(.*)\} (\d+)$/gm)]
      .filter(([, labels]) => labels!.includes(`route="${me}"`))
      .map(([, labels, value]) => ({ worker: /worker="(\d)"/.exec(labels!)?.[1], value: Number(value) }));
  };
  // The one who is asked first may be counted a moment after it has answered.
  const isWhole = async () => (await counted()).reduce((sum, { value }) => sum + value, 0) === 20;
  await until('all requests are counted', isWhole);
  const byWorker = (await counted()).toSorted((left, right) => Number(left.worker) - Number(right.worker));
  expect(byWorker).toEqual([
    { worker: '1', value: 10 },
    { worker: '2', value: 10 },
  ]);
  doors.close();
});

async function scrape({ base }: Service, token: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${base}/api/v1/system/metrics`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, text: await response.text() };
}

describe('SIGHUP', () => {
  it('replaces the workers under load: every request is answered', async () => {
    const service = await startWorkers(workplace, { dataDir: workplace.dataDir(), env: administrator });
    await allowLoad(await administratorOf(service));
    const { client } = await newTenant(service.base);
    const load = new Load(client, connections);
    const before = workersOf(service);
    await until('the load runs', () => load.answered > 100);
    service.child.kill('SIGHUP');
    await until(
      'all workers are others',
      () => {
        const now = workersOf(service);
        return now.length === 2 && now.every((pid) => !before.includes(pid));
      },
      timeoutMs,
    );
    const report = await load.stop();
    expect(report.failures).toEqual([]);
    expect([...report.statuses.keys()].toSorted((left, right) => left - right)).toEqual([200, 201]);
    expect(launchedBy(service)).toHaveLength(4);
    // Connections were indeed moved from one worker to the next.
    expect(report.connections).toBeGreaterThan(connections);
    expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('leaves the old workers serving when a new one does not start', async () => {
    const dataDir = workplace.dataDir();
    const service = await startWorkers(workplace, { dataDir });
    const { client } = await newTenant(service.base);
    const before = workersOf(service);
    await onDatabase(embeddedIn(dataDir), `update schema_migrations set checksum = 'x' || checksum`);
    service.child.kill('SIGHUP');
    const failure = 'a new worker does not start: the others continue to serve';
    await until('the failure is told', () => linesOf(service.stdout, failure).length === 1);
    expect(linesOf(service.stdout, failure)[0].reason).toMatch(/^Migration .* was changed/);
    expect(workersOf(service)).toEqual(before);
    expect((await client.get(me)).status).toBe(200);

    await onDatabase(embeddedIn(dataDir), `update schema_migrations set checksum = substr(checksum, 2)`);
    service.child.kill('SIGHUP');
    await until('the next attempt succeeds', () => workersOf(service).every((pid) => !before.includes(pid)), timeoutMs);
  });
});
