import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { AppError } from '#core/base/errors/app-error';
import { parseJsonBody } from '#core/http/json';
import { scannedFromBytes } from '#core/http/json-scan';

const parse = (text: string) => parseJsonBody(Buffer.from(text));
/** Long enough to be read before it is parsed. */
const padded = (text: string) => text + ' '.repeat(scannedFromBytes);
const list = (item: string, count: number) => `[${Array.from({ length: count }, () => item).join(',')}]`;

function refusalOf(text: string): AppError {
  try {
    parse(text);
  } catch (error) {
    return error as AppError;
  }
  throw new Error('it was taken');
}

describe('a body is read once before it is parsed', () => {
  it.each([
    ['numbers', list('1', 49_999), list('1', 50_000)],
    ['empty lists', list('[]', 49_999), list('[]', 50_000)],
    ['lists of one', list('[1]', 24_999), list('[1]', 25_000)],
    ['texts with commas in them', list('"a,b"', 49_999), list('"a,b"', 50_000)],
  ])('takes 50,000 values and refuses a body with more: %s', (_what, taken, refused) => {
    expect(parse(taken)).toEqual(JSON.parse(taken));
    expect(refusalOf(refused)).toMatchObject({ status: 400, message: expect.stringContaining('50000 values') });
  });

  it('counts what is in a text as no value, property or level', () => {
    const text = JSON.stringify({ a: `${'[{,:'.repeat(60_000)}"\\`, b: '\\\\"' });
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it.each([
    ['lists', '['.repeat(33), ']'.repeat(33)],
    ['objects', '{"a":'.repeat(33), `1${'}'.repeat(33)}`],
    ['half a million lists', '['.repeat(524_288), ']'.repeat(524_288)],
    ['lists that never end', '['.repeat(1_048_576), ''],
  ])('refuses what is nested more than 32 levels deep: %s', (_what, open, close) => {
    expect(refusalOf(padded(open + close))).toMatchObject({
      status: 400,
      message: expect.stringContaining('32 levels'),
    });
  });

  it('refuses more than 2,000 properties', () => {
    const text = list('{"a":1,"b":2}', 1001);
    expect(refusalOf(text)).toMatchObject({ status: 400, message: expect.stringContaining('2000 properties') });
  });
});

describe('an integer that would be read as another one is refused by the name of its field', () => {
  it.each([
    ['{"a":9007199254740993}', 'body.a'],
    ['[1,[2,{"x":"9007199254740993","y":[0,-9007199254740993]}]]', 'body.1.1.y.1'],
    ['{"a":{},"b":[],"c":12345678901234567890}', 'body.c'],
    [String.raw`{"a \" \u00e4":36028797018963969}`, 'body.a " ä'],
    ['{"a":1e400}', 'body.a'],
    ['[0,-1e999]', 'body.1'],
    [`{"${'n'.repeat(300)}":9007199254740993}`, `body.${'n'.repeat(100)}`],
    ['9007199254740993', 'body'],
    [`[${'9'.repeat(400)}]`, 'body.0'],
  ])('%.60s', (text, path) => {
    for (const one of [text, padded(text)])
      expect(refusalOf(one)).toMatchObject({
        status: 400,
        details: { issues: [{ path, rule: 'exactNumber', message: expect.any(String) }] },
      });
  });

  it('decides as BigInt does for 16 to 19 digits', () => {
    const integer = fc.bigInt({ min: 10n ** 15n, max: 10n ** 19n - 1n });
    const powers = fc
      .tuple(fc.integer({ min: 52, max: 63 }), fc.bigInt({ min: -5000n, max: 5000n }))
      .map(([exponent, off]) => 2n ** BigInt(exponent) + off);
    const rounded = integer.map((value) => BigInt(Number(value))).filter((value) => value < 10n ** 19n);
    fc.assert(
      fc.property(fc.oneof(integer, powers, rounded), (value) => {
        const text = padded(`[${value}]`);
        if (BigInt(Number(value)) === value) expect(parse(text)).toEqual([Number(value)]);
        else expect(() => parse(text)).toThrow('send it as text');
      }),
      { numRuns: 2000 },
    );
  });

  it.each(['0.1234567890123456789', '9007199254740993.5', '1e300', '9007199254740993e-5', '-0', '123456789012345'])(
    'a fraction is rounded as everywhere: %s',
    (number) => {
      for (const text of [`{"a":${number}}`, padded(`{"a":${number}}`)]) expect(parse(text)).toEqual(JSON.parse(text));
    },
  );
});

describe('long and short texts get the same result', () => {
  it('takes valid JSON and refuses what is not JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        const outcome = (one: string) => {
          try {
            return { value: parse(one) };
          } catch (error) {
            return { message: (error as AppError).message };
          }
        };
        expect(outcome(padded(text))).toEqual(outcome(text));
      }),
    );
    for (const text of ['{"a":1', '[1,]', '"open', '{"a":1}}', '[1e]', '[01234567890123456]', '-', '\\'])
      expect(refusalOf(padded(text))).toMatchObject({ status: 400 });
  });
});
