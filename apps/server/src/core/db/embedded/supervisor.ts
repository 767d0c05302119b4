import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

import { EmbeddedPostgresError } from './errors.ts';
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

  // Whoever leaves by process.exit has no time to wait, but must not leave the server behind.
  const stopOnExit = () => child?.kill('SIGINT');
  process.on('exit', stopOnExit);

  const launch = () =>
    launchPostmaster({
      ...options,
      signal,
      onSpawn: (spawned) => {
        child = spawned;
      },
    });

  async function relaunch(deaths: number[]): Promise<ChildProcess> {
    let reason = 'killed from outside or crashed';
    for (;;) {
      deaths.push(Date.now());
      if (deaths.length >= maxDeaths) {
        throw new EmbeddedPostgresError(
          'START_FAILED',
          `PostgreSQL in ${options.cluster.dir} keeps dying and was given up (${reason}): see its last lines in the log, then start Atrium again.`,
        );
      }
      await sleep(firstPauseMs * 2 ** (deaths.length - 1), undefined, { signal });
      try {
        return await launch();
      } catch (error) {
        signal.throwIfAborted();
        reason = error instanceof Error ? error.message : String(error);
        options.onLine(reason);
      }
    }
  }

  async function keepRunning(running: ChildProcess): Promise<void> {
    let deaths: number[] = [];
    for (;;) {
      await ended(running);
      if (signal.aborted) return;
      options.onLine(`PostgreSQL ended unexpectedly (${running.signalCode ?? running.exitCode}), starting it again`);
      deaths = deaths.filter((at) => at > Date.now() - deathWindowMs);
      running = await relaunch(deaths);
    }
  }

  try {
    await launch();
  } catch (error) {
    process.off('exit', stopOnExit);
    throw error;
  }
  const life = keepRunning(child!).catch((error: unknown) => {
    if (!signal.aborted) onFatal(error as EmbeddedPostgresError);
  });

  return async () => {
    stopping.abort();
    await Promise.all([life, child && stopPostmaster(child)]);
    process.off('exit', stopOnExit);
  };
}
