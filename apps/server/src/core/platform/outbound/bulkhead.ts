import { createSemaphore, type Release } from '#core/base/concurrency/semaphore';

/** The destination of a call, and the tenant or process that is charged for it. */
export type Visit = { origin: string; owner: string | undefined };

/** Waits for a permit of a call. @throws the reason of the signal */
export type Bulkhead = (visit: Visit, signal: AbortSignal) => Promise<Release>;

/** Half of the permits are for one origin and a quarter for one owner, so that calls that hang leave permits for others. */
export function createBulkhead(max: number): Bulkhead {
  const permits = createSemaphore();
  return ({ origin, owner }, signal) => {
    const bounds = [
      { key: 'all', max },
      { key: `origin ${origin}`, max: Math.ceil(max / 2) },
    ];
    if (owner !== undefined) bounds.push({ key: `owner ${owner}`, max: Math.ceil(max / 4) });
    return permits.acquire(bounds, signal);
  };
}
