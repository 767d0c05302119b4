import { Worker } from 'node:worker_threads';

export type HashSettings = { memoryCost: number; timeCost: number; parallelism: number };

/** Checks the password against `stored` where that is given, hashes it otherwise. */
export type HashTask = { password: string; stored?: string; settings: HashSettings };

export type HashAnswer = { result: string | boolean } | { error: string };

/** argon2id on threads of its own, which run below the event loop; as many at once as there are threads. */
export type HashThreads = {
  hash(password: string): Promise<string>;
  verify(password: string, stored: string): Promise<boolean>;
  /** Ends the threads, and with them what they are at. */
  close(): Promise<void>;
};

/** The thread ended before it answered. */
class ThreadEnded extends Error {}

// A task is a few hundred bytes; the hash itself lives outside of the JavaScript heap.
const resourceLimits = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 };

/** The caller keeps to `count` tasks at once. Threads start when first needed and never keep the process alive. */
export function createHashThreads(count: number, settings: HashSettings): HashThreads {
  const idle: Worker[] = [];
  const all = new Set<Worker>();
  let isClosed = false;

  function start(): Worker {
    // Without the environment: a thread needs no secret of it, and under `--watch` it would report what it imports as answers.
    const worker = new Worker(new URL('./hash-worker.ts', import.meta.url), { resourceLimits, env: {} });
    const forget = () => {
      all.delete(worker);
      if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
    };
    // An idle thread may end as well, and an error without a listener would end the process.
    worker.on('error', forget).on('exit', forget).unref();
    all.add(worker);
    return worker;
  }

  function take(): Worker {
    if (isClosed) throw new Error('the hash threads are closed');
    const known = idle.pop();
    if (known === undefined && all.size >= count) throw new Error('more hashes at once than there are threads');
    return known ?? start();
  }

  function attempt(task: HashTask): Promise<string | boolean> {
    const worker = take();
    return new Promise((resolve, reject) => {
      const finish = (answer: HashAnswer) => {
        worker.off('error', fail).off('exit', fail).unref();
        idle.push(worker);
        if ('error' in answer) reject(new Error(answer.error));
        else resolve(answer.result);
      };
      const fail = (cause: unknown) => reject(new ThreadEnded('the hash thread ended before it answered', { cause }));
      worker.once('message', finish).once('error', fail).once('exit', fail);
      worker.ref();
      worker.postMessage(task);
    });
  }

  async function perform(task: HashTask): Promise<string | boolean> {
    try {
      return await attempt(task);
    } catch (error) {
      // The thread may have ended while it was idle. A task that ends two threads is the cause itself.
      if (error instanceof ThreadEnded) return attempt(task);
      throw error;
    }
  }

  return {
    hash: async (password) => (await perform({ password, settings })) as string,
    verify: async (password, stored) => (await perform({ password, stored, settings })) as boolean,
    async close() {
      isClosed = true;
      await Promise.all(Array.from(all, (worker) => worker.terminate()));
    },
  };
}
