import fc from 'fast-check';
import { expect, it } from 'vitest';

import { checksumBase62, toBase62 } from '#core/base/crypto/base62';

it('writes digits, then capitals, then small letters, the highest first and filled up', () => {
  expect(toBase62(0n, 3)).toBe('000');
  expect(toBase62(61n, 1)).toBe('z');
  expect(toBase62(62n, 2)).toBe('10');
  expect(toBase62(36n, 2)).toBe('0a');
  expect(toBase62(62n ** 6n - 1n, 6)).toBe('zzzzzz');
});

it('loses nothing of 256 bits in 43 digits', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (value) => {
      const text = toBase62(value, 43);
      expect(text).toMatch(/^[0-9A-Za-z]{43}$/);
      expect(Array.from(text).reduce((sum, digit) => sum * 62n + BigInt(digitValue(digit)), 0n)).toBe(value);
    }),
  );
  expect(2n ** 256n <= 62n ** 43n).toBe(true);
});

function digitValue(digit: string): number {
  const code = digit.charCodeAt(0);
  if (code < 58) return code - 48;
  return code < 91 ? code - 55 : code - 61;
}

it('checksumBase62 is the standard CRC-32', () => {
  // The check value of the catalogue of CRC algorithms.
  expect(checksumBase62('123456789')).toBe(toBase62(0xcbf4_3926n, 6));
  expect(checksumBase62('')).toBe('000000');
});
