import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { AppError } from '#core/base/errors/app-error';
import { createRequestQueue, unverifiedTenant, type RequestQueue } from '#core/platform/limits/queue';

let room = 2;
let active = 100;
let isBusy = false;
let queue: RequestQueue;
const answers: [number, number | undefined][] = [];
const requests = Array.from({ length: 20 }, () => ({}));
const flow = { tenant: 'a', principal: 'p' };
const limits = { enabled: true, maxSize: 10, timeoutMs: 1000 };

const open = (changes: Partial<typeof limits> = {}) =>
  createRequestQueue({ maxInFlight: () => room, maxActive: active, isBusy: () => isBusy }, { ...limits, ...changes });

beforeEach(() => {
  vi.useFakeTimers();
  [room, active, isBusy] = [2, 100, false];
  answers.length = 0;
  queue = open();
});
afterEach(() => void vi.useRealTimers());

const note = (name: number) => (refusal?: AppError) => answers.push([name, refusal?.status]);
const enter = (...names: number[]) => {
  for (const name of names) queue.enter(requests[name]!, flow, note(name));
};
const leave = (name: number) => queue.leave(requests[name]!);
const admitted = (...names: number[]) => names.map((name) => [name, undefined]);

describe('the request queue', () => {
  it('admits so many at once, and the others of a principal in their order, one for each that leaves', () => {
    enter(0, 1, 2, 3, 4);
    expect(answers).toEqual(admitted(0, 1));
    leave(1);
    expect(answers).toEqual(admitted(0, 1, 2));
    leave(0);
    leave(0);
    expect(answers).toEqual(admitted(0, 1, 2, 3));
  });

  it('lets no request of a principal overtake the others', () => {
    enter(0, 1, 2);
    room = 3;
    enter(3);
    expect(answers).toEqual(admitted(0, 1, 2));
  });

  it('503 with Retry-After at once when a tenant fills its half of the queue', () => {
    enter(0, 1, 2, 3, 4, 5, 6, 7);
    expect(answers).toEqual([...admitted(0, 1), [7, 503]]);
    queue.enter({}, flow, (refusal) => expect(refusal!.retryAfterSeconds).toBeGreaterThanOrEqual(1));
    leave(4);
    enter(8, 9);
    expect(answers.slice(3)).toEqual([[9, 503]]);
  });

  it('503 when the time is over, not before, and only for those whose it is', () => {
    enter(0, 1, 2);
    vi.advanceTimersByTime(850);
    enter(3);
    vi.advanceTimersByTime(149);
    expect(answers).toEqual(admitted(0, 1));
    vi.advanceTimersByTime(1);
    expect(answers).toEqual([...admitted(0, 1), [2, 503]]);
    leave(0);
    expect(answers.slice(3)).toEqual(admitted(3));
    vi.advanceTimersByTime(10_000);
    expect(answers).toHaveLength(4);
  });

  it('forgets requests that were given up while they waited', () => {
    enter(0, 1, 2, 3);
    leave(2);
    vi.advanceTimersByTime(199);
    leave(0);
    expect(answers).toEqual(admitted(0, 1, 3));
    vi.advanceTimersByTime(100);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('applies a changed configuration to the next request', () => {
    enter(0, 1, 2);
    queue.configure({ enabled: true, maxSize: 1, timeoutMs: 50 });
    enter(3);
    queue.configure({ enabled: false, maxSize: 10, timeoutMs: 50 });
    enter(4);
    expect(answers).toEqual([...admitted(0, 1), [3, 503], [4, 503]]);
    leave(0);
    expect(answers.slice(4)).toEqual(admitted(2));
  });

  it('admits any number that leave at once, as streams do', () => {
    queue = open({ maxSize: 100_000 });
    enter(0, 1);
    let served = 0;
    for (let at = 0; at < 30_000; at++) {
      const request = {};
      queue.enter(request, flow, () => {
        served += 1;
        queue.leave(request);
      });
    }
    leave(0);
    expect(served).toBe(30_000);
  });

  it('never admits more requests than there is room for, in any order of arrivals and ends', () => {
    let working = 0;
    queue = open({ maxSize: 400 });
    const inside: object[] = [];
    for (let at = 0; at < 200; at++) {
      const request = {};
      queue.enter(request, flow, () => {
        inside.push(request);
        working += 1;
        expect(working).toBeLessThanOrEqual(2);
      });
      if (at % 3 === 0) {
        working -= 1;
        queue.leave(inside.shift()!);
      }
    }
    while (inside.length > 0) {
      working -= 1;
      queue.leave(inside.shift()!);
    }
    expect(working).toBe(0);
  });
});

describe('a tenant with hundreds of requests at once', () => {
  const served: string[] = [];
  const requestsOf = new Map<string, object[]>();

  beforeEach(() => {
    served.length = 0;
    requestsOf.clear();
    [room, active] = [1000, 40];
    queue = open({ maxSize: 1000 });
  });

  const come = (tenant: string, count: number, principal = 'p') => {
    for (let at = 0; at < count; at++) {
      const request = {};
      queue.enter(request, { tenant, principal }, (refusal) => {
        served.push(refusal === undefined ? tenant : `${tenant} refused`);
        if (refusal === undefined) requestsOf.set(tenant, [...(requestsOf.get(tenant) ?? []), request]);
      });
    }
  };
  const end = (tenant: string) => queue.leave(requestsOf.get(tenant)!.shift()!);
  const count = (name: string) => served.filter((one) => one === name).length;
  const isShedding = (tenant: string, principal = 'p') => queue.isShedding({ tenant, principal });

  it('leaves permits to the others, which begin at once', () => {
    come('flood', 300);
    expect(count('flood')).toBe(32);
    for (const quiet of ['b', 'c', 'd']) come(quiet, 1);
    expect(served.slice(-3)).toEqual(['b', 'c', 'd']);
  });

  it('has others served next where all permits are held', () => {
    come('flood', 300);
    come('second flood', 300);
    come('quiet', 1);
    expect(count('quiet')).toBe(0);
    end('flood');
    end('flood');
    expect(count('quiet')).toBe(1);
  });

  it('cannot fill the queue: others wait although it is full', () => {
    come('flood', 600);
    come('second flood', 600);
    for (let at = 0; at < 9; at++) come(`quiet ${at}`, 1);
    expect(served.filter((name) => name.endsWith('refused') && name.startsWith('quiet'))).toEqual([]);
    expect(count('flood refused')).toBeGreaterThan(0);
  });

  it('of unknown credentials fills a quarter of the queue at most, and no address keeps another one out', () => {
    queue = open({ maxSize: 400 });
    come(unverifiedTenant, 300, 'flooding address');
    const before = count(`${unverifiedTenant} refused`);
    expect(before).toBe(300 - 32 - 100);
    come(unverifiedTenant, 1, 'another address');
    come('tenant', 1);
    expect(count(`${unverifiedTenant} refused`)).toBe(before + 1);
    expect(count('tenant')).toBe(1);
    end(unverifiedTenant);
    end(unverifiedTenant);
    expect(count(unverifiedTenant)).toBe(32);
  });

  it('whose requests hang delays no other: permits of requests that take long are given to others', () => {
    come('flood', 100);
    come('second flood', 100);
    come('quiet', 1);
    expect(count('quiet')).toBe(0);
    vi.advanceTimersByTime(200);
    expect(count('quiet')).toBe(1);
  });

  it('whose requests take long because the event loop is busy keeps to its permits for longer', () => {
    isBusy = true;
    come('flood', 200);
    const begun = count('flood');
    vi.advanceTimersByTime(400);
    expect(count('flood')).toBe(begun);
  });

  it('holds fewer permits next to others while the event loop is busy, and more again afterwards', () => {
    const begunMeanwhile = (work: () => void) => {
      const before = count('flood');
      work();
      return count('flood') - before;
    };
    const tick = () => vi.advanceTimersByTime(50);
    isBusy = true;
    come('flood', 300);
    come('quiet', 1);
    for (let at = 0; at < 4; at++) tick();
    // Of the 32 that it held while it was alone, all but two end without a successor.
    expect(begunMeanwhile(() => Array.from({ length: 30 }, () => end('flood')))).toBe(0);
    expect(begunMeanwhile(() => end('flood'))).toBe(1);
    isBusy = false;
    // A request gives its permit to others after two ticks, so that within two ticks as many begin as the tenant may hold.
    const begun = Array.from({ length: 7 }, () =>
      begunMeanwhile(() => {
        come('quiet', 1);
        tick();
        tick();
      }),
    );
    expect([begun[0], begun.at(-1)]).toEqual([4, 12]);
  });

  it('has requests refused that waited too long, once its queue outlasts a burst; other tenants have not', () => {
    const pass = (ms: number) => {
      for (let at = 0; at < ms; at += 10) {
        vi.advanceTimersByTime(10);
        end('flood');
        come('flood', 1);
      }
    };
    isBusy = true;
    come('flood', 400);
    pass(250);
    expect(count('flood refused')).toBe(0);
    pass(900);
    expect(count('flood refused')).toBeGreaterThan(20);
    come('flood', 200);
    expect([isShedding('flood'), isShedding('quiet')]).toEqual([true, false]);
    come('quiet', 1);
    expect([count('quiet'), count('quiet refused')]).toEqual([1, 0]);
    while (requestsOf.get('flood')!.length > 0) end('flood');
    expect(isShedding('flood')).toBe(false);
  });

  it('with unknown credentials is judged by address: other addresses are not refused', () => {
    isBusy = true;
    come(unverifiedTenant, 240, 'flooding address');
    for (let at = 0; at < 100; at++) {
      vi.advanceTimersByTime(10);
      end(unverifiedTenant);
      come(unverifiedTenant, 1, 'flooding address');
    }
    come(unverifiedTenant, 100, 'flooding address');
    expect([isShedding(unverifiedTenant, 'flooding address'), isShedding(unverifiedTenant, 'another')]).toEqual([
      true,
      false,
    ]);
  });

  it('waits among its own once its credential is verified', () => {
    const moved: string[] = [];
    const request = {};
    queue.enter(request, { tenant: unverifiedTenant, principal: 'address' }, () => moved.push('as unknown'));
    come('flood', 60);
    queue.move(request, { tenant: 'flood', principal: 'p' }, () => moved.push('as flood'));
    expect(moved).toEqual(['as unknown']);
    while ((requestsOf.get('flood') ?? []).length > 0) end('flood');
    expect(moved).toEqual(['as unknown', 'as flood']);
  });
});
