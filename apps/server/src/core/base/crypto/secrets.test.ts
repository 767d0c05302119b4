import { describe, expect, it } from 'vitest';

import {
  deriveKey,
  keyedHash,
  newAlphanumericSecret,
  newBytes,
  newDigits,
  newSecret,
  sameSecret,
} from '#core/base/crypto/secrets';

describe('secrets', () => {
  it('are 256 random bits, safe in a URL', () => {
    const secrets = Array.from({ length: 1000 }, newSecret);
    for (const secret of secrets) expect(secret).toMatch(/^[\w-]{43}$/);
    expect(new Set(secrets).size).toBe(1000);
  });

  it('are as many bits as letters and digits', () => {
    const secrets = Array.from({ length: 1000 }, newAlphanumericSecret);
    for (const secret of secrets) expect(secret).toMatch(/^[0-9A-Za-z]{43}$/);
    // 62 to the power of 43 is little more than 2 to the power of 256: the first character has nearly its full choice.
    expect(new Set(secrets.map(([first]) => first)).size).toBeGreaterThan(40);
    expect(new Set(secrets).size).toBe(1000);
  });

  it('are as many bytes or digits as were asked for, zeros in front included', () => {
    expect(newBytes(20)).toHaveLength(20);
    expect(newBytes(20).equals(newBytes(20))).toBe(false);
    const numbers = Array.from({ length: 1000 }, () => newDigits(6));
    for (const digits of numbers) expect(digits).toMatch(/^\d{6}$/);
    expect(new Set(numbers.map(([first]) => first)).size).toBe(10);
  });

  it('compare by their whole text', () => {
    expect(sameSecret('abc', 'abc')).toBe(true);
    for (const other of ['', 'ab', 'abcd', 'abd', 'ABC']) expect(sameSecret('abc', other)).toBe(false);
  });

  it('hash differently under different keys', () => {
    const key = deriveKey(Buffer.alloc(32, 1), 'one');
    expect(keyedHash(key, 'text')).toBe(keyedHash(key, 'text'));
    expect(keyedHash(key, 'text')).not.toBe(keyedHash(deriveKey(Buffer.alloc(32, 1), 'two'), 'text'));
  });
});
