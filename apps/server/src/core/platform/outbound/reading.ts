import { createFairTurns } from '#core/base/concurrency/fair-semaphore';
import { createWorkerPool } from '#core/base/concurrency/worker-pool';

/** A script that calls `readOneAnswer`: it gets the text of an answer and one argument, and returns plain data. */
export type Reading = { script: URL; argument: unknown };

export type ReadingTask = { bytes: Uint8Array; argument: unknown };

/** Longer answers are read on a thread: to parse 256 KiB takes the event loop a few milliseconds. */
export const maxBytesOnLoop = 262_144;

const maxReadMs = 5000;
// An answer of a few MiB takes up to 30 times its size while it is read.
const resourceLimits = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 192 };

const inShares = createFairTurns(1);

/**
 * Reads an answer of a provider on a thread of its own, which ends with it. One answer is read at a time, so that answers
 * that come together need the memory of one; those of different tenants take turns.
 * @param bytes are given away: they cannot be used afterwards
 * @throws Error with the message of what the function threw, or where reading takes too long or too much memory
 */
export function readOnThread<Result>(
  reading: Reading,
  bytes: Uint8Array<ArrayBuffer>,
  { tenantId, maxMs = maxReadMs }: { tenantId: string; maxMs?: number | undefined },
): Promise<Result> {
  const flow = { tenant: tenantId, principal: '' };
  return inShares(flow, () => readNow(reading, bytes, maxMs)) as Promise<Result>;
}

async function readNow(reading: Reading, bytes: Uint8Array<ArrayBuffer>, maxMs: number): Promise<unknown> {
  const pool = createWorkerPool<ReadingTask, unknown>({ script: reading.script, max: 1, resourceLimits });
  const timeout = { ms: maxMs, toError: () => new Error('the answer took too long to read') };
  try {
    return await pool.run({ argument: reading.argument, bytes }, { transfer: [bytes.buffer], timeout });
  } finally {
    await pool.close();
  }
}
