import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { AppError } from '#core/errors/app-error';
import { createRequestQueue, type RequestQueue } from '#core/limits/queue';

let room = 2;
let queue: RequestQueue;
const answers: [number, number | undefined][] = [];
const requests = Array.from({ length: 20 }, () => ({}));

beforeEach(() => {
  vi.useFakeTimers();
  room = 2;
  answers.length = 0;
  queue = createRequestQueue(() => room, { enabled: true, maxSize: 5, timeoutMs: 1000 });
});
afterEach(() => void vi.useRealTimers());

const enter = (...names: number[]) => {
  for (const name of names) queue.enter(requests[name]!, (refusal?: AppError) => answers.push([name, refusal?.status]));
};
const leave = (name: number) => queue.leave(requests[name]!);
const admitted = (...names: number[]) => names.map((name) => [name, undefined]);

describe('the request queue', () => {
  it('lets so many in at once and the others in their order, one for each that leaves', () => {
    enter(0, 1, 2, 3, 4);
    expect(answers).toEqual(admitted(0, 1));
    leave(1);
    expect(answers).toEqual(admitted(0, 1, 2));
    leave(0);
    leave(0);
    expect(answers).toEqual(admitted(0, 1, 2, 3));
  });

  it('lets nobody overtake those who wait', () => {
    enter(0, 1, 2);
    room = 3;
    enter(3);
    expect(answers).toEqual(admitted(0, 1));
    queue.admit();
    expect(answers).toEqual(admitted(0, 1, 2));
  });

  it('503 with Retry-After at once when it is full', () => {
    enter(0, 1, 2, 3, 4, 5, 6, 7);
    expect(answers).toEqual([...admitted(0, 1), [7, 503]]);
    queue.enter({}, (refusal) => expect(refusal!.retryAfterSeconds).toBeGreaterThanOrEqual(1));
    leave(4);
    enter(8, 9);
    expect(answers.slice(3)).toEqual([[9, 503]]);
  });

  it('503 when the time is over, not before, and only for those whose it is', () => {
    enter(0, 1, 2);
    vi.advanceTimersByTime(600);
    enter(3);
    vi.advanceTimersByTime(399);
    expect(answers).toEqual(admitted(0, 1));
    vi.advanceTimersByTime(1);
    expect(answers).toEqual([...admitted(0, 1), [2, 503]]);
    leave(0);
    expect(answers.slice(3)).toEqual(admitted(3));
    vi.advanceTimersByTime(10_000);
    expect(answers).toHaveLength(4);
  });

  it('forgets who gave up while they waited', () => {
    enter(0, 1, 2, 3);
    leave(2);
    vi.advanceTimersByTime(999);
    leave(0);
    expect(answers).toEqual(admitted(0, 1, 3));
    expect(vi.getTimerCount()).toBe(0);
  });

  it('holds to a changed configuration from the next request on', () => {
    enter(0, 1, 2);
    queue.configure({ enabled: true, maxSize: 1, timeoutMs: 50 });
    enter(3);
    queue.configure({ enabled: false, maxSize: 5, timeoutMs: 50 });
    enter(4);
    expect(answers).toEqual([...admitted(0, 1), [3, 503], [4, 503]]);
    leave(0);
    expect(answers.slice(4)).toEqual(admitted(2));
  });

  it('lets any number in that leave at once, as streams do', () => {
    queue = createRequestQueue(() => room, { enabled: true, maxSize: 50_000, timeoutMs: 1000 });
    enter(0, 1);
    let served = 0;
    for (let at = 0; at < 30_000; at++) {
      const request = {};
      queue.enter(request, () => {
        served += 1;
        queue.leave(request);
      });
    }
    leave(0);
    expect(served).toBe(30_000);
  });

  it('never works on more than there is room for, whoever comes and goes', () => {
    let working = 0;
    queue = createRequestQueue(() => room, { enabled: true, maxSize: 200, timeoutMs: 1000 });
    const inside: object[] = [];
    for (let at = 0; at < 200; at++) {
      const request = {};
      queue.enter(request, () => {
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
