import { describe, expect, it } from 'vitest';

import { assertLocaleOffered, readPhone } from '#modules/users/users.rules';
import { Phone as PhoneSchema } from '#modules/users/users.schemas';

const Phone = PhoneSchema as typeof PhoneSchema & { pattern: string };

describe('readPhone', () => {
  it.each([
    ['+43660123456', '+43660123456'],
    ['+43 (660) 123-456', '+43660123456'],
    ['(+43) 660.123.456', '+43660123456'],
    [' + 4 3 6 6 0 1 2 ', '+4366012'],
    ['+123456789012345', '+123456789012345'],
  ])('%s is %s', (text, number) => {
    expect(new RegExp(Phone.pattern).test(text)).toBe(true);
    expect(readPhone(text)).toBe(number);
    expect(number).toMatch(/^\+[1-9]\d{6,14}$/);
  });

  it('keeps null and undefined', () => {
    expect([readPhone(null), readPhone(undefined)]).toEqual([null, undefined]);
  });

  it.each([
    '',
    '+',
    '43660123456',
    '0043660123456',
    '+0660123456',
    '+436601',
    '+1234567890123456',
    '+43/660123',
    '++43660123',
    '+43660123x',
    '+43660\n123456',
    '+٤٣٦٦٠١٢٣٤٥٦',
  ])('no number: %j', (text) => {
    expect(new RegExp(Phone.pattern).test(text)).toBe(false);
  });
});

describe('assertLocaleOffered', () => {
  it.each([undefined, 'en', 'de', 'fr', 'es', 'it', 'nl', 'da'])('%s is accepted', (locale) => {
    expect(() => assertLocaleOffered(locale, ['nl'], 'da')).not.toThrow();
  });

  it('refuses a locale that is neither a language of the tenant nor a common one', () => {
    expect(() => assertLocaleOffered('pt', ['nl'], 'da')).toThrow(expect.objectContaining({ status: 422 }));
  });
});
