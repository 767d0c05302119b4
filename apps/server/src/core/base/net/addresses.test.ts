import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { canonicalAddress, createAddressMatcher, isAddressRange } from '#core/base/net/addresses';

describe('canonicalAddress', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:0207', '192.0.2.7'],
    ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['192.0.2', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%s is %s', (text, expected) => {
    expect(canonicalAddress(text)).toBe(expected);
  });
});

describe('isAddressRange', () => {
  it.each([
    '0.0.0.0',
    '192.0.2.7',
    '0.0.0.0/0',
    '10.1.2.3/8',
    '192.0.2.7/32',
    '::',
    '::/0',
    '2001:DB8::/32',
    '2001:db8::1/128',
    '::ffff:192.0.2.7',
    '::ffff:192.0.2.0/120',
    '::ffff:0:0/95',
  ])('takes %s', (text) => {
    expect(isAddressRange(text)).toBe(true);
  });

  it.each([
    '',
    ' ',
    '*',
    'localhost',
    '192.0.2',
    '192.0.2.256',
    '192.0.2.07',
    '192.0.2.7/33',
    '10.0.0.0/08',
    '192.0.2.7/024',
    '0.0.0.0/00',
    '2001:db8::/032',
    '192.0.2.7/-1',
    '192.0.2.7/',
    '192.0.2.7/8/8',
    '192.0.2.7/8 ',
    ' 192.0.2.7',
    '192.0.2.7:80',
    '192.0.2.1-192.0.2.9',
    '192.0.2.7/0x8',
    '192.0.2.7/255.0.0.0',
    '::/129',
    '[::1]',
    'fe80::1%eth0',
    'fe80::1%eth0/64',
    '::g',
  ])('refuses "%s"', (text) => {
    expect(isAddressRange(text)).toBe(false);
  });

  it('takes nothing that could not be matched', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-f.:/%]{1,40}$/)), (text) => {
        if (isAddressRange(text)) createAddressMatcher([text])('192.0.2.7');
      }),
      { numRuns: 2000 },
    );
  });
});

describe('createAddressMatcher', () => {
  it.each<[string[], string[], string[]]>([
    [['192.0.2.7'], ['192.0.2.7'], ['192.0.2.6', '192.0.2.8', '::192.0.2.7', '2001:db8::1']],
    [['192.0.2.128/25'], ['192.0.2.128', '192.0.2.255'], ['192.0.2.127', '192.0.3.0']],
    [['192.0.2.5/30'], ['192.0.2.4', '192.0.2.7'], ['192.0.2.3', '192.0.2.8']],
    [['192.0.2.7/32'], ['192.0.2.7'], ['192.0.2.6', '192.0.2.8']],
    [['0.0.0.0/0'], ['0.0.0.0', '255.255.255.255'], ['::', '2001:db8::1']],
    [['2001:db8::8/127'], ['2001:db8::8', '2001:db8::9'], ['2001:db8::7', '2001:db8::a']],
    [['2001:db8::/32'], ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'], ['2001:db7:ffff::', '2001:db9::']],
    [['2001:DB8::1'], ['2001:db8::1'], ['2001:db8::2', '2001:db8::']],
    [['::/0'], ['::', '2001:db8::1'], ['0.0.0.0', '192.0.2.7']],
    [['::ffff:192.0.2.7'], ['192.0.2.7'], ['192.0.2.8', '::1']],
    [['::ffff:192.0.2.0/120'], ['192.0.2.0', '192.0.2.255'], ['192.0.1.255', '192.0.3.0']],
    [['::ffff:0:0/96'], ['0.0.0.0', '192.0.2.7'], ['::1']],
    [['::ffff:0:0/95'], [], ['192.0.2.7', '::1']],
    [
      ['192.0.2.7', '2001:db8::/32'],
      ['192.0.2.7', '2001:db8::1'],
      ['192.0.2.8', '2001:db9::1'],
    ],
    [[], [], ['192.0.2.7', '::1']],
  ])('%j', (ranges, inside, outside) => {
    const matches = createAddressMatcher(ranges);
    expect(inside.filter((address) => !matches(address))).toEqual([]);
    expect(outside.filter((address) => matches(address))).toEqual([]);
  });
});
