import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Flow } from '#core/base/concurrency/fair-queue';
import {
  createFairSemaphore,
  createFairTurns,
  withPermit,
  type FairSemaphore,
  type Permit,
  type Refusal,
} from '#core/base/concurrency/fair-semaphore';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const flowOf = (tenant: string, principal = 'p'): Flow => ({ tenant, principal });
const unlimited = { max: Infinity, maxOf: () => Infinity, timeoutMs: Infinity };

/** Acquires permits and notes the outcomes in their order, as `tenant/principal outcome`. */
function createLog(semaphore: FairSemaphore) {
  const outcomes: string[] = [];
  const held: Permit[] = [];
  return {
    outcomes,
    held,
    acquire(tenant: string, principal = 'p', count = 1): void {
      for (let at = 0; at < count; at++) {
        semaphore.acquire(flowOf(tenant, principal), (refusal, permit) => {
          if (refusal === undefined) held.push(permit);
          outcomes.push(`${tenant}/${principal} ${refusal ?? 'held'}`);
        });
      }
    },
    /** Releases the oldest permits, one after the other. */
    release(count: number): void {
      for (let at = 0; at < count; at++) semaphore.release(held.shift()!);
    },
  };
}

const countOf = (outcomes: string[], outcome: string) => outcomes.filter((one) => one === outcome).length;

describe('the shares of a fair semaphore', () => {
  it('are equal for tenants, however many requests one of them has waiting', () => {
    const semaphore = createFairSemaphore({ permits: () => 2, limits: () => unlimited });
    const log = createLog(semaphore);
    log.acquire('flood', 'p', 200);
    log.acquire('quiet', 'p', 20);
    log.release(40);
    expect(countOf(log.outcomes, 'flood/p held')).toBe(22);
    expect(countOf(log.outcomes, 'quiet/p held')).toBe(20);
  });

  it('are equal for the principals of a tenant', () => {
    const semaphore = createFairSemaphore({ permits: () => 1, limits: () => unlimited });
    const log = createLog(semaphore);
    log.acquire('a', 'flood', 100);
    log.acquire('a', 'quiet', 10);
    log.release(20);
    expect(countOf(log.outcomes, 'a/quiet held')).toBe(10);
    expect(countOf(log.outcomes, 'a/flood held')).toBe(11);
  });

  it('stay below the limit of a tenant, and leave the other permits to others', () => {
    const semaphore = createFairSemaphore({ permits: () => 10, permitsOf: () => 3, limits: () => unlimited });
    const log = createLog(semaphore);
    log.acquire('flood', 'p', 50);
    expect(log.held).toHaveLength(3);
    log.acquire('quiet', 'p', 3);
    expect(log.held).toHaveLength(6);
    semaphore.transfer(log.held[0]!, flowOf('other'));
    semaphore.admit();
    expect(countOf(log.outcomes, 'flood/p held')).toBe(4);
  });
});

describe('a full queue', () => {
  const limits = { max: 4, maxOf: () => 3, timeoutMs: 1000 };
  const create = () => {
    const semaphore = createFairSemaphore({ permits: () => 1, limits: () => limits });
    const log = createLog(semaphore);
    log.acquire('first');
    log.outcomes.length = 0;
    return { semaphore, log };
  };

  it('refuses the request of the flow that has the most waiting', () => {
    const { semaphore, log } = create();
    log.acquire('flood', 'p', 4);
    expect(log.outcomes).toEqual(['flood/p full']);
    expect(semaphore.waiting('flood')).toBe(3);
  });

  it('makes room for a quiet tenant at the cost of the fullest one', () => {
    const { semaphore, log } = create();
    log.acquire('flood', 'p', 3);
    log.acquire('a');
    log.acquire('b');
    expect(log.outcomes).toEqual(['flood/p full']);
    expect(['flood', 'a', 'b'].map((tenant) => semaphore.waiting(tenant))).toEqual([2, 1, 1]);
    log.acquire('flood');
    expect(log.outcomes).toEqual(['flood/p full', 'flood/p full']);
  });

  it('makes room for a quiet principal at the cost of the fullest one of its tenant', () => {
    const { semaphore, log } = create();
    log.acquire('a', 'flood', 3);
    log.acquire('a', 'quiet');
    expect(log.outcomes).toEqual(['a/flood full']);
    expect(semaphore.waiting('a', 'quiet')).toBe(1);
  });

  it('stays within its limit when a refused request acquires again at once', () => {
    const { semaphore } = create();
    const again = (refusal: Refusal | undefined) => {
      if (refusal === 'full') semaphore.acquire(flowOf('flood', 'again'), () => undefined);
    };
    for (let at = 0; at < 3; at++) semaphore.acquire(flowOf('flood'), again);
    for (const tenant of ['a', 'b']) semaphore.acquire(flowOf(tenant), () => undefined);
    expect(semaphore.waiting()).toBe(4);
  });

  it('refuses the others as late when their time has passed, in their order', () => {
    const { semaphore, log } = create();
    log.acquire('a');
    vi.advanceTimersByTime(500);
    log.acquire('b');
    vi.advanceTimersByTime(500);
    expect(log.outcomes).toEqual(['a/p late']);
    vi.advanceTimersByTime(500);
    expect(log.outcomes).toEqual(['a/p late', 'b/p late']);
    expect(semaphore.waiting()).toBe(0);
  });
});

describe('withPermit', () => {
  it('releases the permit when the work fails, and reports a refusal', async () => {
    const limits = { max: 0, maxOf: () => 0, timeoutMs: 1000 };
    const semaphore = createFairSemaphore({ permits: () => 1, limits: () => limits });
    const toError = (refusal: Refusal) => new Error(`refused: ${refusal}`);
    const take = (work: () => Promise<string>) => withPermit(semaphore, flowOf('a'), toError, work);
    await expect(take(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    const { promise, resolve } = Promise.withResolvers<string>();
    const first = take(() => promise);
    await expect(take(() => Promise.resolve('second'))).rejects.toThrow('refused: full');
    resolve('first');
    expect(await first).toBe('first');
  });
});

describe('createFairTurns', () => {
  it('runs a few at a time, of one tenant even fewer', async () => {
    const turns = createFairTurns(3, 2);
    const running = new Map<string, number>();
    let max = { all: 0, a: 0 };
    const work = async (tenant: string) => {
      running.set(tenant, (running.get(tenant) ?? 0) + 1);
      const all = [...running.values()].reduce((sum, count) => sum + count, 0);
      max = { all: Math.max(max.all, all), a: Math.max(max.a, running.get('a') ?? 0) };
      await Promise.resolve();
      running.set(tenant, running.get(tenant)! - 1);
    };
    const tenants = Array.from({ length: 50 }, (_, at) => (at < 40 ? 'a' : 'b'));
    await Promise.all(tenants.map((tenant) => turns(flowOf(tenant), () => work(tenant))));
    expect(max).toEqual({ all: 3, a: 2 });
  });
});

type Step =
  | { do: 'acquire'; flow: Flow; after: 'keep' | 'release' | 'acquire' | 'release another' }
  | { do: 'release' | 'give up'; at: number }
  | { do: 'transfer'; at: number; flow: Flow }
  | { do: 'advance'; ms: number }
  | { do: 'resize'; permits: number };

const flows = fc.record({ tenant: fc.constantFrom('a', 'b', 'c'), principal: fc.constantFrom('p', 'q') });
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('acquire' as const),
      flow: flows,
      after: fc.constantFrom('keep' as const, 'release' as const, 'acquire' as const, 'release another' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('release' as const, 'give up' as const), at: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('transfer' as const), at: fc.nat(50), flow: flows }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat(150) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('resize' as const), permits: fc.nat(5) }) },
);

/** A semaphore together with what its caller knows of it; each callback checks the bounds. */
class Caller {
  permits = 3;
  readonly permitsOf = 2;
  readonly max = 6;
  readonly held = new Set<Permit>();
  readonly waiting = new Set<Permit>();
  readonly over = new Map<Permit, Refusal | 'held'>();
  readonly violations: string[] = [];
  readonly semaphore = createFairSemaphore({
    permits: () => this.permits,
    permitsOf: () => this.permitsOf,
    limits: () => ({ max: this.max, maxOf: () => 4, timeoutMs: 100 }),
    shedding: { targetMs: 20, intervalMs: 30, spared: 1 },
  });

  heldOf(tenant: string): number {
    return [...this.held].filter(({ flow }) => flow.tenant === tenant).length;
  }

  acquire(flow: Flow, after: 'keep' | 'release' | 'acquire' | 'release another'): void {
    let isCalled = false;
    const permit = this.semaphore.acquire(flow, (refusal, given) => {
      this.assert(!isCalled, 'a request was answered twice');
      isCalled = true;
      this.waiting.delete(given);
      if (refusal !== undefined) this.over.set(given, refusal);
      else {
        this.held.add(given);
        this.assert(this.held.size <= this.permits, 'too many permits are held');
        this.assert(this.heldOf(flow.tenant) <= this.permitsOf, 'one tenant holds too many permits');
      }
      if (after === 'release') this.release(given);
      if (after === 'acquire') this.acquire(flow, 'keep');
      if (after === 'release another') this.release([...this.held][0] ?? given);
    });
    if (!isCalled) this.waiting.add(permit);
  }

  release(permit: Permit): void {
    if (this.held.delete(permit) || this.waiting.delete(permit)) this.over.set(permit, 'held');
    this.semaphore.release(permit);
  }

  perform(step: Step): void {
    const pick = (permits: Set<Permit>, at: number) => [...permits][at % Math.max(1, permits.size)];
    switch (step.do) {
      case 'acquire':
        return this.acquire(step.flow, step.after);
      case 'advance':
        return void vi.advanceTimersByTime(step.ms);
      case 'resize':
        this.permits = step.permits;
        return this.semaphore.admit();
      case 'transfer': {
        const permit = pick(this.held, step.at);
        if (permit !== undefined) this.semaphore.transfer(permit, step.flow);
        return this.semaphore.admit();
      }
      case 'release':
      case 'give up': {
        const permit = pick(step.do === 'release' ? this.held : this.waiting, step.at);
        if (permit !== undefined) this.release(permit);
        // Repeating it has no effect.
        for (const over of [...this.over.keys()].slice(-3)) this.semaphore.release(over);
      }
    }
  }

  check(): string[] {
    this.assert(this.semaphore.waiting() === this.waiting.size, 'the number of waiting requests is wrong');
    this.assert(this.waiting.size <= this.max, 'too many requests wait');
    const hasRoom = (tenant: string) => this.held.size < this.permits && this.heldOf(tenant) < this.permitsOf;
    this.assert(![...this.waiting].some(({ flow }) => hasRoom(flow.tenant)), 'a request waits while a permit is free');
    return this.violations;
  }

  private assert(isTrue: boolean, violation: string): void {
    if (!isTrue) this.violations.push(violation);
  }
}

describe('any sequence of calls, also from within callbacks', () => {
  it('exceeds no bound, lets no request wait while a permit is free, and leaks no permit', () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 80 }), (sequence) => {
        const caller = new Caller();
        for (const step of sequence) {
          caller.perform(step);
          expect(caller.check()).toEqual([]);
        }
        caller.permits = 3;
        caller.semaphore.admit();
        while (caller.held.size > 0) caller.release([...caller.held][0]!);
        expect(caller.semaphore.waiting()).toBe(0);
        for (const tenant of ['a', 'b', 'c']) caller.acquire(flowOf(tenant), 'keep');
        expect(caller.held.size).toBe(3);
        expect(vi.getTimerCount()).toBe(0);
      }),
      { numRuns: 500 },
    );
  });
});
