import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { textParser, toRfc3339, toWireValue } from '#core/data/db/values';

describe('toRfc3339', () => {
  it.each([
    ['2026-01-02 03:04:05+00', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02 03:04:05.6+00', '2026-01-02T03:04:05.600Z'],
    ['2026-01-02 03:04:05.067+00', '2026-01-02T03:04:05.067Z'],
    ['2026-01-02 03:04:05.123456+00', '2026-01-02T03:04:05.123Z'],
    ['2026-01-02 03:04:05+02', '2026-01-02T01:04:05.000Z'],
  ])('%s', (text, expected) => {
    expect(toRfc3339(text)).toBe(expected);
  });

  it('agrees with Date for every timestamp with milliseconds that PostgreSQL prints', () => {
    const min = new Date('0100-01-01T00:00:00Z');
    const max = new Date('9999-12-31T23:59:59.999Z');
    fc.assert(
      fc.property(fc.date({ min, max, noInvalidDate: true }), (date) => {
        const iso = date.toISOString();
        const printed = iso
          .replace('T', ' ')
          .replace(/\.?0*Z$/, '')
          .replace(/:$/, ':00');
        const padded = /\d{2}:\d{2}:\d{2}/.test(printed) ? printed : iso.slice(0, 19).replace('T', ' ');
        expect(toRfc3339(`${padded}+00`)).toBe(iso);
      }),
    );
  });
});

describe('toWireValue', () => {
  it('writes objects as JSON, arrays as PostgreSQL arrays, times in UTC', () => {
    expect(toWireValue({ a: [1] })).toBe('{"a":[1]}');
    expect(toWireValue(['plain', 'quo"te', 'back\\slash', null, 'a,b'])).toBe(
      '{"plain","quo\\"te","back\\\\slash",NULL,"a,b"}',
    );
    expect(toWireValue(new Date(0))).toBe('1970-01-01T00:00:00.000Z');
    expect(toWireValue(true)).toBe('true');
    expect(toWireValue(undefined)).toBeNull();
  });
});

it('reads bigint as number and timestamps as text', () => {
  expect(textParser(20)('42')).toBe(42);
  expect(textParser(1184)('2026-01-02 03:04:05+00')).toBe('2026-01-02T03:04:05.000Z');
});
