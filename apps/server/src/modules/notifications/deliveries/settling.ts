import { setTimeout as sleep } from 'node:timers/promises';

import { isRetryable, isUnavailable } from '#core/data/db/sql-state';
import type { Settlement } from '#modules/notifications/deliveries/settlement.rules';

type Write = (settlements: readonly Settlement[]) => Promise<unknown>;
type Waiting = { settlement: Settlement; written: () => void; lost: (error: unknown) => void };

type Terms = {
  /** Time to retry while the database is unavailable; after that, other processes may have claimed the deliveries. */
  retryForMs: number;
  /** The wait of the first outcome for others of the same write. */
  gather(): Promise<unknown>;
};

const retryMs = 1000;

/**
 * Writes outcomes of deliveries in batches: outcomes that arrive during the wait or a write share the next statement. If a
 * batch is refused, each outcome is written alone.
 */
export function settling(write: Write, { retryForMs, gather }: Terms): (settlement: Settlement) => Promise<void> {
  const until = performance.now() + retryForMs;
  let waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      await gather();
      const some = waiting;
      waiting = [];
      await writeSome(some);
    }
    writing = undefined;
  }

  async function writeSome(some: readonly Waiting[]): Promise<void> {
    const settlements = some.map(({ settlement }) => settlement);
    try {
      await withRetries(() => write(settlements));
      some.forEach(({ written }) => written());
    } catch (error) {
      if (some.length === 1 || isPassing(error)) return some.forEach(({ lost }) => lost(error));
      // One refused outcome must not cause duplicates of the others.
      for (const one of some) await writeSome([one]);
    }
  }

  async function withRetries(attempt: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await attempt();
        return;
      } catch (error) {
        if (!isPassing(error) || performance.now() + retryMs > until) throw error;
        await sleep(retryMs);
      }
    }
  }

  return (settlement) =>
    new Promise((written, lost) => {
      waiting.push({ settlement, written, lost });
      writing ??= Promise.resolve().then(writeAll);
    });
}

const isPassing = (error: unknown) => isUnavailable(error) || isRetryable(error);
