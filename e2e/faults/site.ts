import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

import { Client } from '../support/client.ts';
import { embeddedIn } from '../support/database.ts';
import { allowLoad } from '../support/doors.ts';
import { isAlive, postmasterOf, until, type Service, type Workplace } from '../support/service.ts';
import { startWorkers, workersOf } from '../support/workers.ts';
import type { Random } from './random.ts';

const recoveryMs = 60_000;
/** The embedded server is given up after five deaths in thirty seconds. */
const deathWindowMs = 31_000;
const fewDeaths = 3;

const administrator = { SYSTEM_ADMIN_EMAIL: 'root@example.com', SYSTEM_ADMIN_PASSWORD: 'a password of the operator' };

/** One installation with an embedded database, and the hands that do it harm. */
export class Site {
  readonly dataDir: string;
  readonly #workplace: Workplace;
  readonly #env: Record<string, string>;
  #postmasterDeaths: number[] = [];
  service!: Service;
  workers = false;

  constructor(workplace: Workplace, env: Record<string, string> = {}, dataDir = workplace.dataDir()) {
    this.#workplace = workplace;
    this.dataDir = dataDir;
    this.#env = { ...administrator, LOG_LEVEL: 'info', ACCESS_TOKEN_SECONDS: '3600', ...env };
  }

  get base(): string {
    return this.service.base;
  }

  async start(workers: boolean): Promise<void> {
    this.workers = workers;
    const options = { dataDir: this.dataDir, env: this.#env };
    this.service = workers ? await startWorkers(this.#workplace, options) : await this.#workplace.start(options);
    this.#postmasterDeaths = [];
  }

  async logIn(): Promise<Client> {
    const client = new Client(this.base);
    await client.logIn(administrator.SYSTEM_ADMIN_EMAIL, administrator.SYSTEM_ADMIN_PASSWORD);
    return client;
  }

  async allowLoad(): Promise<void> {
    await allowLoad(await this.logIn());
  }

  async killService(): Promise<void> {
    const workers = this.workers ? workersOf(this.service) : [];
    await this.service.kill('SIGKILL');
    await until('no worker is left', () => workers.every((pid) => !isAlive(pid)), recoveryMs);
  }

  async killWorker(random: Random): Promise<void> {
    const killed = random.pick(workersOf(this.service));
    process.kill(killed, 'SIGKILL');
    await until('the worker is replaced', () => workersOf(this.service).length === 2 && !isAlive(killed), recoveryMs);
  }

  get mayKillPostmaster(): boolean {
    this.#postmasterDeaths = this.#postmasterDeaths.filter((at) => at > Date.now() - deathWindowMs);
    return this.#postmasterDeaths.length < fewDeaths;
  }

  async killPostmaster(): Promise<void> {
    this.#postmasterDeaths.push(Date.now());
    const killed = postmasterOf(this.dataDir);
    process.kill(killed, 'SIGKILL');
    await until('the database is replaced', () => postmasterIsOther(this.dataDir, killed), recoveryMs);
  }

  /** One server process of PostgreSQL: it ends all others and recovers. */
  killBackend(random: Random): void {
    const backends = childrenOf(postmasterOf(this.dataDir)).filter(({ args }) => / atrium atrium /.test(args));
    if (backends.length === 0) throw new Error('PostgreSQL has no server process for this service');
    process.kill(random.pick(backends).pid, 'SIGKILL');
  }

  /** Stops PostgreSQL in its tracks for as long as `meanwhile` takes. */
  async freeze(meanwhile: () => Promise<void>): Promise<void> {
    const postmaster = postmasterOf(this.dataDir);
    process.kill(postmaster, 'SIGSTOP');
    const stopped = childrenOf(postmaster).map(({ pid }) => pid);
    for (const pid of stopped) signal(pid, 'SIGSTOP');
    try {
      await meanwhile();
    } finally {
      for (const pid of [...stopped, postmaster]) signal(pid, 'SIGCONT');
    }
  }

  async untilReady(status: 200 | 503, timeoutMs = recoveryMs): Promise<void> {
    await until(`health says ${status}`, async () => (await this.#health('?level=ready')) === status, timeoutMs);
  }

  async isServing(): Promise<boolean> {
    return (await this.#health('')) === 200;
  }

  /** Rows as the owner of the database sees them. */
  async query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
    const client = new pg.Client(embeddedIn(this.dataDir));
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  async #health(query: string): Promise<number | undefined> {
    const asked = fetch(`${this.base}/api/v1/system/health${query}`, { signal: AbortSignal.timeout(10_000) });
    const response = await asked.catch(() => undefined);
    await response?.arrayBuffer();
    return response?.status;
  }
}

/** Counters of all tenants against the rows that they count: always exact, because both change in one transaction. */
export async function compareCounters(site: Site): Promise<string[]> {
  const storage = await site.query(`
    select s.tenant_id, s.usage_bytes, s.reserved_bytes, f.stored, f.uploading
    from tenant_storage s
    left join lateral (
      select coalesce(sum(size_bytes) filter (where status = 'stored'), 0) as stored,
             coalesce(sum(size_bytes) filter (where status = 'uploading'), 0) as uploading
      from files where files.tenant_id = s.tenant_id
    ) f on true
    where s.usage_bytes <> f.stored or s.reserved_bytes <> f.uploading`);
  const totals = await site.query(`
    select * from (
      select tenant_id, 'contacts' as table_name, count(*) as rows from contacts group by 1
      union all select tenant_id, 'spaces', count(*) from spaces group by 1
    ) counted
    left join lateral (
      select sum(amount) as amount from row_counts
      where row_counts.tenant_id = counted.tenant_id and row_counts.table_name = counted.table_name
    ) kept on true
    where kept.amount is distinct from counted.rows`);
  return [...storage, ...totals].map((row) => `a counter is wrong: ${JSON.stringify(row)}`);
}

function postmasterIsOther(dataDir: string, killed: number): boolean {
  try {
    const pid = postmasterOf(dataDir);
    return pid !== killed && isAlive(pid);
  } catch {
    return false;
  }
}

function childrenOf(parent: number): { pid: number; args: string }[] {
  const { stdout } = spawnSync('ps', ['-ww', '-o', 'pid=,args=', '--ppid', String(parent)], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => ({ pid: Number.parseInt(line, 10), args: `${line} ` }));
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

/** Waits until the database has finished abandoned requests. */
export async function settle<Problem>(find: () => Promise<Problem[]>): Promise<Problem[]> {
  for (const deadline = Date.now() + 10_000; ; await sleep(200)) {
    const problems = await find();
    if (problems.length === 0 || Date.now() > deadline) return problems;
  }
}
