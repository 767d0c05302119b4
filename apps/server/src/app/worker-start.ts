import type { Worker } from 'node:cluster';
import { once } from 'node:events';

import { StartError } from '#app/start-errors';
import { tell, type FromWorker, type Served, type ToWorker } from '#app/worker-messages';

/** A worker may migrate the database first, which takes minutes; a worker that hangs delays the next ones. */
const startLimitMs = 10 * 60_000;

type Start = Extract<ToWorker, { kind: 'start' }>;

/**
 * Starts a new worker; it is ended after ten minutes if other workers serve meanwhile.
 * @throws StartError if it ends instead of serving.
 */
export function whenServing(
  worker: Worker,
  { start, othersServe }: { start: Start; othersServe: boolean },
): Promise<Served> {
  return new Promise((resolve, reject) => {
    let reason: string | undefined;
    const giveUp = () => {
      reason = `A worker did not serve within ${startLimitMs / 60_000} minutes and was ended. Find out what delays the database.`;
      worker.process.kill('SIGKILL');
    };
    const timer = othersServe ? setTimeout(giveUp, startLimitMs).unref() : undefined;
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'failed') reason = message.reason;
      if (message.kind !== 'serving') return;
      clearTimeout(timer);
      resolve(message);
    });
    // Last messages are read before the channel closes, which may be after the exit.
    const ended = Promise.all([once(worker, 'exit'), once(worker, 'disconnect')]);
    ended.then(([[code, signal]]) => {
      clearTimeout(timer);
      reject(new StartError(reason ?? `A worker ended during its start (${signal ?? code}). Start again.`));
    }, reject);
    worker.once('online', () => tell(worker, start));
  });
}
