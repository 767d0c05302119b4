import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';

import type { HashAnswer, HashTask } from '#core/crypto/hash-threads';

try {
  // On Linux a priority belongs to a thread: hashing gets what the event loop leaves.
  setPriority(19);
} catch {
  // Without the right to be nicer, hashing merely competes.
}

parentPort!.on('message', (task: HashTask) => parentPort!.postMessage(perform(task)));

function perform(task: HashTask): HashAnswer {
  try {
    const result =
      task.stored === undefined ? hashSync(task.password, task.settings) : verifySync(task.stored, task.password);
    return { result };
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'hashing failed' };
  }
}
