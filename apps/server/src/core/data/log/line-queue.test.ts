import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { LineQueue } from '#core/data/log/line-queue';
import { textsOf } from '#test/support/binary-arrays';

const levels = [10, 20, 30, 40, 50, 60];
const line = (level: number, message: string) => ({
  at: 0,
  id: newId(),
  level,
  service: 'http',
  message,
  tenantId: null,
  userId: null,
  requestId: null,
  context: '{}',
  size: message.length,
});

describe('LineQueue', () => {
  it('gives up the least important first, of those the newest, and counts', () => {
    const queue = new LineQueue({ lines: 6, characters: 1000 });
    for (const level of levels.toReversed()) queue.add(line(level, `old ${level}`), 500);
    queue.add(line(60, 'new 60'), 500);
    queue.add(line(30, 'new 30'), 500);
    queue.add(line(30, 'newer 30'), 500);
    queue.add(line(10, 'new 10'), 500);
    expect(queue.size).toBe(6);
    expect(queue.takeDropped()).toBe(4);
    expect(queue.takeDropped()).toBe(0);
    const taken = Array.from({ length: 4 }, () => textsOf(queue.take()!.toColumns().messages));
    expect(taken).toEqual([['old 60', 'new 60'], ['old 50'], ['old 40'], ['old 30', 'new 30']]);
    expect([queue.take(), queue.size]).toEqual([undefined, 0]);
  });

  it('holds no more than 20,000 lines, and no more of them than memory allows', () => {
    const queue = new LineQueue();
    for (let at = 0; at < 25_000; at++) queue.add(line(levels[at % 6]!, 'x'), 500);
    expect(queue.size).toBe(20_000);
    expect(queue.takeDropped()).toBe(5000);
    const large = new LineQueue({ lines: 1000, characters: 1000 });
    for (let at = 0; at < 100; at++) large.add(line(30, 'x'.repeat(100)), 500);
    expect(large.size).toBe(10);
  });

  it('has room again for what was taken out, in the memory of what was given back', () => {
    const queue = new LineQueue({ lines: 2, characters: 1000 });
    for (let round = 0; round < 3; round++) {
      for (const level of [30, 30, 20]) queue.add(line(level, `${level} of round ${round}`), 500);
      const batch = queue.take()!;
      expect(textsOf(batch.toColumns().messages)).toEqual([`30 of round ${round}`, `30 of round ${round}`]);
      queue.giveBack(batch);
      expect([queue.size, queue.takeDropped()]).toEqual([0, 1]);
    }
  });
});
