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

const closed = 'the threads that hash are closed';

// A task is a few hundred bytes; the hash itself lives outside of the JavaScript heap.
const resourceLimits = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 };

/** The caller keeps to `count` tasks at once. Threads start when first needed and never keep the process alive. */
export function createHashThreads(count: number, settings: HashSettings): HashThreads {
  const idle: Worker[] = [];
  const all = new Set<Worker>();
  let isClosed = false;

  function take(): Worker {
    if (isClosed) throw new Error(closed);
    const known = idle.pop();
    if (known !== undefined) return known;
    if (all.size >= count) throw new Error('more hashes at once than there are threads');
    // Without the environment: a thread needs no secret of it, and under `--watch` it would report what it imports as answers.
    const worker = new Worker(new URL('./hash-worker.ts', import.meta.url), { resourceLimits, env: {} });
    worker.unref();
    all.add(worker);
    return worker;
  }

  function perform(task: HashTask): Promise<string | boolean> {
    const worker = take();
    return new Promise((resolve, reject) => {
      const finish = (answer: HashAnswer) => {
        worker.off('error', fail).off('exit', end);
        idle.push(worker);
        worker.unref();
        if ('error' in answer) reject(new Error(answer.error));
        else resolve(answer.result);
      };
      // A thread that died is replaced by the next task.
      const fail = (error: Error) => {
        all.delete(worker);
        reject(error);
      };
      const end = () => fail(new Error(closed));
      worker.once('message', finish).once('error', fail).once('exit', end);
      worker.ref();
      worker.postMessage(task);
    });
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
