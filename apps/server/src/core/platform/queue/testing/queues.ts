import type pg from 'pg';

import { newId } from '#core/base/crypto/ids';
import type { Log } from '#core/data/log/log';
import { createQueue, type Queue } from '#core/platform/queue/queue';
import type { BoundWork } from '#core/platform/queue/terms';

/** Work under a name of its own that does nothing, with what a test says otherwise. */
export function workOf(terms: Partial<BoundWork> = {}): BoundWork {
  return {
    name: `test-${newId()}`,
    concurrency: 2,
    attempts: 3,
    backoff: { firstSeconds: 0, maxSeconds: 0 },
    timeoutMs: 60_000,
    run: () => Promise.resolve(),
    ...terms,
  };
}

/** A queue that looks often, as one of the processes of an installation. */
export function queueOf({ connection, log }: { connection: pg.ClientConfig; log: Log }, work: BoundWork[]): Queue {
  return createQueue({ connection, log, work, pollMs: 100, tendMs: 1000 });
}
