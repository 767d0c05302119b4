import { Counts } from '#core/base/concurrency/counts';
import { createFairQueue, type FairQueue, type Flow } from '#core/base/concurrency/fair-queue';
import { createQueueingDelays, type QueueingDelays, type SheddingOptions } from '#core/base/concurrency/queueing-delay';

/** Why a request for a permit was refused: too many wait, or it waited for too long. */
export type Refusal = 'full' | 'late';

/** A request for a permit, and then the permit. */
export type Permit = { readonly flow: Flow };

type Done = (refusal: Refusal | undefined, permit: Permit) => void;

/** Permits for limited work. When too few are free, tenants and their principals get equal shares. */
export type FairSemaphore = {
  /** Calls back with a permit, at once where one is free, or with a refusal. */
  acquire(flow: Flow, done: Done): Permit;
  /** Gives the permit back, or stops waiting for it. Repeating it has no effect. */
  release(permit: Permit): void;
  /** Counts a held permit for another flow. */
  transfer(permit: Permit, flow: Flow): void;
  /** Assigns permits that became free without a release. */
  admit(): void;
  /** Number of waiting requests: of all tenants, of one, or of one of its principals. */
  waiting(tenant?: string, principal?: string): number;
  /** Whether the tenant's requests are refused because they waited too long; a new one that would wait should be refused at once. */
  isShedding(tenant: string): boolean;
};

/** Limits of waiting requests: their number and their time. */
export type WaitingLimits = {
  max: number;
  maxOf(tenant: string): number;
  timeoutMs: number;
};

export type SemaphoreOptions = {
  permits(): number;
  /** Permits that one tenant may hold; the default is all. */
  permitsOf?(): number;
  /** Read whenever a request begins to wait. */
  limits(): WaitingLimits;
  /** Default: no load shedding. */
  shedding?: SheddingOptions;
};

type Entry = {
  flow: Flow;
  state: 'waiting' | 'held' | 'closed';
  done: Done | undefined;
  since: number;
  timer: NodeJS.Timeout | undefined;
};

/** A semaphore whose waiters are served by deficit round robin. Its callbacks may acquire and release. */
export function createFairSemaphore(options: SemaphoreOptions): FairSemaphore {
  return new RoundRobinSemaphore(options);
}

class RoundRobinSemaphore implements FairSemaphore {
  readonly #options: SemaphoreOptions;
  readonly #queue = createFairQueue<Entry>();
  readonly #delays: QueueingDelays;
  readonly #held = new Counts();
  #total = 0;
  #isAdmitting = false;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
    this.#delays = createQueueingDelays(options.shedding);
  }

  readonly #mayServe = (tenant: string) => {
    const { permits, permitsOf = permits } = this.#options;
    return this.#held.of(tenant) < permitsOf();
  };

  acquire(flow: Flow, done: Done): Permit {
    const entry: Entry = { flow, state: 'waiting', done, since: 0, timer: undefined };
    const isFree = this.#total < this.#options.permits() && this.#mayServe(flow.tenant);
    if (isFree && this.#queue.sizeOf(flow.tenant) === 0) {
      this.#hold(entry);
      call(entry, undefined);
    } else {
      this.#wait(entry);
      this.admit();
    }
    return entry;
  }

  release(permit: Permit): void {
    const entry = permit as Entry;
    if (entry.state === 'waiting') return this.#stopWaiting(entry);
    if (entry.state !== 'held') return;
    entry.state = 'closed';
    this.#held.add(entry.flow.tenant, -1);
    this.#total -= 1;
    if (this.#queue.size() > 0) this.admit();
  }

  transfer(permit: Permit, flow: Flow): void {
    const entry = permit as Entry;
    if (entry.state !== 'held') return;
    this.#held.add(entry.flow.tenant, -1);
    this.#held.add(flow.tenant, 1);
    entry.flow = flow;
  }

  // A permit that is released by a callback is given out by this very loop: no recursion.
  admit(): void {
    if (this.#isAdmitting) return;
    this.#isAdmitting = true;
    try {
      while (this.#queue.size() > 0 && this.#total < this.#options.permits()) {
        const entry = this.#queue.next(this.#mayServe);
        if (entry === undefined) return;
        this.#serve(entry);
      }
    } finally {
      this.#isAdmitting = false;
    }
  }

  waiting(tenant?: string, principal?: string): number {
    return tenant === undefined ? this.#queue.size() : this.#queue.sizeOf(tenant, principal);
  }

  isShedding(tenant: string): boolean {
    return this.#delays.isShedding(tenant, this.#queue.sizeOf(tenant));
  }

  #serve(entry: Entry): void {
    clearTimeout(entry.timer);
    const { tenant } = entry.flow;
    const left = this.#queue.sizeOf(tenant);
    const isLate = this.#delays.isLate(tenant, entry.since, left);
    if (left === 0) this.#delays.end(tenant);
    if (isLate) entry.state = 'closed';
    else this.#hold(entry);
    call(entry, isLate ? 'late' : undefined);
  }

  #hold(entry: Entry): void {
    entry.state = 'held';
    this.#held.add(entry.flow.tenant, 1);
    this.#total += 1;
  }

  #wait(entry: Entry): void {
    const { max, maxOf, timeoutMs } = this.#options.limits();
    const { tenant } = entry.flow;
    const isTenantFull = this.#queue.sizeOf(tenant) >= maxOf(tenant);
    const isFull = isTenantFull || this.#queue.size() >= max;
    // The flow with the most waiting requests loses one, so that it cannot fill the queue.
    const victim = isFull ? this.#queue.fullest(isTenantFull ? tenant : undefined) : undefined;
    if (isFull && !mayEvict(this.#queue, victim, entry.flow)) return this.#refuse(entry, 'full');
    entry.since = performance.now();
    if (timeoutMs !== Infinity) entry.timer = setTimeout(() => this.#refuse(entry, 'late'), timeoutMs);
    this.#queue.push(entry.flow, entry);
    // Last, because its callback may acquire again: the queue must be full by then.
    if (victim !== undefined) this.#refuse(victim, 'full');
  }

  #refuse(entry: Entry, refusal: Refusal): void {
    const { done } = entry;
    this.#stopWaiting(entry);
    done?.(refusal, entry);
  }

  #stopWaiting(entry: Entry): void {
    clearTimeout(entry.timer);
    entry.state = 'closed';
    entry.done = entry.timer = undefined;
    this.#queue.remove(entry);
    if (this.#queue.sizeOf(entry.flow.tenant) === 0) this.#delays.end(entry.flow.tenant);
  }
}

/** Clears the callback, so that a permit that is kept does not keep the callback's memory. */
function call(entry: Entry, refusal: Refusal | undefined): void {
  const { done } = entry;
  entry.done = undefined;
  done?.(refusal, entry);
}

/** Whether the victim's flow has more waiting requests than the flow that needs room. */
function mayEvict(queue: FairQueue<Entry>, victim: Entry | undefined, { tenant, principal }: Flow): boolean {
  if (victim === undefined) return false;
  if (victim.flow.tenant !== tenant) return queue.sizeOf(victim.flow.tenant) > queue.sizeOf(tenant);
  return queue.sizeOf(tenant, victim.flow.principal) > queue.sizeOf(tenant, principal);
}

/** Runs the work with a permit. @throws what `toError` makes of a refusal */
export async function withPermit<Result>(
  semaphore: FairSemaphore,
  flow: Flow,
  toError: (refusal: Refusal) => Error,
  work: () => Promise<Result>,
): Promise<Result> {
  const permit = await new Promise<Permit>((resolve, reject) => {
    semaphore.acquire(flow, (refusal, acquired) => {
      if (refusal === undefined) resolve(acquired);
      else reject(toError(refusal));
    });
  });
  try {
    return await work();
  } finally {
    semaphore.release(permit);
  }
}

/** Runs work a few at a time; tenants, and their principals, take equal shares. */
export type FairTurns = <Result>(flow: Flow, work: () => Promise<Result>) => Promise<Result>;

/**
 * For work whose number is bounded elsewhere: any number of it waits for as long as it takes.
 * @param permitsOfTenant fewer than all where the work may hang, so that one tenant does not hold every permit
 */
export function createFairTurns(permits: number, permitsOfTenant = permits): FairTurns {
  const semaphore = createFairSemaphore({
    permits: () => permits,
    permitsOf: () => permitsOfTenant,
    limits: () => ({ max: Infinity, maxOf: () => Infinity, timeoutMs: Infinity }),
  });
  return (flow, work) => withPermit(semaphore, flow, (refusal) => new Error(`not reached: ${refusal}`), work);
}
