import { answerTasks } from '#core/base/concurrency/worker-thread';
import type { ReadingTask } from '#core/platform/outbound/reading';

/** The script of a reading calls this with its function. */
export function readOneAnswer(read: (text: string, argument: never) => unknown): void {
  answerTasks(({ bytes, argument }: ReadingTask) => read(new TextDecoder().decode(bytes), argument as never));
}
