import { parentPort } from 'node:worker_threads';

export type ThreadAnswer = { result: unknown } | { error: string };

/** Called once by the script of a worker pool. @param perform returns plain data */
export function answerTasks(perform: (task: never) => unknown): void {
  parentPort!.on('message', (task) => parentPort!.postMessage(answer(() => perform(task as never))));
}

function answer(perform: () => unknown): ThreadAnswer {
  try {
    return { result: perform() };
  } catch (error) {
    return { error: reasonOf(error) };
  }
}

/** The message of the innermost cause, because errors are not passed between threads. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the task failed';
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
