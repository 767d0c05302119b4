import { threadId } from 'node:worker_threads';

import { readOneAnswer } from '#core/platform/outbound/reading-worker';

/** What an answer is read with in tests of threads, by the name that they give. */
const readings = {
  echo: (text: string) => ({ text, threadId }),
  refuse(text: string): never {
    throw new Error('a wrapper', { cause: new Error(`refused ${text.length} characters`) });
  },
  useAllMemory(): never {
    const kept: unknown[] = [];
    for (;;) kept.push(Array.from({ length: 1_000_000 }, () => 0.5));
  },
  neverEnd(): never {
    for (;;);
  },
};

readOneAnswer((text, name: keyof typeof readings) => readings[name](text));
