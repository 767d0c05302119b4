import type { Log } from '#core/data/log/log';
import type { Dispatcher } from '#core/platform/jobs/dispatcher';

export type Ticker = {
  /** Resolves when all running dispatches have ended. */
  close(): Promise<void>;
};

type Options = {
  dispatcher: Pick<Dispatcher, 'dispatch' | 'isDrivenOutside'>;
  log: Log;
  /** The mean time between two looks, in milliseconds. */
  intervalMs?: number;
  /** Between 0 and 1. */
  random?: () => number;
};

/**
 * Dispatches in every process while no external scheduler does. Each interval has a jitter of a quarter, so that processes
 * started together do not all dispatch at once.
 */
export function startTicker({ dispatcher, log, intervalMs = 15_000, random = Math.random }: Options): Ticker {
  let isOpen = true;
  let timer: NodeJS.Timeout | undefined;
  const running = new Set<Promise<void>>();

  async function look(): Promise<void> {
    try {
      if (!(await dispatcher.isDrivenOutside())) await dispatcher.dispatch('internal');
    } catch (error) {
      log.warn({ err: error }, 'the scheduled jobs could not be looked at and will be again');
    }
  }

  const next = (delayMs: number) => {
    timer = setTimeout(() => {
      // The ticker does not wait for the jobs: a long one must not delay the others.
      const ended = look().finally(() => running.delete(ended));
      running.add(ended);
      if (isOpen) next(intervalMs * (0.75 + random() / 2));
    }, delayMs).unref();
  };
  next(intervalMs * random());

  return {
    async close() {
      isOpen = false;
      clearTimeout(timer);
      await Promise.all(running);
    },
  };
}
