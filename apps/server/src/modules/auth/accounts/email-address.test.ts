import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { isEmail } from '#core/http/formats';
import { normaliseEmail } from '#modules/auth/accounts/email-address';

function tryNormalise(email: string): string | undefined {
  try {
    return normaliseEmail(email);
  } catch {
    return undefined;
  }
}

describe('normaliseEmail', () => {
  it.each([
    ['Ada@Example.COM', 'ada@example.com'],
    ['ＡＤＡ@example.com', 'ada@example.com'],
    ['ﬁn@example.com', 'fin@example.com'],
    ['J\u030co@example.com', '\u01f0o@example.com'],
    ['zoe\u0308@example.com', 'zo\u00eb@example.com'],
  ])('%s is %s', (given, stored) => {
    expect(normaliseEmail(given)).toBe(stored);
  });

  it.each([
    'a＠b.example@person.example',
    'a，b@person.example',
    'a；b@person.example',
    '＜a＞@person.example',
    '＂a＂@person.example',
    'a\u00a8b@person.example',
    'a\u2025b@person.example',
    '\u2024ab@person.example',
    'ab\u2024@person.example',
    `${'\ufdfa'.repeat(20)}@person.example`,
  ])('refuses what becomes no address: %s', (given) => {
    expect(() => normaliseEmail(given)).toThrow('body.email');
  });

  it('returns an address that is already normalised', () => {
    const local = fc.string({ unit: 'binary', minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(local, (name) => {
        const stored = tryNormalise(`${name}@Example.com`);
        fc.pre(stored !== undefined);
        expect(isEmail(stored)).toBe(true);
        expect(normaliseEmail(stored)).toBe(stored);
      }),
      { numRuns: 2000 },
    );
  });

  it('ignores case', () => {
    fc.assert(
      fc.property(fc.emailAddress(), (email) => {
        fc.pre(isEmail(email));
        expect(normaliseEmail(email.toUpperCase())).toBe(normaliseEmail(email));
      }),
    );
  });
});
