import { createFairQueue, type Flow } from '#core/base/concurrency/fair-queue';

/** Runs synchronous work, one piece in each turn of the event loop; tenants and their principals take equal shares. */
export type OnePerTurn = (flow: Flow, work: () => void) => void;

/**
 * For work that takes milliseconds of the event loop: several pieces in one turn would delay all requests by their sum.
 * The work must not throw.
 */
export function createOnePerTurn(): OnePerTurn {
  const waiting = createFairQueue<() => void>();
  let isScheduled = false;
  const runNext = () => {
    const work = waiting.next();
    isScheduled = waiting.size() > 0;
    // An immediate that is set by an immediate runs in the next turn.
    if (isScheduled) setImmediate(runNext);
    work?.();
  };
  return (flow, work) => {
    waiting.push(flow, work);
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(runNext);
  };
}
