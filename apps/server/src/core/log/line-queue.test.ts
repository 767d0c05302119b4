import { describe, expect, it } from 'vitest';

import { createLineQueue } from '#core/log/line-queue';

const levels = [10, 20, 30, 40, 50, 60];

describe('createLineQueue', () => {
  it('gives up the least important first, of those the newest, and counts', () => {
    const queue = createLineQueue({ lines: 6, characters: 1000 });
    for (const level of levels.toReversed()) queue.add({ level, line: `old ${level}` });
    queue.add({ level: 60, line: 'new 60' });
    queue.add({ level: 30, line: 'new 30' });
    queue.add({ level: 30, line: 'newer 30' });
    queue.add({ level: 10, line: 'new 10' });
    expect(queue.size()).toBe(6);
    expect(queue.takeDropped()).toBe(4);
    expect(queue.takeDropped()).toBe(0);
    expect(queue.take(10).map(({ line }) => line)).toEqual([
      'old 60',
      'new 60',
      'old 50',
      'old 40',
      'old 30',
      'new 30',
    ]);
  });

  it('holds no more than 20,000 lines, and no more of them than memory allows', () => {
    const queue = createLineQueue();
    for (let at = 0; at < 25_000; at++) queue.add({ level: levels[at % 6]!, line: 'x' });
    expect(queue.size()).toBe(20_000);
    expect(queue.takeDropped()).toBe(5000);
    const large = createLineQueue({ lines: 1000, characters: 1000 });
    for (let at = 0; at < 100; at++) large.add({ level: 30, line: 'x'.repeat(100) });
    expect(large.size()).toBe(10);
  });

  it('takes back what could not be written, in its place', () => {
    const queue = createLineQueue({ lines: 3, characters: 1000 });
    for (const line of ['a', 'b', 'c']) queue.add({ level: 30, line });
    const batch = queue.take(2);
    queue.add({ level: 30, line: 'd' });
    queue.giveBack(batch);
    expect(queue.takeDropped()).toBe(1);
    expect(queue.take(9).map(({ line }) => line)).toEqual(['a', 'b', 'c']);
    expect(queue.size()).toBe(0);
  });
});
