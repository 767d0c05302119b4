import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { createFairQueue, type FairQueue } from '#core/base/concurrency/fair-queue';

type Item = { name: string };

function fill(queue: FairQueue<Item>, tenant: string, principal: string, count: number, cost?: number): Item[] {
  const items = Array.from({ length: count }, (_, at) => ({ name: `${tenant}/${principal}/${at}` }));
  for (const item of items) queue.push({ tenant, principal }, item, cost);
  return items;
}

function drain(queue: FairQueue<Item>, count = Infinity): string[] {
  const names: string[] = [];
  while (names.length < count) {
    const item = queue.next();
    if (item === undefined) break;
    names.push(item.name);
  }
  return names;
}

describe('createFairQueue', () => {
  it('serves the items of one principal in their order', () => {
    const queue = createFairQueue<Item>();
    const items = fill(queue, 'a', 'p', 5);
    expect(drain(queue)).toEqual(items.map(({ name }) => name));
    expect(queue.size()).toBe(0);
  });

  it('serves a quiet tenant next, however many items of another tenant wait', () => {
    const queue = createFairQueue<Item>();
    fill(queue, 'flood', 'p', 300);
    drain(queue, 10);
    fill(queue, 'quiet', 'p', 1);
    expect(drain(queue, 2)).toContain('quiet/p/0');
  });

  it('gives equal shares to tenants, and to the principals of each tenant', () => {
    const queue = createFairQueue<Item>();
    fill(queue, 'a', 'busy', 100);
    fill(queue, 'a', 'calm', 100);
    fill(queue, 'b', 'only', 100);
    const served = drain(queue, 80);
    const count = (prefix: string) => served.filter((name) => name.startsWith(prefix)).length;
    expect([count('a/busy'), count('a/calm'), count('b/only')]).toEqual([20, 20, 40]);
  });

  it('counts what an item costs', () => {
    const queue = createFairQueue<Item>();
    fill(queue, 'dear', 'p', 100, 3);
    fill(queue, 'cheap', 'p', 100);
    const served = drain(queue, 40);
    expect(served.filter((name) => name.startsWith('dear'))).toHaveLength(10);
  });

  it('leaves out tenants that hold their share, and forgets what was removed', () => {
    const queue = createFairQueue<Item>();
    const [first, second] = fill(queue, 'a', 'p', 2);
    const [other] = fill(queue, 'b', 'p', 1);
    expect(queue.next((tenant) => tenant !== 'a')).toBe(other);
    expect(queue.next((tenant) => tenant !== 'a')).toBeUndefined();
    expect([queue.remove(first!), queue.remove(first!)]).toEqual([true, false]);
    expect(queue.sizeOf('a')).toBe(1);
    expect([queue.next(), queue.next()]).toEqual([second, undefined]);
  });

  it('serves a costly item although all other tenants hold their share', () => {
    const queue = createFairQueue<Item>();
    fill(queue, 'a', 'p', 1);
    const [dear] = fill(queue, 'b', 'p', 1, 5);
    expect(queue.next((tenant) => tenant !== 'a')).toBe(dear);
  });

  it('loses and repeats no item, and keeps the order within a principal', () => {
    const pushes = fc.array(
      fc.record({
        tenant: fc.constantFrom('a', 'b', 'c'),
        principal: fc.constantFrom('p', 'q'),
        cost: fc.integer({ min: 1, max: 4 }),
        takes: fc.integer({ min: 0, max: 2 }),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(pushes, (steps) => {
        const queue = createFairQueue<Item>();
        const pushed = new Map<string, string[]>();
        const served = new Map<string, string[]>();
        const note = (map: Map<string, string[]>, name: string) => {
          const key = name.slice(0, 3);
          map.set(key, [...(map.get(key) ?? []), name]);
        };
        for (const [at, { tenant, principal, cost, takes }] of steps.entries()) {
          const name = `${tenant}/${principal}/${at}`;
          queue.push({ tenant, principal }, { name }, cost);
          note(pushed, name);
          for (const taken of drain(queue, takes)) note(served, taken);
        }
        for (const name of drain(queue)) note(served, name);
        expect(served).toEqual(pushed);
      }),
    );
  });
});
