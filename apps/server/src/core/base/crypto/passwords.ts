import { availableParallelism } from 'node:os';

import type { Flow } from '#core/base/concurrency/fair-queue';
import { createFairSemaphore, createFairTurns, withPermit } from '#core/base/concurrency/fair-semaphore';
import { createHashThreads } from '#core/base/crypto/hash-threads';
import { defineError } from '#core/base/errors/app-error';

const TooManyLogins = defineError(
  'SERVICE_UNAVAILABLE',
  'Too many passwords are being checked at once. Try again shortly.',
  'LOGIN_BUSY',
  2,
);

/**
 * Hashes and checks passwords off the event loop, few at a time, so that a flood of logins cannot starve the rest. While more
 * wait, tenants and client addresses take equal shares, and none of them can fill the queue.
 */
export type Passwords = {
  /** @param flow of a verified principal, else of the client address: a stranger must not use the share of a tenant that it names */
  hash(password: string, flow: Flow): Promise<string>;
  /**
   * @param stored PHC string; undefined costs the same time and is always false, so that unknown accounts look like known ones.
   * @param admit asked when the permit is there, right before the costly part: throws to give it up.
   */
  verify(password: string, stored: string | undefined, flow: Flow, admit?: () => Promise<void>): Promise<boolean>;
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

const installation: Flow = { tenant: 'installation', principal: '' };

export async function createPasswords(options: PasswordOptions): Promise<Passwords> {
  const { concurrency = Math.max(1, availableParallelism() - 1), maxWaiting = 128, maxWaitMs = 2000 } = options;
  // Two more than are hashed at once: the next is admitted meanwhile, so that no hash waits for the database.
  const admissions = createFairSemaphore({
    permits: () => concurrency + 2,
    limits: () => ({ max: maxWaiting, maxOf: () => Math.ceil(maxWaiting / 2), timeoutMs: maxWaitMs }),
  });
  const onThread = createFairTurns(concurrency);
  const threads = createHashThreads(concurrency, {
    memoryCost: options.memoryKiB,
    timeCost: options.passes,
    parallelism: 1,
  });
  const admitted = <Result>(flow: Flow, work: () => Promise<Result>) =>
    withPermit(admissions, flow, () => TooManyLogins(), work);
  const decoy = await onThread(installation, () => threads.hash('no account has this password'));
  return {
    hash: (password, flow) => admitted(flow, () => onThread(flow, () => threads.hash(normalise(password)))),
    verify: (password, stored, flow, admit) =>
      admitted(flow, async () => {
        await admit?.();
        const matches = await onThread(flow, () => threads.verify(normalise(password), stored ?? decoy));
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
