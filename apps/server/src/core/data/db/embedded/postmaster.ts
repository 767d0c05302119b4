import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Cluster } from './cluster.ts';
import { EmbeddedPostgresError, programError } from './errors.ts';
import { servesCluster, spawnAs } from './processes.ts';

const pollMs = 5;
const busyTimeoutMs = 10_000;
const stopTimeoutMs = 60_000;

/** Parameters of the start of the server process on a cluster. */
export type Launch = {
  postgres: string;
  cluster: Cluster;
  settings: Record<string, string>;
  /** The files by which a server claims its folder and its socket. */
  pidFiles: string[];
  onLine: (line: string) => void;
  /** Called with each process that is started, before it is ready. */
  onSpawn: (child: ChildProcess) => void;
  /** Aborting ends a launch that is under way. */
  signal: AbortSignal;
};

export type PidFile = { pid: number; ready: boolean };

/** `postmaster.pid` holds the process id in line 1 and its state in line 8 (PostgreSQL's pidfile.h); it may be half written. */
export function parsePidFile(text: string): PidFile | undefined {
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  return Number.isInteger(pid) && pid > 0 ? { pid, ready: lines[7]?.trim() === 'ready' } : undefined;
}

function readPidFile(path: string): PidFile | undefined {
  try {
    return parsePidFile(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

export function pidFile(dir: string): string {
  return join(dir, 'postmaster.pid');
}

/** Starts the server and resolves when it accepts connections; one that still holds the folder gets time to disappear. */
export async function launchPostmaster(launch: Launch): Promise<ChildProcess> {
  const { dir } = launch.cluster;
  const deadline = Date.now() + busyTimeoutMs;
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, 500)) {
    dropForeignPidFiles(dir, launch.pidFiles);
    const lines: string[] = [];
    const child = spawnPostmaster(launch, lines);
    launch.onSpawn(child);
    if (await becomesReady(child, launch)) return child;
    launch.signal.throwIfAborted();
    const busy = lines.some((line) =>
      /FATAL:.*(lock file .* already exists|pre-existing shared memory|create any TCP)/.test(line),
    );
    if (!busy || Date.now() > deadline) throw programError('START_FAILED', dir, lines);
    await sleep(pauseMs, undefined, { signal: launch.signal });
  }
}

/** In a process group of its own, so that Ctrl-C reaches only Atrium, which still needs its database to finish. */
function spawnPostmaster({ postgres, cluster, settings, onLine }: Launch, firstLines: string[]): ChildProcess {
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(postgres, ['-D', cluster.dir, ...options], {
    ...spawnAs(cluster.user),
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  createInterface(child.stderr).on('line', (line) => {
    if (firstLines.length < 1000) firstLines.push(line);
    onLine(line);
  });
  child.on('error', (error) => firstLines.push(String(error)));
  return child;
}

/** No time limit: recovery after a crash takes as long as it takes, and ends by itself. */
async function becomesReady(child: ChildProcess, { cluster, signal }: Launch): Promise<boolean> {
  let closed = false;
  child.once('close', () => (closed = true)).once('error', () => (closed = true));
  while (!closed) {
    if (signal.aborted) child.kill('SIGINT');
    const file = readPidFile(pidFile(cluster.dir));
    if (file?.pid === child.pid && file?.ready && !signal.aborted) return true;
    await sleep(pollMs);
  }
  return false;
}

/**
 * PostgreSQL trusts any live process whose id is in these files, so an unrelated program with a reused id would block it for
 * good. Ids without a process are left to PostgreSQL, which then checks for surviving children.
 */
export function dropForeignPidFiles(dir: string, files: string[]): void {
  for (const path of files) {
    const pid = readPidFile(path)?.pid;
    if (pid !== undefined && exists(pid) && !servesCluster(pid, dir)) rmSync(path, { force: true });
  }
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** The process id of the server that runs on the folder (real path), if it is visible to this process. */
export function findPostmaster(dir: string): number | undefined {
  const pid = readPidFile(pidFile(dir))?.pid;
  return pid !== undefined && servesCluster(pid, dir) ? pid : undefined;
}

/** Stops a server that a killed Atrium left behind on the folder; being the parent of our own is what makes supervising possible. */
export async function stopOrphan(dir: string, onLine: (line: string) => void): Promise<void> {
  const pid = findPostmaster(dir);
  if (pid === undefined) return;
  onLine(`stopping the PostgreSQL that an earlier Atrium left behind (pid ${pid})`);
  for (const [signal, timeoutMs] of [
    ['SIGINT', stopTimeoutMs],
    ['SIGQUIT', busyTimeoutMs],
  ] as const) {
    if (exists(pid)) process.kill(pid, signal);
    for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await sleep(pollMs)) {
      if (!servesCluster(pid, dir)) return;
    }
  }
  throw new EmbeddedPostgresError(
    'START_FAILED',
    `A PostgreSQL left behind in ${dir} does not stop (pid ${pid}): end that process and start again.`,
  );
}

/** Resolves when the process has ended. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  await new Promise((resolve) => child.once('exit', resolve));
}

/** Fast shutdown; an immediate one (recovered at the next start) if that hangs. */
export async function stopPostmaster(child: ChildProcess): Promise<void> {
  child.kill('SIGINT');
  const timer = setTimeout(() => child.kill('SIGQUIT'), stopTimeoutMs);
  await ended(child);
  clearTimeout(timer);
}
