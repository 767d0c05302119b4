import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { createHashThreads } from '#core/base/crypto/hash-threads';

vi.setConfig({ testTimeout: 120_000 });

const settings = { memoryCost: 64, timeCost: 1, parallelism: 1 };

/** Hash threads, and the workers that they started so far. */
function createThreads(count: number) {
  const workers: Worker[] = [];
  const note = (worker: Worker) => void workers.push(worker);
  process.on('worker', note);
  const threads = createHashThreads(count, settings);
  onTestFinished(async () => {
    process.off('worker', note);
    await threads.close();
  });
  return { threads, workers };
}

describe('hash threads', () => {
  it('replace a thread that ended while it was idle', async () => {
    const { threads, workers } = createThreads(1);
    const stored = await threads.hash('correct horse');
    await workers[0]!.terminate();
    expect(await threads.verify('correct horse', stored)).toBe(true);
    expect(workers).toHaveLength(2);
  });

  it('replace a thread that fails while it is idle', async () => {
    const { threads, workers } = createThreads(1);
    await threads.hash('correct horse');
    workers[0]!.emit('error', new Error('out of memory'));
    await threads.hash('correct horse');
    expect(workers).toHaveLength(2);
    await workers[0]!.terminate();
  });

  it('repeat 50 tasks whose thread ends when they begin', async () => {
    const { threads, workers } = createThreads(1);
    await threads.hash('correct horse');
    for (let at = 0; at < 50; at++) {
      const ended = workers.at(-1)!.terminate();
      expect(await threads.hash('correct horse')).toMatch(/^\$argon2id\$/);
      await ended;
    }
    expect(workers).toHaveLength(51);
  });

  it('fail when a second thread ends on the same task', async () => {
    const { threads, workers } = createThreads(1);
    const endAtOnce = (worker: Worker) => void worker.terminate();
    process.on('worker', endAtOnce);
    onTestFinished(() => void process.off('worker', endAtOnce));
    await expect(threads.hash('correct horse')).rejects.toThrow('ended before it answered');
    expect(workers).toHaveLength(2);
  });

  it('do not start again once they are closed', async () => {
    const { threads, workers } = createThreads(1);
    await threads.hash('correct horse');
    await threads.close();
    await expect(threads.hash('correct horse')).rejects.toThrow('closed');
    expect(workers).toHaveLength(1);
  });
});
