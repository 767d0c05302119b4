import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  maskTarget,
  normalisePhone,
  readBackupCode,
  withoutGaps,
  writeBackupCode,
} from '#modules/two-factor/two-factor.rules';

describe('normalisePhone', () => {
  it.each([
    ['+43 660 123-45-67', '+436601234567'],
    ['+123456', '+123456'],
    ['+123456789012345', '+123456789012345'],
  ])('%s is %s', (text, number) => {
    expect(normalisePhone(text)).toBe(number);
  });

  it.each([
    '',
    '+',
    '436601234567',
    '+12345',
    '+1234567890123456',
    '+43660x234567',
    '++43660123456',
    '+٤٣٦٦٠١٢٣٤',
    '+43.660.123',
  ])('%s is invalid', (text) => {
    expect(normalisePhone(text)).toBeUndefined();
  });
});

describe('maskTarget', () => {
  it.each([
    ['ada@example.com', 'a***@e***.com'],
    ['a@mail.example.co.uk', 'a***@m***.uk'],
    ['\u{1F600}da@example.com', '\u{1F600}***@e***.com'],
    ['+436601234589', '+43*****89'],
  ])('%s is %s', (target, masked) => {
    expect(maskTarget(target)).toBe(masked);
  });
});

describe('backup codes', () => {
  const bytes = fc.uint8Array({ minLength: 5, maxLength: 5 });

  it('have eight letters of Crockford’s base 32, a different code for every five bytes', () => {
    expect(writeBackupCode(Uint8Array.of(0, 0, 0, 0, 0))).toBe('00000000');
    expect(writeBackupCode(Uint8Array.of(255, 255, 255, 255, 255))).toBe('ZZZZZZZZ');
    expect(writeBackupCode(Uint8Array.of(0, 0, 0, 0, 32))).toBe('00000010');
    fc.assert(
      fc.property(bytes, bytes, (one, other) => {
        const code = writeBackupCode(one);
        expect(code).toMatch(/^[0-9ABCDEFGHJKMNPQRSTVWXYZ]{8}$/);
        expect(code === writeBackupCode(other)).toBe(Buffer.from(one).equals(Buffer.from(other)));
      }),
    );
  });

  it('are read in every spelling', () => {
    fc.assert(
      fc.property(bytes, (one) => {
        const code = writeBackupCode(one);
        const typed = code.replaceAll('0', 'o').replaceAll('1', 'l').toLowerCase();
        for (const text of [code, typed, typed.replaceAll('l', 'i'), `${code.slice(0, 4)}-${code.slice(4)}`])
          expect(readBackupCode(text)).toBe(code);
      }),
    );
  });

  it.each(['', '1234567', '123456789', 'ABCDEFGU', 'ABCDEFG!', 'ABCDEFGſ', 'ABCDEFG1\n'])('%s is invalid', (text) => {
    expect(readBackupCode(text)).toBeUndefined();
  });
});

describe('withoutGaps', () => {
  it('removes grouping characters', () => {
    expect(withoutGaps('123 456')).toBe('123456');
    expect(withoutGaps('123-456')).toBe('123456');
  });

  it('reads full-width characters as plain ones', () => {
    expect(withoutGaps('１２３　４５６')).toBe('123456');
    expect(withoutGaps('１２３－４５６')).toBe('123456');
    expect(readBackupCode('ＡＢＣＤ１２３４')).toBe('ABCD1234');
  });
});
