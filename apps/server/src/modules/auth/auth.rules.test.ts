import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  classifyReuse,
  oneTimeTokenHash,
  presentRefreshToken,
  refreshTokenHash,
  sessionLifetime,
} from '#modules/auth/auth.rules';

describe('tokens', () => {
  it('have a hash only in their form', () => {
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

describe('classifyReuse', () => {
  const at = Date.parse('2026-01-01T00:00:00.000Z');
  const later = (ms: number) => new Date(at + ms).toISOString();
  const used = { used_at: later(0), settled_at: later(100) };
  const unused = { used_at: null, settled_at: null };
  const judge = (receivedAt: number, graceMs: number, successor: typeof used | typeof unused | undefined = unused) =>
    classifyReuse({ token: used, successor, receivedAt: at + receivedAt, graceMs });

  it('without a grace period: refuses requests from before the answer, and treats the rest as a replay', () => {
    expect(judge(99, 0)).toBe('late');
    expect(judge(100, 0)).toBe('late');
    expect(judge(101, 0)).toBe('replay');
  });

  it('within the grace period: returns the same answer while the successor is unused', () => {
    expect(judge(0, 10_000)).toBe('repeat');
    expect(judge(10_000, 10_000)).toBe('repeat');
    expect(judge(10_001, 10_000)).toBe('replay');
  });

  it('within the grace period: the use of the successor ends it, but not for earlier requests', () => {
    const usedToo = { used_at: later(5000), settled_at: later(5100) };
    expect(judge(5000, 10_000, usedToo)).toBe('late');
    expect(judge(5100, 10_000, usedToo)).toBe('late');
    expect(judge(5101, 10_000, usedToo)).toBe('replay');
  });

  it('within the grace period: refuses without revoking anything if the successor is unknown', () => {
    expect(classifyReuse({ token: used, successor: undefined, receivedAt: at + 1, graceMs: 10_000 })).toBe('late');
  });

  it('does not wait forever for a process that died before it recorded its answer', () => {
    const died = { used_at: later(0), settled_at: null };
    const judgeDied = (receivedAt: number) =>
      classifyReuse({ token: died, successor: unused, receivedAt: at + receivedAt, graceMs: 0 });
    expect(judgeDied(10_000)).toBe('late');
    expect(judgeDied(10_001)).toBe('replay');
  });
});

describe('sessionLifetime', () => {
  it('is longer with rememberMe', () => {
    const days = (life: { idleMs: number; absoluteMs: number }) => [
      life.idleMs / 86_400_000,
      life.absoluteMs / 86_400_000,
    ];
    expect(days(sessionLifetime(false))).toEqual([1, 7]);
    expect(days(sessionLifetime(true))).toEqual([14, 30]);
  });
});
