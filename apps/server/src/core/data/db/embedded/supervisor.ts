import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

import { EmbeddedPostgresError, isOutOfRoom, systemError } from './errors.ts';
import { ended, launchPostmaster, stopPostmaster, type Launch } from './postmaster.ts';
import { setReadOnly, watchRoom } from './room.ts';

const maxDeaths = 5;
const deathWindowMs = 30_000;
const firstPauseMs = 50;
/** Between attempts to start on a full disk. */
const maxPauseMs = 5000;

export type SupervisorOptions = Pick<Launch, 'postgres' | 'cluster' | 'settings' | 'pidFiles' | 'onLine'> & {
  /** The server keeps dying and is not started again. */
  onFatal: (error: EmbeddedPostgresError) => void;
};

/** Starts the server and keeps it running on the same address until the returned function has stopped it. */
export async function supervise({ onFatal, ...given }: SupervisorOptions): Promise<() => Promise<void>> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const disk = { isFull: false };
  const onLine = (line: string) => {
    disk.isFull ||= isOutOfRoom(line);
    given.onLine(line);
  };
  const options = { ...given, onLine };
  let child: ChildProcess | undefined;
  const onSpawn = (spawned: ChildProcess) => (child = spawned);
  const launch = () => launchPostmaster({ ...options, signal, onSpawn });

  // process.exit leaves no time to wait, but the server must not be left behind, not even after an error.
  const stopOnExit = () => child?.kill('SIGINT');
  process.prependListener('exit', stopOnExit);

  setReadOnly(options.cluster, false);
  const first = await launch().catch((error: unknown) => {
    process.off('exit', stopOnExit);
    throw error;
  });
  watchRoom({ ...options, reload: () => child?.kill('SIGHUP'), signal });
  const life = keepRunning(first, { ...options, launch, signal, disk }).catch((error: unknown) => {
    if (!signal.aborted) onFatal(systemError(options.cluster.dir, error));
  });

  return async () => {
    stopping.abort();
    await Promise.all([life, child && stopPostmaster(child)]);
    process.off('exit', stopOnExit);
  };
}

type Watch = Pick<Launch, 'cluster' | 'onLine' | 'signal'> & {
  launch: () => Promise<ChildProcess>;
  /** What the server said since it was started last. */
  disk: { isFull: boolean };
};

async function keepRunning(child: ChildProcess, watch: Watch): Promise<void> {
  let deaths: number[] = [];
  for (;;) {
    await ended(child);
    if (watch.signal.aborted) return;
    watch.onLine(`PostgreSQL ended unexpectedly (${child.signalCode ?? child.exitCode}), starting it again`);
    deaths = deaths.filter((at) => at > Date.now() - deathWindowMs);
    child = await relaunch(deaths, watch);
  }
}

/**
 * Failed starts count as deaths too, and are added to `deaths`. A server that dies of a full disk is never given up: it comes
 * back by itself once there is room.
 */
async function relaunch(deaths: number[], { cluster, onLine, signal, launch, disk }: Watch): Promise<ChildProcess> {
  let reason = 'killed from outside or crashed';
  for (let attempts = 0; ; attempts++) {
    if (!disk.isFull) deaths.push(Date.now());
    if (deaths.length >= maxDeaths) {
      const message = `PostgreSQL in ${cluster.dir} keeps dying and was given up (${reason}): put that right and start again.`;
      throw new EmbeddedPostgresError('START_FAILED', message);
    }
    await sleep(Math.min(firstPauseMs * 2 ** Math.max(attempts, deaths.length - 1), maxPauseMs), undefined, {
      signal,
    });
    disk.isFull = false;
    try {
      return await launch();
    } catch (error) {
      signal.throwIfAborted();
      reason = systemError(cluster.dir, error).message;
      onLine(reason);
    }
  }
}
