import { threadId } from 'node:worker_threads';

import { answerTasks } from '#core/base/concurrency/worker-thread';

export type PoolTask = { do: 'answer' | 'throw' | 'exit' | 'hang'; bytes?: Uint8Array };

answerTasks((task: PoolTask) => {
  if (task.do === 'throw') throw new Error('a wrapper', { cause: new Error('the reason') });
  if (task.do === 'exit') process.exit(1);
  if (task.do === 'hang') for (;;);
  return { threadId, size: task.bytes?.byteLength ?? 0 };
});
