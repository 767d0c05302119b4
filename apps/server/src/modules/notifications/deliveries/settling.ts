import { setTimeout as pause } from 'node:timers/promises';

import { isRetryable, isUnavailable } from '#core/db/sql-state';
import type { Settlement } from '#modules/notifications/deliveries/settlement.rules';

type Write = (settlements: readonly Settlement[]) => Promise<unknown>;
type Waiting = { settlement: Settlement; written: () => void; lost: (error: unknown) => void };

type Terms = {
  /** How long it is tried while the database is away or busy: after that others may have taken them. */
  patienceMs: number;
  /** What the first of some waits for, so that others are written with it. */
  gather(): Promise<unknown>;
};

const retryMs = 1000;

/**
 * Writes what came of deliveries; what comes in while it is gathered, or while a statement is under way, goes together. What
 * cannot be written with the others is written alone.
 */
export function settling(write: Write, { patienceMs, gather }: Terms): (settlement: Settlement) => Promise<void> {
  const until = performance.now() + patienceMs;
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
      await patiently(() => write(settlements));
      some.forEach(({ written }) => written());
    } catch (error) {
      if (some.length === 1 || isPassing(error)) return some.forEach(({ lost }) => lost(error));
      // One that the database refuses does not have the others go out again.
      for (const one of some) await writeSome([one]);
    }
  }

  async function patiently(attempt: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await attempt();
        return;
      } catch (error) {
        if (!isPassing(error) || performance.now() + retryMs > until) throw error;
        await pause(retryMs);
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
