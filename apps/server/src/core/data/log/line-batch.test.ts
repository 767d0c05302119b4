import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { LineBatch } from '#core/data/log/line-batch';
import { textsOf } from '#test/support/binary-arrays';

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

function batchOf(...texts: readonly string[]): LineBatch {
  const batch = new LineBatch(30);
  for (const text of texts) batch.add(line(text));
  return batch;
}

function contentsOf(batch: LineBatch): string[] {
  return textsOf(batch.toColumns().contexts).map((context) => JSON.parse(context!).text);
}

const texts = ['a', 'é', '€', '😀'].map((char) => char.repeat(900));

describe('LineBatch', () => {
  it('has its lines as columns', () => {
    const batch = batchOf('one', 'a "quoted" \\ \0 text');
    const { level, services, messages, requestIds, contexts } = batch.toColumns();
    expect([level, ...[services, messages, requestIds, contexts].map(textsOf)]).toEqual([
      30,
      ['http', 'http'],
      ['one', 'a "quoted" \\  text'],
      [null, null],
      ['{"text":"one"}', '{"text":"a \\"quoted\\" \\\\ \\u0000 text"}'],
    ]);
  });

  it('keeps texts of any length and alphabet apart, also in halves of halves', () => {
    const batch = batchOf(...texts, 'last');
    expect(contentsOf(batch)).toEqual([...texts, 'last']);
    const quarters = batch.halves().flatMap((half) => half.halves());
    expect(quarters.flatMap(contentsOf)).toEqual([...texts, 'last']);
    expect(quarters.map(({ length }) => length)).toEqual([2, 1, 1, 1]);
    quarters[0]!.add(line('more'));
    expect(contentsOf(quarters[0]!)).toEqual([texts[0], texts[1], 'more']);
  });

  it('forgets the newest, or all', () => {
    const batch = batchOf('kept', ...texts);
    for (const text of texts.toReversed()) expect(batch.pop()).toBe(text.length);
    batch.add(line('next'));
    expect(contentsOf(batch)).toEqual(['kept', 'next']);
    expect(batch.size).toBe(8);
    batch.clear();
    expect(batch.length).toBe(0);
    batch.add(line('new'));
    expect(contentsOf(batch)).toEqual(['new']);
  });

  it('has room for so many lines, and for a million characters', () => {
    const batch = new LineBatch(30);
    batch.add(line('first'));
    expect([batch.hasRoom(1), batch.hasRoom(2)]).toEqual([false, true]);
    batch.add({ ...line('long'), size: 1_000_000 });
    expect(batch.hasRoom(3)).toBe(false);
    batch.clear();
    expect(batch.hasRoom(1)).toBe(true);
  });

  it('counts lines and their size by hour and service', () => {
    const batch = new LineBatch(40);
    for (const at of [0, 3_599_999, 3_600_000, 1]) batch.add(line('x', at));
    batch.add({ ...line('xy'), service: 'auth' });
    const first = '1970-01-01T00:00:00.000Z';
    expect(batch.hours()).toEqual([
      { hour: first, service: 'auth', level: 40, lines: 1, bytes: 2 },
      { hour: first, service: 'http', level: 40, lines: 3, bytes: 3 },
      { hour: '1970-01-01T01:00:00.000Z', service: 'http', level: 40, lines: 1, bytes: 1 },
    ]);
  });
});
