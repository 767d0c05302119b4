import { parentPort } from 'node:worker_threads';

import type { ReadingResult, ReadingTask } from '#core/outbound/reading';

/** What the script of a thread calls: reads the one answer that the thread is for. */
export function readOneAnswer(read: (text: string, argument: never) => unknown): void {
  parentPort!.once('message', ({ bytes, argument }: ReadingTask) => {
    parentPort!.postMessage(perform(() => read(new TextDecoder().decode(bytes), argument as never)));
  });
}

function perform(read: () => unknown): ReadingResult {
  try {
    return { result: read() };
  } catch (error) {
    return { error: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the answer cannot be read';
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
