import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { TextArray, TimeArray, UuidArray } from '#core/data/db/binary-array';

let client: pg.Client;

beforeAll(async () => {
  client = new pg.Client(inject('connection'));
  await client.connect();
});
afterAll(() => client.end());

/** What PostgreSQL reads out of it. */
async function read(type: string, array: { toBuffer(): Buffer }): Promise<unknown[]> {
  const { rows } = await client.query(`select to_json($1::${type}[]) as items`, [array.toBuffer()]);
  return rows[0].items;
}

function filled<Value, Kind extends { push(value: Value | null): void }>(array: Kind, values: (Value | null)[]): Kind {
  for (const value of values) array.push(value);
  return array;
}

const texts = ['a', '', 'é'.repeat(900), '€'.repeat(900), '😀'.repeat(900), null, '{"quoted, \\"}', 'NULL', 'a\nb'];

describe('arrays in binary', () => {
  it('hold texts of any length and alphabet', async () => {
    expect(await read('text', filled(new TextArray(), texts))).toEqual(texts);
    expect(await read('text', filled(new TextArray(), ['a\0b', '\ud800']))).toEqual(['ab', '\ufffd']);
    expect(await read('text', new TextArray())).toEqual([]);
  });

  it('hold uuids in upper and lower case, and equal ones in a row', async () => {
    const [one, other] = [newId(), newId()];
    const ids = [one, one, null, null, other, one, other, other];
    expect(await read('uuid', filled(new UuidArray(), [...ids, one.toUpperCase()]))).toEqual([...ids, one]);
  });

  it('hold times before and after 2000', async () => {
    const times = [
      '1969-12-31T23:59:59.999',
      '1999-12-31T23:59:59.001',
      '2000-01-01T00:00:00',
      '2026-11-23T01:02:03.456',
    ];
    const array = filled(
      new TimeArray(),
      times.map((time) => Date.parse(`${time}Z`)),
    );
    await client.query('set timezone = UTC');
    expect(await read('timestamptz', array)).toEqual(times.map((time) => `${time}+00:00`));
  });

  it('forget the newest item, or all, and go on', async () => {
    const array = filled(new TextArray(), [...texts, 'same']);
    array.pop();
    array.push('same');
    array.push('same');
    expect(await read('text', array)).toEqual([...texts, 'same', 'same']);
    array.clear();
    array.push('same');
    expect(await read('text', array)).toEqual(['same']);
  });

  it('give some of their items to another, which goes on with them', async () => {
    const array = filled(new TextArray(), texts);
    const [first, rest] = [new TextArray(), filled(new TextArray(), ['more'])];
    rest.clear();
    array.copy(0, 3, first);
    array.copy(3, texts.length, rest);
    for (const part of [first, rest]) part.push('more');
    expect(await read('text', first)).toEqual([...texts.slice(0, 3), 'more']);
    expect(await read('text', rest)).toEqual([...texts.slice(3), 'more']);
    expect(await read('text', array)).toEqual(texts);
  });
});
