import { threadId, type Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';

import type { PoolTask } from '#core/base/concurrency/testing/pool-worker';
import { createWorkerPool } from '#core/base/concurrency/worker-pool';

const script = new URL('testing/pool-worker.ts', import.meta.url);
const resourceLimits = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 };
const answer: PoolTask = { do: 'answer' };

/** A pool, and the workers that it started so far. */
function createPool(max = 1) {
  const workers: Worker[] = [];
  const note = (worker: Worker) => void workers.push(worker);
  process.on('worker', note);
  const pool = createWorkerPool<PoolTask, { threadId: number; size: number }>({ script, max, resourceLimits });
  onTestFinished(async () => {
    process.off('worker', note);
    await pool.close();
  });
  return { pool, workers };
}

describe('a worker pool', () => {
  it('performs tasks on other threads, and uses idle threads again', async () => {
    const { pool, workers } = createPool(2);
    const answers = await Promise.all([pool.run(answer), pool.run(answer)]);
    answers.push(await pool.run(answer));
    const ids = new Set(answers.map((one) => one.threadId));
    expect([ids.size, ids.has(threadId), workers.length]).toEqual([2, false, 2]);
  });

  it('fails with the reason of the script, and keeps the thread', async () => {
    const { pool, workers } = createPool();
    await expect(pool.run({ do: 'throw' })).rejects.toThrow(/^the reason$/);
    await pool.run(answer);
    expect(workers).toHaveLength(1);
  });

  it('refuses more tasks at once than there are threads', async () => {
    const { pool } = createPool();
    const first = pool.run(answer);
    await expect(pool.run(answer)).rejects.toThrow('more tasks at once');
    await first;
  });

  it('gives buffers away', async () => {
    const { pool } = createPool();
    const bytes = new Uint8Array(8);
    expect(await pool.run({ ...answer, bytes }, { transfer: [bytes.buffer] })).toMatchObject({ size: 8 });
    expect(bytes.byteLength).toBe(0);
  });

  it('ends the thread of a task that takes too long, and performs the next one', async () => {
    const { pool, workers } = createPool();
    const timeout = { ms: 200, toError: () => new Error('too slow') };
    await expect(pool.run({ do: 'hang' }, { timeout })).rejects.toThrow('too slow');
    await pool.run(answer);
    expect(workers).toHaveLength(2);
  });

  it('does not start again once it is closed', async () => {
    const { pool, workers } = createPool();
    await pool.run(answer);
    await pool.close();
    await expect(pool.run(answer)).rejects.toThrow('closed');
    expect(workers).toHaveLength(1);
  });

  it('ends tasks when it is closed', async () => {
    const { pool } = createPool();
    const [result] = await Promise.allSettled([pool.run({ do: 'hang' }), pool.close()]);
    expect(result).toMatchObject({ status: 'rejected', reason: new Error('the worker pool is closed') });
  });
});

describe('a thread that ends', () => {
  it('is replaced if it was idle', async () => {
    const { pool, workers } = createPool();
    await pool.run(answer);
    await workers[0]!.terminate();
    await pool.run(answer);
    expect(workers).toHaveLength(2);
  });

  it('is replaced if it fails while it is idle', async () => {
    const { pool, workers } = createPool();
    await pool.run(answer);
    workers[0]!.emit('error', new Error('out of memory'));
    await pool.run(answer);
    expect(workers).toHaveLength(2);
    await workers[0]!.terminate();
  });

  it('has its task repeated on another one, 50 times in a row', { timeout: 60_000 }, async () => {
    const { pool, workers } = createPool();
    await pool.run(answer);
    for (let at = 0; at < 50; at++) {
      const ended = workers.at(-1)!.terminate();
      expect(await pool.run(answer)).toMatchObject({ size: 0 });
      await ended;
    }
    expect(workers).toHaveLength(51);
  });

  it('fails its task if a second one ends, too', async () => {
    const { pool, workers } = createPool();
    await expect(pool.run({ do: 'exit' })).rejects.toThrow('ended before it answered');
    expect(workers).toHaveLength(2);
    await pool.run(answer);
  });

  it('fails its task if buffers were given away with it', async () => {
    const { pool, workers } = createPool();
    const bytes = new Uint8Array(8);
    const failed = pool.run({ do: 'exit', bytes }, { transfer: [bytes.buffer] });
    await expect(failed).rejects.toThrow('ended before it answered');
    expect(workers).toHaveLength(1);
  });
});
