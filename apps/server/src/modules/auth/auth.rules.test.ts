import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  addressBucket,
  isLoopback,
  isReplay,
  oneTimeTokenHash,
  presentRefreshToken,
  refreshTokenHash,
  sessionLifetime,
} from '#modules/auth/auth.rules';

describe('addressBucket', () => {
  const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
  const full = (address: number[]) => address.map((group) => group.toString(16)).join(':');
  const padded = (address: number[]) => address.map((group) => group.toString(16).padStart(4, '0')).join(':');

  /** Every way to leave a run of zero groups out. */
  function shortened(address: number[]): string[] {
    const forms: string[] = [];
    for (let from = 0; from < 8; from++) {
      for (let to = from + 1; to <= 8 && address[to - 1] === 0; to++) {
        forms.push(`${full(address.slice(0, from))}::${full(address.slice(to))}`);
      }
    }
    return forms;
  }

  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::FFFF:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('%s is in %s', (address, bucket) => {
    expect(addressBucket(address)).toBe(bucket);
  });

  it('is the same for every way to write an address', () => {
    const withZeros = fc.array(fc.constantFrom(0, 0, 0, 1, 0xabc, 0xffff), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(fc.oneof(groups, withZeros), (address) => {
        const forms = [full(address), padded(address), padded(address).toUpperCase(), ...shortened(address)];
        expect(new Set(forms.map(addressBucket)).size).toBe(1);
      }),
    );
  });

  it('is the same within a /64 and another beyond', () => {
    fc.assert(
      fc.property(groups, groups, (one, another) => {
        const neighbour = [...one.slice(0, 4), ...another.slice(4)];
        expect(addressBucket(full(neighbour))).toBe(addressBucket(full(one)));
        const isSame = full(one.slice(0, 4)) === full(another.slice(0, 4));
        expect(addressBucket(full(another)) === addressBucket(full(one))).toBe(isSame);
      }),
    );
  });
});

describe('isLoopback', () => {
  it.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '::FFFF:127.0.0.1'])('%s is', (ip) => {
    expect(isLoopback(ip)).toBe(true);
  });
  it.each(['128.0.0.1', '12.7.0.1', '::2', '::ffff:128.0.0.1', '::127.0.0.1', '1::1'])('%s is not', (ip) => {
    expect(isLoopback(ip)).toBe(false);
  });
});

describe('tokens', () => {
  it('have a hash only in their own form', () => {
    const secret = 'x'.repeat(43);
    expect(refreshTokenHash(presentRefreshToken(secret))).toHaveLength(32);
    expect(oneTimeTokenHash(secret)).toHaveLength(32);
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        expect(refreshTokenHash(text)).toBe(undefined);
        if (!/^[\w-]{43}$/.test(text)) expect(oneTimeTokenHash(text)).toBe(undefined);
      }),
    );
    for (const text of [secret, `rt1_${secret}\n`, `rt1_${secret}x`, `RT1_${secret}`, `rt2_${secret}`]) {
      expect(refreshTokenHash(text)).toBe(undefined);
    }
  });
});

describe('isReplay', () => {
  const settledAt = '2026-01-01T00:00:00.100Z';
  const at = Date.parse(settledAt);

  it('is what arrives after the winner was answered, and after the grace', () => {
    expect(isReplay({ settledAt }, at + 1, 0)).toBe(true);
    expect(isReplay({ settledAt }, at, 0)).toBe(false);
    expect(isReplay({ settledAt }, at - 1, 0)).toBe(false);
    expect(isReplay({ settledAt }, at + 60_000, 60_000)).toBe(false);
    expect(isReplay({ settledAt }, at + 60_001, 60_000)).toBe(true);
    expect(isReplay({ settledAt: null }, at, 0)).toBe(false);
  });
});

describe('sessionLifetime', () => {
  it('is longer for who asked to be remembered', () => {
    const days = (life: { idleMs: number; absoluteMs: number }) => [
      life.idleMs / 86_400_000,
      life.absoluteMs / 86_400_000,
    ];
    expect(days(sessionLifetime(false))).toEqual([1, 7]);
    expect(days(sessionLifetime(true))).toEqual([14, 30]);
  });
});
