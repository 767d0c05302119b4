import { createWorkerPool } from '#core/base/concurrency/worker-pool';

export type HashSettings = { memoryCost: number; timeCost: number; parallelism: number };

/** Checks the password against `stored` where that is given, hashes it otherwise. */
export type HashTask = { password: string; stored?: string; settings: HashSettings };

/** argon2id on threads of its own, which run below the event loop; as many at once as there are threads. */
export type HashThreads = {
  hash(password: string): Promise<string>;
  verify(password: string, stored: string): Promise<boolean>;
  /** Ends the threads, and with them what they are at. */
  close(): Promise<void>;
};

const script = new URL('./hash-worker.ts', import.meta.url);
// A task is a few hundred bytes; the hash itself lives outside of the JavaScript heap.
const resourceLimits = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 };

/** The caller keeps to `count` tasks at once. */
export function createHashThreads(count: number, settings: HashSettings): HashThreads {
  const pool = createWorkerPool<HashTask, string | boolean>({ script, max: count, resourceLimits });
  return {
    hash: async (password) => (await pool.run({ password, settings })) as string,
    verify: async (password, stored) => (await pool.run({ password, stored, settings })) as boolean,
    close: () => pool.close(),
  };
}
