import { hashSync, verifySync } from '@node-rs/argon2';
import { setPriority } from 'node:os';

import { answerTasks } from '#core/base/concurrency/worker-thread';
import type { HashTask } from '#core/base/crypto/hash-threads';

try {
  // On Linux a priority belongs to a thread: hashing gets what the event loop leaves.
  setPriority(19);
} catch {
  // Without the right to be nicer, hashing merely competes.
}

answerTasks(({ password, stored, settings }: HashTask) =>
  stored === undefined ? hashSync(password, settings) : verifySync(stored, password),
);
