import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { onTestFinished } from 'vitest';

import { startEmbeddedPostgres, type EmbeddedPostgres, type EmbeddedPostgresOptions } from '../index.ts';
import { parsePasswd, type OsUser } from '../processes.ts';

export const isRoot = process.getuid?.() === 0;
export const unprivilegedUser = parsePasswd(readFileSync('/etc/passwd', 'utf8')).find(({ name }) => name === 'nobody');
/** False where the checkout lies in a folder that only root can enter. */
export const canRunUnprivileged =
  isRoot &&
  unprivilegedUser !== undefined &&
  spawnSync(process.execPath, ['-v'], { ...unprivilegedUser, cwd: '/' }).status === 0;

/** A short folder below the temporary one, gone after the test. */
export function newFolder(mode = 0o755): string {
  const folder = mkdtempSync(join(tmpdir(), 'at-'));
  chmodSync(folder, mode);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Starts in this process; stopped after the test at the latest. */
export async function start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ durable: false, ...options });
  onTestFinished(() => server.stop());
  return server;
}

export async function query(
  connection: EmbeddedPostgres['connection'] | undefined,
  sql: string,
): Promise<Record<string, unknown>[]> {
  if (connection === undefined) throw new Error('The server did not start.');
  const client = new pg.Client(connection);
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** As a pool would: tries again until the server is back. */
export async function queryWhenBack(
  connection: EmbeddedPostgres['connection'],
  sql: string,
): Promise<Record<string, unknown>[]> {
  return until(() => query(connection, sql).catch(() => undefined));
}

/** Polls until there is a result; the test's own time limit ends it. */
export async function until<Result>(
  attempt: () => Result | Promise<Result>,
): Promise<Exclude<Result, undefined | false>> {
  for (;;) {
    const result = await attempt();
    if (result !== undefined && result !== false) return result as Exclude<Result, undefined | false>;
    await sleep(10);
  }
}

export function postmasterPid(dataDir: string): number {
  return Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);
}

export function isRunning(pid = 0): boolean {
  try {
    return pid > 0 && process.kill(pid, 0) && !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (error) {
    return (error as NodeJS.ErrnoException).path !== undefined && process.platform !== 'linux';
  }
}

export type Outcome = {
  connection?: EmbeddedPostgres['connection'];
  postmaster?: number;
  code?: string;
  message?: string;
};

type Served = {
  process: ChildProcess;
  outcome: Promise<Outcome>;
  kill(signal: NodeJS.Signals): Promise<void>;
  stop(): Promise<void>;
};

/** Starts in a process of its own, which the test may kill; `script` names another copy of the code. */
export function serve(
  dataDir: string,
  options: { user?: OsUser | undefined; andThen?: 'exit'; script?: string } = {},
): Served {
  const script = options.script ?? join(import.meta.dirname, 'serve.ts');
  const child = spawn(process.execPath, [script, dataDir, options.andThen ?? 'stay'], {
    cwd: '/',
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(options.user && { uid: options.user.uid, gid: options.user.gid }),
  });
  const exit = once(child, 'exit');
  const outcome = once(createInterface(child.stdout), 'line').then(([line]) => JSON.parse(String(line)) as Outcome);
  const served: Served = {
    process: child,
    outcome,
    kill: async (signal) => {
      child.kill(signal);
      await exit;
    },
    stop: async () => {
      child.stdin.on('error', () => undefined).write('stop\n');
      child.stdin.end();
      await exit;
    },
  };
  onTestFinished(() => served.stop());
  return served;
}
