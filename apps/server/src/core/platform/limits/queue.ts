import type { Flow } from '#core/base/concurrency/fair-queue';
import { createFairSemaphore, type FairSemaphore, type Permit } from '#core/base/concurrency/fair-semaphore';
import type { AppError } from '#core/base/errors/app-error';
import { ServiceUnavailable } from '#core/base/errors/common-errors';

type Done = (refusal?: AppError) => void;
export type QueueLimits = { enabled: boolean; maxSize: number; timeoutMs: number };

/** Concurrency limits of requests. */
export type Concurrency = {
  /** Requests whose answer has not ended. */
  maxInFlight(): number;
  /** Requests among them that began moments ago and load the event loop and the database. */
  maxActive: number;
  /** Whether the event loop has hardly any idle time. */
  isBusy(): boolean;
};

/** The tenant of all flows without a verified credential; their principals are client addresses. */
export const unverifiedTenant = 'unknown';

/** Admits as many requests as the process can work on at once. The others wait, and tenants take equal shares. */
export type RequestQueue = {
  configure(limits: QueueLimits): void;
  /** Calls back with a permit, at once where one is free, or with a refusal. */
  enter(request: object, flow: Flow, done: Done): void;
  /** The request has ended, or was given up while it waited. Repeating it has no effect. */
  leave(request: object): void;
  /** Counts the request for another flow. While requests wait, it waits among those of the flow. */
  move(request: object, flow: Flow, done: Done): void;
  /** There may be more permits than before. */
  admit(): void;
  /** Whether a request of the flow would wait for too long. */
  isShedding(flow: Flow): boolean;
};

/**
 * Permits that one tenant may hold. Alone: 4/5. While other tenants send requests: 3/10, and down to 1/20 while the event loop
 * is busy.
 */
const permitShares = { alone: 4 / 5, shared: { max: 3 / 10, min: 1 / 20 } };
/** Time after a request of another tenant in which tenants share the permits. */
const sharedMs = 1000;
/** The share of the queue that one tenant may fill. */
const queueShares = { tenant: 1 / 2, unknown: 1 / 4 };
/** A burst of some hundred requests is served within the interval; the target is well below the timeout of any client. */
const shedding = { targetMs: 200, intervalMs: 300, spared: 128 };
/** Age at which a request counts as waiting for something other than this process; higher while the event loop is busy. */
const agesMs = { idle: 50, busy: 500 };

type Entry = { permit: Permit | undefined; isInFlight: boolean; since: number; at: number };

export function createRequestQueue(concurrency: Concurrency, initial: QueueLimits): RequestQueue {
  return new Queue(concurrency, initial);
}

// A mark on the request: a map would be copied again and again, and each copy would keep its requests alive.
const mark = Symbol('entry');
type Marked = { [mark]?: Entry | undefined };

class Queue implements RequestQueue {
  readonly #concurrency: Concurrency;
  readonly #semaphore: FairSemaphore;
  /** At most as many as there are permits. */
  readonly #active: Entry[] = [];
  #limits: QueueLimits;
  #inFlight = 0;
  #lastTenant: string | undefined;
  #sharedUntil = -Infinity;
  /** Permits of a tenant while others send requests too. */
  #sharedPermits: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(concurrency: Concurrency, limits: QueueLimits) {
    this.#concurrency = concurrency;
    this.#limits = limits;
    const { maxInFlight, maxActive } = concurrency;
    this.#sharedPermits = Math.ceil(maxActive * permitShares.shared.max);
    const maxOf = (tenant: string) =>
      Math.ceil(this.#limits.maxSize * (tenant === unverifiedTenant ? queueShares.unknown : queueShares.tenant));
    this.#semaphore = createFairSemaphore({
      permits: () => (this.#inFlight < maxInFlight() ? maxActive : 0),
      permitsOf: () => (this.#isShared() ? this.#sharedPermits : Math.ceil(maxActive * permitShares.alone)),
      limits: () => {
        const { enabled, maxSize, timeoutMs } = this.#limits;
        return { max: enabled ? maxSize : 0, maxOf, timeoutMs };
      },
      shedding,
    });
  }

  configure(limits: QueueLimits): void {
    this.#limits = limits;
  }

  enter(request: Marked, flow: Flow, done: Done): void {
    this.#note(flow.tenant);
    const entry: Entry = { permit: undefined, isInFlight: false, since: 0, at: -1 };
    request[mark] = entry;
    entry.permit = this.#semaphore.acquire(flow, (refusal, permit) => {
      entry.permit = permit;
      if (refusal !== undefined) return done(overloaded());
      entry.isInFlight = true;
      entry.since = performance.now();
      entry.at = this.#active.push(entry) - 1;
      this.#inFlight += 1;
      done();
    });
    this.#watchAges();
  }

  leave(request: Marked): void {
    const entry = request[mark];
    if (entry?.permit === undefined) return;
    request[mark] = undefined;
    if (entry.isInFlight) this.#inFlight -= 1;
    this.#release(entry);
    if (this.#semaphore.waiting() > 0) this.#semaphore.admit();
  }

  move(request: Marked, flow: Flow, done: Done): void {
    const permit = request[mark]?.permit;
    if (permit !== undefined && this.#semaphore.waiting() === 0) {
      this.#semaphore.transfer(permit, flow);
      done();
      return;
    }
    this.leave(request);
    this.enter(request, flow, done);
  }

  admit(): void {
    this.#semaphore.admit();
  }

  isShedding({ tenant, principal }: Flow): boolean {
    if (!this.#semaphore.isShedding(tenant)) return false;
    // Unknown callers do not form a tenant: an address without waiting requests is served soon, however many another one has sent.
    return tenant !== unverifiedTenant || this.#semaphore.waiting(tenant, principal) > 0;
  }

  #isShared(): boolean {
    return performance.now() < this.#sharedUntil;
  }

  #note(tenant: string): void {
    if (tenant === this.#lastTenant) return;
    if (this.#lastTenant !== undefined) this.#sharedUntil = performance.now() + sharedMs;
    this.#lastTenant = tenant;
  }

  #release(entry: Entry): void {
    if (entry.at !== -1) {
      const last = this.#active.pop()!;
      if (last !== entry) [this.#active[entry.at], last.at] = [last, entry.at];
      entry.at = -1;
    }
    this.#semaphore.release(entry.permit!);
  }

  #watchAges(): void {
    if (this.#timer !== undefined || this.#semaphore.waiting() === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const isBusy = this.#concurrency.isBusy();
      this.#adaptShare(isBusy);
      const begunBefore = performance.now() - (isBusy ? agesMs.busy : agesMs.idle);
      for (const entry of this.#active.filter(({ since }) => since < begunBefore)) this.#release(entry);
      this.#watchAges();
    }, agesMs.idle).unref();
  }

  /** Additive increase, multiplicative decrease, as TCP finds its share of a link (RFC 5681, section 3.1). */
  #adaptShare(isBusy: boolean): void {
    const { maxActive } = this.#concurrency;
    const { max, min } = permitShares.shared;
    this.#sharedPermits = isBusy
      ? Math.max(Math.floor(this.#sharedPermits / 2), Math.ceil(maxActive * min))
      : Math.min(this.#sharedPermits + 1, Math.ceil(maxActive * max));
  }
}

/** Random, so that clients refused together do not come back together. */
export function overloaded(): AppError {
  return ServiceUnavailable({ retryAfterSeconds: 1 + Math.round(Math.random() * 3) });
}
