import { shareRun } from '#core/base/concurrency/coalesce';
import { ConnectionLostError } from '#core/data/db/connection';
import type { Pool } from '#core/data/db/pool';
import type { DatabaseTiming } from '#core/data/db/timing';

/** Decides whether the server answers, and refuses all work while it does not. */
export type Pulse = {
  /** Why nothing can be sent at present. */
  refusal(): Error | undefined;
  /** An idle connection was dead: drops all other idle connections as well. */
  dropIdle(): void;
  /** The server refused a write: another server may be the primary now, and a session stays read-only until it ends. */
  noteReadOnly(): void;
  /** A connection could not be opened: if none is open any more, the server counts as unreachable. */
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

/** Time after a dead connection was found in which the other connections are trusted less. */
const distrustMs = 10_000;

/**
 * Silence on one connection may be a long statement, silence on all of them is a frozen server or a network that swallows
 * everything. Then all work is refused at once, until a new connection comes up: waiting would only add to the load.
 */
export function startPulse({ pools, asking, timing, onUnreachable }: Parts): Pulse {
  let isReachable = true;
  let cause: unknown;
  let deadAt = -Infinity;
  let readOnlyAt = -Infinity;
  /** The test of the server, and the ticks since: bytes may be unread while the process itself is blocked. */
  let asked: { at: number; ticks: number } | undefined;

  function checkSilence(now: number): void {
    if (Math.max(...pools().map((pool) => pool.silentMs(now))) < timing.suspectMs) {
      asked = undefined;
      return;
    }
    if (asked === undefined) void asking().ask();
    asked ??= { at: now, ticks: 0 };
    asked.ticks += 1;
    if (Math.max(...pools().map((pool) => pool.heardAt())) > asked.at) asked = undefined;
    else if (now - asked.at > timing.silenceMs && asked.ticks > 2) giveUp(undefined);
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
    for (const pool of pools()) pool.tick(now, { isDistrusting: now - deadAt < distrustMs, readOnlyAt });
    if (isReachable) checkSilence(now);
    else void tryAgain();
  }, timing.tickMs).unref();

  return {
    refusal: () => (isReachable ? undefined : new ConnectionLostError('the database does not answer', { cause })),
    dropIdle: () => {
      deadAt = performance.now();
      for (const pool of pools()) pool.dropIdle();
    },
    noteReadOnly: () => void (readOnlyAt = performance.now()),
    noteFailedOpening: (error) => {
      if (!isReachable) cause = error.cause;
      else if (pools().every((pool) => pool.load().open === 0)) giveUp(error.cause);
    },
    close: () => clearInterval(timer),
  };
}
