import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

import { EmbeddedPostgresError, systemError } from './errors.ts';
import { ended, launchPostmaster, stopPostmaster, type Launch } from './postmaster.ts';

const maxDeaths = 5;
const deathWindowMs = 30_000;
const firstPauseMs = 50;

export type SupervisorOptions = Pick<Launch, 'postgres' | 'cluster' | 'settings' | 'pidFiles' | 'onLine'> & {
  /** The server keeps dying and is not started again. */
  onFatal: (error: EmbeddedPostgresError) => void;
};

/** Starts the server and keeps it running on the same address until the returned function has stopped it. */
export async function supervise({ onFatal, ...options }: SupervisorOptions): Promise<() => Promise<void>> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let child: ChildProcess | undefined;
  const onSpawn = (spawned: ChildProcess) => (child = spawned);
  const launch = () => launchPostmaster({ ...options, signal, onSpawn });

  // Whoever leaves by process.exit has no time to wait, but must not leave the server behind, whatever else happens then.
  const stopOnExit = () => child?.kill('SIGINT');
  process.prependListener('exit', stopOnExit);

  const first = await launch().catch((error: unknown) => {
    process.off('exit', stopOnExit);
    throw error;
  });
  const life = keepRunning(first, { ...options, launch, signal }).catch((error: unknown) => {
    if (!signal.aborted) onFatal(systemError(options.cluster.dir, error));
  });

  return async () => {
    stopping.abort();
    await Promise.all([life, child && stopPostmaster(child)]);
    process.off('exit', stopOnExit);
  };
}

type Watch = Pick<Launch, 'cluster' | 'onLine' | 'signal'> & { launch: () => Promise<ChildProcess> };

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

/** Failed starts count as deaths too, and are added to `deaths`. */
async function relaunch(deaths: number[], { cluster, onLine, signal, launch }: Watch): Promise<ChildProcess> {
  let reason = 'killed from outside or crashed';
  for (;;) {
    deaths.push(Date.now());
    if (deaths.length >= maxDeaths) {
      const message = `PostgreSQL in ${cluster.dir} keeps dying and was given up (${reason}): put that right and start again.`;
      throw new EmbeddedPostgresError('START_FAILED', message);
    }
    await sleep(firstPauseMs * 2 ** (deaths.length - 1), undefined, { signal });
    try {
      return await launch();
    } catch (error) {
      signal.throwIfAborted();
      reason = systemError(cluster.dir, error).message;
      onLine(reason);
    }
  }
}
