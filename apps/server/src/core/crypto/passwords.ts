import { availableParallelism } from 'node:os';

import { createHashThreads } from '#core/crypto/hash-threads';
import { defineError } from '#core/errors/app-error';

const TooManyLogins = defineError(
  'SERVICE_UNAVAILABLE',
  'Too many passwords are being checked at once. Try again shortly.',
  'LOGIN_BUSY',
);

/** Hashes and checks passwords off the event loop, few at a time, so that a flood of logins cannot starve the rest. */
export type Passwords = {
  hash(password: string): Promise<string>;
  /**
   * @param stored PHC string; undefined costs the same time and is always false, so that unknown accounts look like known ones.
   * @param admit asked when the turn has come, right before the costly part: throws to give the turn up.
   */
  verify(password: string, stored: string | undefined, admit?: () => Promise<void>): Promise<boolean>;
  /** False when the hash was made with other settings than today's: hash the password again while it is known. */
  isCurrent(stored: string): boolean;
  close(): Promise<void>;
};

export type PasswordOptions = {
  memoryKiB: number;
  passes: number;
  concurrency?: number;
  maxWaiting?: number;
  maxWaitMs?: number;
};

export async function createPasswords(options: PasswordOptions): Promise<Passwords> {
  const { concurrency = Math.max(1, availableParallelism() - 1), maxWaiting = 64, maxWaitMs = 2000 } = options;
  // Two more than are hashed at once: the next is admitted meanwhile, so that no hash waits for the database.
  const admissions = createTurns(concurrency + 2, maxWaiting, maxWaitMs);
  const turns = createTurns(concurrency, Infinity);
  const threads = createHashThreads(concurrency, {
    memoryCost: options.memoryKiB,
    timeCost: options.passes,
    parallelism: 1,
  });
  const decoy = await turns.take(() => threads.hash('no account has this password'));
  return {
    hash: (password) => admissions.take(() => turns.take(() => threads.hash(normalise(password)))),
    verify: (password, stored, admit) =>
      admissions.take(async () => {
        await admit?.();
        const matches = await turns.take(() => threads.verify(normalise(password), stored ?? decoy));
        return matches && stored !== undefined;
      }),
    isCurrent: (stored) => settingsOf(stored) === settingsOf(decoy),
    close: () => threads.close(),
  };
}

/** Everything of a PHC string but salt and hash. */
function settingsOf(stored: string): string {
  return stored.split('$').slice(0, 4).join('$');
}

// The same password typed on another keyboard may arrive in another Unicode form (RFC 8265 section 4.2).
function normalise(password: string): string {
  return password.normalize('NFKC');
}

type Turns = { take<Result>(work: () => Promise<Result>): Promise<Result> };

/** At most `concurrency` at a time, first come first served; refuses those who would wait too long. */
export function createTurns(concurrency: number, maxWaiting: number, maxWaitMs?: number): Turns {
  let running = 0;
  const waiting: (() => void)[] = [];

  function turn(): Promise<void> {
    if (running < concurrency) {
      running += 1;
      return Promise.resolve();
    }
    if (waiting.length >= maxWaiting) return Promise.reject(TooManyLogins({ retryAfterSeconds: 2 }));
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        waiting.splice(waiting.indexOf(start), 1);
        reject(TooManyLogins({ retryAfterSeconds: 2 }));
      };
      const timer = maxWaitMs === undefined ? undefined : setTimeout(giveUp, maxWaitMs);
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      waiting.push(start);
    });
  }

  return {
    async take(work) {
      await turn();
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        // The turn passes on without being given back, so nobody can slip in between.
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
