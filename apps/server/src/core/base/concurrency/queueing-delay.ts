/**
 * Sheds load by queueing delay, as CoDel (RFC 8289) does, for each tenant. If the requests of a tenant have waited longer than
 * `targetMs` for `intervalMs`, the load exceeds a burst, and those that waited longer are refused. While fewer than `spared`
 * wait, all are served: the cause is then a database that is slow to answer.
 */
export type SheddingOptions = { targetMs: number; intervalMs: number; spared: number };

/** Since when the requests of each tenant wait too long; forgotten as soon as no request of the tenant waits. */
export type QueueingDelays = {
  /**
   * Whether a request that leaves the queue is refused instead of served.
   * @param waitingSince its start in the queue, by `performance.now()`
   * @param left how many requests of the tenant still wait
   */
  isLate(tenant: string, waitingSince: number, left: number): boolean;
  /** Whether a request of the tenant would be refused now. */
  isShedding(tenant: string, left: number): boolean;
  /** No request of the tenant waits. */
  end(tenant: string): void;
};

/** @param shedding undefined: no request is refused */
export function createQueueingDelays(shedding: SheddingOptions | undefined): QueueingDelays {
  const lateSince = new Map<string, number>();
  const isOverload = (tenant: string, now: number) => {
    const since = lateSince.get(tenant);
    return since !== undefined && now - since >= shedding!.intervalMs;
  };
  return {
    isLate(tenant, waitingSince, left) {
      if (shedding === undefined) return false;
      const now = performance.now();
      if (now - waitingSince < shedding.targetMs) {
        lateSince.delete(tenant);
        return false;
      }
      if (!lateSince.has(tenant)) lateSince.set(tenant, now);
      return left >= shedding.spared && isOverload(tenant, now);
    },
    isShedding: (tenant, left) =>
      lateSince.size > 0 && left >= shedding!.spared && isOverload(tenant, performance.now()),
    end(tenant) {
      if (lateSince.size > 0) lateSince.delete(tenant);
    },
  };
}
