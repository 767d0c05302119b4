import { Worker, type ResourceLimits, type Transferable } from 'node:worker_threads';

import type { ThreadAnswer } from '#core/base/concurrency/worker-thread';

/** Threads that perform one task at a time each. They start when needed and do not keep an idle process alive. */
export type WorkerPool<Task, Result> = {
  /**
   * A task whose thread ended is repeated once on a new thread, unless buffers were given away with it.
   * @throws Error with the message of what the script threw; if there are more tasks than threads, or the pool is closed
   */
  run(task: Task, options?: RunOptions): Promise<Result>;
  /** Ends the threads and their tasks. */
  close(): Promise<void>;
};

export type RunOptions = {
  /** Buffers to give away: the caller cannot use them afterwards. */
  transfer?: readonly Transferable[];
  /** Ends the thread of a task that takes longer, and fails the task with the error. */
  timeout?: { ms: number; toError(): Error };
};

type Options = {
  /** Calls `answerTasks`. */
  script: URL;
  /** The caller runs no more tasks at once. */
  max: number;
  /** Of each thread. */
  resourceLimits: ResourceLimits;
};

/** The thread ended before it answered. */
class ThreadEnded extends Error {}

export function createWorkerPool<Task, Result>(options: Options): WorkerPool<Task, Result> {
  return new Pool(options);
}

class Pool<Task, Result> implements WorkerPool<Task, Result> {
  readonly #options: Options;
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  #isClosed = false;

  constructor(options: Options) {
    this.#options = options;
  }

  async run(task: Task, options: RunOptions = {}): Promise<Result> {
    try {
      return await this.#attempt(task, options);
    } catch (error) {
      // The thread may have ended while it was idle. A task that ends two threads is the cause itself.
      if (error instanceof ThreadEnded && options.transfer === undefined) return this.#attempt(task, options);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#all, (worker) => worker.terminate()));
  }

  async #attempt(task: Task, { transfer = [], timeout }: RunOptions): Promise<Result> {
    const worker = this.#take();
    let isLate = false;
    const end = () => {
      isLate = true;
      void worker.terminate();
    };
    const timer = timeout && setTimeout(end, timeout.ms);
    try {
      const answer = await ask(worker, task, transfer);
      if (!isLate && this.#all.has(worker)) this.#idle.push(worker);
      if ('error' in answer) throw new Error(answer.error);
      return answer.result as Result;
    } catch (error) {
      throw isLate ? timeout!.toError() : error;
    } finally {
      clearTimeout(timer);
    }
  }

  #take(): Worker {
    if (this.#isClosed) throw new Error('the worker pool is closed');
    const known = this.#idle.pop();
    if (known === undefined && this.#all.size >= this.#options.max)
      throw new Error('more tasks at once than there are threads');
    return known ?? this.#start();
  }

  #start(): Worker {
    const { script, resourceLimits } = this.#options;
    // Without the environment: a thread needs no secret of it, and under `--watch` it would report what it imports as answers.
    const worker = new Worker(script, { resourceLimits, env: {} });
    const forget = () => {
      this.#all.delete(worker);
      if (this.#idle.includes(worker)) this.#idle.splice(this.#idle.indexOf(worker), 1);
    };
    // An idle thread may end as well, and an error without a listener would end the process.
    worker.on('error', forget).on('exit', forget);
    this.#all.add(worker);
    return worker;
  }
}

/** @throws ThreadEnded */
function ask(worker: Worker, task: unknown, transfer: readonly Transferable[]): Promise<ThreadAnswer> {
  return new Promise((resolve, reject) => {
    const finish = (answer: ThreadAnswer) => {
      worker.off('error', fail).off('exit', fail).unref();
      resolve(answer);
    };
    const fail = (cause: unknown) => reject(threadEnded(cause));
    worker.once('message', finish).once('error', fail).once('exit', fail).ref();
    worker.postMessage(task, transfer);
  });
}

/** @param cause an error of the thread, or its exit code */
function threadEnded(cause: unknown): ThreadEnded {
  const reason = cause instanceof Error ? `: ${cause.message}` : '';
  return new ThreadEnded(`the thread ended before it answered${reason}`, { cause });
}
