import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../..', import.meta.url));
export const main = path.join(repository, 'apps/server/src/app/main.ts');

const startTimeoutMs = 90_000;

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

type Environment = Readonly<Record<string, string>>;

/** How a start may differ from `node main.ts` as ourselves. */
export type StartOptions = {
  dataDir: string;
  env?: Environment;
  command?: readonly string[];
  uid?: number;
  /** A process group of its own, as a terminal or a service manager would give it. */
  detached?: boolean;
};

/** One run of the service as an operator sees it: its output, its address, its end. */
export class Service {
  readonly child: ChildProcess;
  readonly dataDir: string;
  readonly #detached: boolean;
  readonly exit: Promise<Exit>;
  stdout = '';
  stderr = '';
  base = '';

  constructor({ dataDir, env = {}, command = [process.execPath, main], uid, detached = false }: StartOptions) {
    this.dataDir = dataDir;
    this.#detached = detached;
    const [file, ...args] = command;
    this.child = spawn(file!, args, {
      cwd: repository,
      env: { PATH: process.env['PATH'], PORT: '0', DATA_DIR: dataDir, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached,
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    // 'close', not 'exit': by then everything that was written has been read.
    this.exit = once(this.child, 'close').then(([code, signal]) => ({ code, signal }));
  }

  get pid(): number {
    return this.child.pid!;
  }

  get port(): number {
    return Number(new URL(this.base).port);
  }

  kill(signal: NodeJS.Signals): Promise<Exit> {
    this.child.kill(signal);
    return this.exit;
  }

  /** Kills its process group. */
  async destroy(): Promise<void> {
    try {
      process.kill(this.#detached ? -this.pid : this.pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
    await this.exit;
  }
}

/** @throws Error with all output when the service ends instead of announcing where it serves. */
async function start(options: StartOptions): Promise<Service> {
  const service = new Service(options);
  let ended = false;
  void service.exit.then(() => (ended = true));
  await until(
    'the service announces its address',
    () => {
      if (ended) throw new Error(`the service ended: ${service.stdout}${service.stderr}`);
      service.base = /serves on (http:\S+)/.exec(service.stdout)?.[1] ?? '';
      return service.base !== '';
    },
    startTimeoutMs,
  );
  return service;
}

/** Runs a start that is expected to fail. */
export async function startRefused(options: StartOptions): Promise<Exit & { stdout: string; stderr: string }> {
  const service = new Service(options);
  const timer = setTimeout(() => service.child.kill('SIGKILL'), startTimeoutMs);
  const exit = await service.exit;
  clearTimeout(timer);
  return { ...exit, stdout: service.stdout, stderr: service.stderr };
}

/** Polls without assuming how long things take. */
export async function until(what: string, check: () => boolean | Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  for (const deadline = Date.now() + timeoutMs; ; await sleep(10)) {
    if (await check()) return;
    if (Date.now() > deadline) throw new Error(`timed out after ${timeoutMs} ms: ${what}`);
  }
}

/** The process id in the pid file of the embedded database. */
export function postmasterOf(dataDir: string): number {
  return Number(readFileSync(pidFileOf(dataDir), 'utf8').split('\n')[0]);
}

export function pidFileOf(dataDir: string): string {
  return path.join(realpathSync(path.join(dataDir, 'postgres')), 'postmaster.pid');
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A killed child stays in the process table as a zombie until its parent waits for it.
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      socket.destroy();
      resolve(true);
    }).once('error', () => resolve(false));
  });
}

/** Data folders for one test file; ends the services that still run on them. */
export class Workplace {
  readonly #folders: string[] = [];
  readonly #services: Service[] = [];

  dataDir(): string {
    const folder = mkdtempSync(path.join(tmpdir(), 'atrium-e2e-'));
    // PostgreSQL runs as another user when the tests run as root, and has to pass through.
    chmodSync(folder, 0o711);
    this.#folders.push(folder);
    return path.join(folder, 'data');
  }

  async start(options: StartOptions): Promise<Service> {
    const service = await start(options);
    this.#services.push(service);
    return service;
  }

  async clear(): Promise<void> {
    for (const service of this.#services.splice(0)) {
      await service.destroy();
      await stopPostmaster(service.dataDir);
    }
    for (const folder of this.#folders.splice(0)) {
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    }
  }
}

/** Waits for its end too: until then it may write into a folder that is being removed. */
async function stopPostmaster(dataDir: string): Promise<void> {
  let pid: number;
  try {
    pid = postmasterOf(dataDir);
    // A stale file may name any process, even the test itself.
    if (!isPostgres(pid)) return;
    process.kill(pid, 'SIGQUIT');
  } catch {
    return;
  }
  await until('PostgreSQL is gone', () => !isAlive(pid));
}

function isPostgres(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  return /postgres\S* -D /.test(stdout);
}
