import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { StartError } from '#app/start-errors';
import { whenServing } from '#app/worker-start';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A worker that sends nothing, and ends when it is killed. */
function hangingWorker() {
  const worker = new EventEmitter();
  const kill = vi.fn<(signal: string) => void>((signal) => {
    worker.emit('disconnect');
    worker.emit('exit', null, signal);
  });
  return { worker: Object.assign(worker, { process: { kill } }) as unknown as Worker, kill };
}

const start = { kind: 'start', protocol: 1, access: {} as never } as const;
const tenMinutesMs = 600_000;

it('a worker that hangs during its start is killed after ten minutes', async () => {
  const { worker, kill } = hangingWorker();
  const serving = whenServing(worker, { start, othersServe: true });
  const outcome = serving.catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(tenMinutesMs - 1);
  expect(kill).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  const error = (await outcome) as Error;
  expect(error).toBeInstanceOf(StartError);
  expect(error.message).toMatch(/did not serve within 10 minutes/);
  expect(kill).toHaveBeenCalledExactlyOnceWith('SIGKILL');
});

it('the first worker has no time limit, and a serving worker is not killed', async () => {
  const first = hangingWorker();
  void whenServing(first.worker, { start, othersServe: false });
  const second = hangingWorker();
  const serving = whenServing(second.worker, { start, othersServe: true });
  second.worker.emit('message', { kind: 'serving', version: '1.0.0' });
  expect(await serving).toMatchObject({ version: '1.0.0' });
  await vi.advanceTimersByTimeAsync(2 * tenMinutesMs);
  expect(first.kill).not.toHaveBeenCalled();
  expect(second.kill).not.toHaveBeenCalled();
});
