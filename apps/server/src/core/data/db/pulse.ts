import { shareRun } from '#core/base/concurrency/coalesce';
import { ConnectionLostError } from '#core/data/db/connection';
import type { Pool } from '#core/data/db/pool';
import type { DatabaseTiming } from '#core/data/db/timing';

/** Whether the server answers at all, and what follows where it does not. */
export type Pulse = {
  /** Why nothing can be sent at present. */
  refusal(): Error | undefined;
  /** A connection that rested was dead: gives up all that have rested as well. */
  dropRested(): void;
  /** The server took no write: another may be in charge by now, and whether a session may write is decided when it begins. */
  noteReadOnly(): void;
  /** A connection could not be opened: where none is open any more, nothing can be answered. */
  noteFailedOpening(error: Error): void;
  close(): void;
};

type Parts = {
  /** All pools; they are made after their pulse. */
  pools(): readonly Pool[];
  /** The pool that asks the server. */
  asking(): Pool;
  timing: Pick<DatabaseTiming, 'suspectMs' | 'silenceMs' | 'tickMs'>;
  /** Told when the server stops answering. */
  onUnreachable(): void;
};

/** After a connection was found dead its neighbours are trusted less for that long. */
const waryMs = 10_000;

/**
 * Silence on one connection may be a long statement, silence on all of them is a frozen server or a network that swallows
 * everything. Then all work is refused at once, until a new connection comes up: waiting would only add to the load.
 */
export function startPulse({ pools, asking, timing, onUnreachable }: Parts): Pulse {
  let isReachable = true;
  let cause: unknown;
  let deadAt = -Infinity;
  let readOnlyAt = -Infinity;
  /** The question to the server, and the looks since: bytes may lie unread while the process stands still. */
  let asked: { at: number; looks: number } | undefined;

  function judge(now: number): void {
    if (Math.max(...pools().map((pool) => pool.silentMs(now))) < timing.suspectMs) {
      asked = undefined;
      return;
    }
    if (asked === undefined) void asking().ask();
    asked ??= { at: now, looks: 0 };
    asked.looks += 1;
    if (Math.max(...pools().map((pool) => pool.heardAt())) > asked.at) asked = undefined;
    else if (now - asked.at > timing.silenceMs && asked.looks > 2) giveUp(undefined);
  }

  function giveUp(reason: unknown): void {
    asked = undefined;
    cause = reason;
    isReachable = false;
    for (const pool of pools()) pool.dropAll();
    onUnreachable();
  }

  const tryAgain = shareRun(async () => {
    isReachable = await asking().ask();
  });

  const timer = setInterval(() => {
    const now = performance.now();
    for (const pool of pools()) pool.tick(now, { isWary: now - deadAt < waryMs, readOnlyAt });
    if (isReachable) judge(now);
    else void tryAgain();
  }, timing.tickMs).unref();

  return {
    refusal: () => (isReachable ? undefined : new ConnectionLostError('the database does not answer', { cause })),
    dropRested: () => {
      deadAt = performance.now();
      for (const pool of pools()) pool.dropRested();
    },
    noteReadOnly: () => void (readOnlyAt = performance.now()),
    noteFailedOpening: (error) => {
      if (!isReachable) cause = error.cause;
      else if (pools().every((pool) => pool.load().open === 0)) giveUp(error.cause);
    },
    close: () => clearInterval(timer),
  };
}
