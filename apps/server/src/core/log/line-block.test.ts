import { describe, expect, it } from 'vitest';

import { newId } from '#core/crypto/ids';
import { LineBlock } from '#core/log/line-block';
import { lengthOf, textsOf } from '#test/support/binary-arrays';

const line = (text: string, at = 0) => ({
  at,
  id: newId(),
  level: 30,
  service: 'http',
  message: text,
  tenantId: null,
  userId: newId(),
  requestId: null,
  context: JSON.stringify({ text }),
  size: text.length,
});

function blockOf(...texts: readonly string[]): LineBlock {
  const block = new LineBlock(30);
  for (const text of texts) block.add(line(text));
  return block;
}

function contentsOf(block: LineBlock): string[] {
  return textsOf(block.toRow().contexts).map((context) => JSON.parse(context!).text);
}

const texts = ['a', 'é', '€', '😀'].map((char) => char.repeat(900));

describe('LineBlock', () => {
  it('has its lines as columns', () => {
    const block = blockOf('one', 'a "quoted" \\ \0 text');
    const { level, services, messages, requestIds, contexts } = block.toRow();
    expect([level, ...[services, messages, requestIds, contexts].map(textsOf)]).toEqual([
      30,
      ['http', 'http'],
      ['one', 'a "quoted" \\  text'],
      [null, null],
      ['{"text":"one"}', '{"text":"a \\"quoted\\" \\\\ \\u0000 text"}'],
    ]);
  });

  it('keeps texts of any length and alphabet apart, also in halves of halves', () => {
    const block = blockOf(...texts, 'last');
    expect(contentsOf(block)).toEqual([...texts, 'last']);
    const quarters = block.halves().flatMap((half) => half.halves());
    expect(quarters.flatMap(contentsOf)).toEqual([...texts, 'last']);
    expect(quarters.map(({ length }) => length)).toEqual([2, 1, 1, 1]);
    quarters[0]!.add(line('more'));
    expect(contentsOf(quarters[0]!)).toEqual([texts[0], texts[1], 'more']);
  });

  it('forgets the newest, or all', () => {
    const block = blockOf('kept', ...texts);
    for (const text of texts.toReversed()) expect(block.pop()).toBe(text.length);
    block.add(line('next'));
    expect(contentsOf(block)).toEqual(['kept', 'next']);
    expect(block.size).toBe(8);
    block.clear();
    expect(block.length).toBe(0);
    block.add(line('new'));
    expect(contentsOf(block)).toEqual(['new']);
  });

  it('says of its lines when they were said, and which requests, tenants and users they name', () => {
    const block = new LineBlock(30);
    const [tenantId, userId, early, late] = [newId(), newId(), newId(), newId()];
    block.add({ ...line('a', 2000), tenantId, userId, requestId: late });
    block.add({ ...line('b', 1000), tenantId, userId, requestId: early });
    block.add({ ...line('c', 3000), userId: null });
    const { firstAt, lastAt, lines, concerned, parts, firstRequest, lastRequest } = block.toRow();
    expect([Date.parse(firstAt), Date.parse(lastAt), lines]).toEqual([1000, 3000, 3]);
    expect([lengthOf(concerned), textsOf(parts), firstRequest, lastRequest]).toEqual([2, ['http'], early, late]);
  });

  it('takes lines of one minute, as many and as long as PostgreSQL takes apart in a moment', () => {
    const block = new LineBlock(30);
    expect(block.takes(0, 2)).toBe(true);
    block.add(line('first', 100_000));
    for (const [at, isTaken] of [
      [40_000, false],
      [40_001, true],
      [159_999, true],
      [160_000, false],
    ] as const)
      expect(block.takes(at, 2)).toBe(isTaken);
    expect(block.takes(100_000, 1)).toBe(false);
    block.add({ ...line('long', 100_000), size: 1_000_000 });
    expect(block.takes(100_000, 3)).toBe(false);
    block.clear();
    expect(block.takes(0, 1)).toBe(true);
  });

  it('counts lines and their size by hour and service', () => {
    const block = new LineBlock(40);
    for (const at of [0, 3_599_999, 3_600_000, 1]) block.add(line('x', at));
    block.add({ ...line('xy'), service: 'auth' });
    const first = '1970-01-01T00:00:00.000Z';
    expect(block.hours()).toEqual([
      { hour: first, service: 'auth', level: 40, lines: 1, bytes: 2 },
      { hour: first, service: 'http', level: 40, lines: 3, bytes: 3 },
      { hour: '1970-01-01T01:00:00.000Z', service: 'http', level: 40, lines: 1, bytes: 1 },
    ]);
  });
});
