import { hashSync, verifySync } from '@node-rs/argon2';
import { setPriority } from 'node:os';

import { answerTasks } from '#core/base/concurrency/worker-thread';
import type { HashTask } from '#core/base/crypto/hash-threads';

try {
  // On Linux a priority belongs to a thread. Requests come first, but on a busy core hashing still gets a tenth: with 19 it
  // gets a sixtieth, and a login takes longer than its timeout.
  setPriority(10);
} catch {
  // Without the right to be nicer, hashing merely competes.
}

answerTasks(({ password, stored, settings }: HashTask) =>
  stored === undefined ? hashSync(password, settings) : verifySync(stored, password),
);
