import type { Worker } from 'node:cluster';
import { once } from 'node:events';

import { StartError } from '#app/start-errors';
import { tell, type FromWorker, type Served, type ToWorker } from '#app/worker-messages';

/** A worker may bring the database up to date first, which takes its minutes; one that hangs holds up those after it. */
const startLimitMs = 10 * 60_000;

type Start = Extract<ToWorker, { kind: 'start' }>;

/**
 * Has a new worker start; with others that serve meanwhile, it is ended after ten minutes.
 * @throws StartError when it ends instead of serving.
 */
export function whenServing(
  worker: Worker,
  { start, othersServe }: { start: Start; othersServe: boolean },
): Promise<Served> {
  return new Promise((resolve, reject) => {
    let reason: string | undefined;
    const giveUp = () => {
      reason = `A worker did not serve within ${startLimitMs / 60_000} minutes and was ended: see what holds up the database.`;
      worker.process.kill('SIGKILL');
    };
    const timer = othersServe ? setTimeout(giveUp, startLimitMs).unref() : undefined;
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'failed') reason = message.reason;
      if (message.kind !== 'serving') return;
      clearTimeout(timer);
      resolve(message);
    });
    // What it has said last is read before the channel closes, not before it ends.
    const ended = Promise.all([once(worker, 'exit'), once(worker, 'disconnect')]);
    ended.then(([[code, signal]]) => {
      clearTimeout(timer);
      reject(new StartError(reason ?? `A worker ended during its start (${signal ?? code}): start again.`));
    }, reject);
    worker.once('online', () => tell(worker, start));
  });
}
