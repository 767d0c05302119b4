import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';

import type { Load, Measured } from '../load.ts';
import { liftLimits } from './limits.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const startTimeoutMs = 30_000;

/** Who administers every installation that is started here. */
export const administrator = { email: 'admin@atrium.local', password: 'correct horse battery' };

export type Atrium = {
  pid: number;
  port: number;
  base: string;
  postmaster: number;
  /** The embedded database as its owner, through its socket. */
  connection: pg.ClientConfig;
  /** From the spawn to the first 200, in milliseconds. */
  startMs: number;
  /** A second process of the same installation: with the same key, on the same database or another of the same server. */
  startPeer(database?: string): Promise<Peer>;
  stop(): Promise<void>;
};

export type Peer = { pid: number; port: number; base: string; stop(): Promise<void> };

/** Starts the service as `npm start` does, its output in a file so that no pipe can fill up. */
export async function startAtrium(dataDir: string, logFile: string): Promise<Atrium> {
  const startedAt = performance.now();
  const { child, base } = await startService({ DATA_DIR: dataDir }, logFile);
  const startMs = performance.now() - startedAt;
  const pidFile = readFileSync(path.join(realpathSync(path.join(dataDir, 'postgres')), 'postmaster.pid'), 'utf8');
  // Lines of postmaster.pid: process id, data directory, start time, port, socket directory (PostgreSQL's pidfile.h).
  const [postmaster, , , port, host] = pidFile.split('\n');
  const connection = { host: host!.trim(), port: Number(port), user: 'atrium', database: 'atrium' };
  await liftLimits(connection);
  return {
    pid: child.pid!,
    base,
    port: Number(new URL(base).port),
    postmaster: Number(postmaster),
    connection,
    startMs,
    startPeer: (database = connection.database) =>
      startPeer(dataDir, { ...connection, database }, `${logFile}.${database}`),
    stop: () => stop(child),
  };
}

async function startPeer(
  dataDir: string,
  { host, port, user, database }: { host: string; port: number; user: string; database: string },
  logFile: string,
): Promise<Peer> {
  const secrets = JSON.parse(readFileSync(path.join(dataDir, 'secrets.json'), 'utf8')) as { encryptionKey: string };
  const url = `postgres://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`;
  const environment = { DATABASE_URL: url, ENCRYPTION_KEY: secrets.encryptionKey };
  const { child, base } = await startService(environment, logFile);
  await liftLimits({ host, port, user, database });
  return { pid: child.pid!, port: Number(new URL(base).port), base, stop: () => stop(child) };
}

async function startService(
  environment: Record<string, string>,
  logFile: string,
): Promise<{ child: ChildProcess; base: string }> {
  const log = openSync(logFile, 'w');
  const [file, ...args] = startCommand();
  const env = { PATH: process.env['PATH'], PORT: '0', ...environment, ...extraEnvironment() };
  const child = spawn(file!, args, { cwd: repository, env, stdio: ['ignore', log, log] });
  closeSync(log);
  const base = await waitFor(child, () => /serves on (\S+)/.exec(readFileSync(logFile, 'utf8'))?.[1], logFile);
  await waitFor(child, async () => ((await isHealthy(base)) ? true : undefined), logFile);
  return { child, base };
}

/** What `npm start` runs, without npm and shell in between; `BENCH_NODE_ARGS="--cpu-prof"` adds to it. */
function startCommand(): string[] {
  const { scripts } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  const words = (text: string) => text.split(' ').filter((word) => word !== '');
  const [node, ...rest] = words(scripts.start.replace(/^exec /, ''));
  if (node !== 'node') throw new Error(`the start script does not run node: ${scripts.start}`);
  return [process.execPath, ...words(process.env['BENCH_NODE_ARGS'] ?? ''), ...rest];
}

function extraEnvironment(): Record<string, string> {
  const level = process.env['BENCH_LOG_LEVEL'];
  // Providers of the scenarios listen on this machine.
  const outbound = { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' };
  return {
    SYSTEM_ADMIN_PASSWORD: administrator.password,
    ...outbound,
    ...(level === undefined ? {} : { LOG_LEVEL: level }),
  };
}

async function waitFor<Value>(
  child: ChildProcess,
  look: () => Value | undefined | Promise<Value | undefined>,
  logFile: string,
): Promise<Value> {
  for (const deadline = Date.now() + startTimeoutMs; Date.now() < deadline; await sleep(5)) {
    const value = await look();
    if (value !== undefined) return value;
    if (child.exitCode !== null) break;
  }
  child.kill();
  throw new Error(`Atrium did not start: ${readFileSync(logFile, 'utf8').slice(-2000)}`);
}

async function isHealthy(base: string): Promise<boolean> {
  const response = await fetch(`${base}/api/v1/system/health`).catch(() => undefined);
  await response?.arrayBuffer();
  return response?.status === 200;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

export type Floor = { pid: number; port: number; stop(): Promise<void> };

export async function startFloor(
  connection: pg.ClientConfig,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<Floor> {
  const child = spawnScript('floor-server.ts', [JSON.stringify({ connection, tenantId, userId })]);
  const port = Number(await firstLine(child));
  return { pid: child.pid!, port, stop: () => stop(child) };
}

export type Receiver = { origin: string; stop(): Promise<void> };

export async function startReceiver(): Promise<Receiver> {
  const child = spawnScript('receiver.ts', []);
  return { origin: `http://127.0.0.1:${await firstLine(child)}`, stop: () => stop(child) };
}

export type Loader = { run(load: Load): Promise<Measured>; stop(): Promise<void> };

/** A process that sends one load at a time. */
export async function startLoader(): Promise<Loader> {
  const child = spawnScript('loader.ts', []);
  await firstLine(child);
  return {
    run: async (load) => {
      const requests = load.requests.map((bytes) => bytes.toString());
      child.stdin!.write(`${JSON.stringify({ ...load, requests })}\n`);
      return JSON.parse(await firstLine(child)) as Measured;
    },
    stop: () => stop(child),
  };
}

export type HashRate = { measure(durationMs: number): Promise<number>; stop(): Promise<void> };

export async function startHashRate(concurrency: number): Promise<HashRate> {
  const child = spawnScript('hash-rate.ts', [String(concurrency)]);
  await firstLine(child);
  return {
    measure: async (durationMs) => {
      child.stdin!.write(`${durationMs}\n`);
      return Number(await firstLine(child));
    },
    stop: () => stop(child),
  };
}

function spawnScript(name: string, args: string[]): ChildProcess {
  const script = fileURLToPath(new URL(name, import.meta.url));
  return spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: child.stdout! });
    const ended = () => reject(new Error('a helper process of the bench ended'));
    child.once('exit', ended);
    lines.once('line', (line) => {
      child.off('exit', ended);
      lines.close();
      resolve(line);
    });
  });
}
