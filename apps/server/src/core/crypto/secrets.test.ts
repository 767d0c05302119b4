import { describe, expect, it } from 'vitest';

import { deriveKey, keyedHash, newSecret, sameSecret } from '#core/crypto/secrets';

describe('secrets', () => {
  it('are 256 random bits, safe in a URL', () => {
    const secrets = Array.from({ length: 1000 }, newSecret);
    for (const secret of secrets) expect(secret).toMatch(/^[\w-]{43}$/);
    expect(new Set(secrets).size).toBe(1000);
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
