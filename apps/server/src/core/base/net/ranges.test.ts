import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { canonicalAddress, createAddressMatcher } from '#core/base/net/addresses';
import {
  canonicalRange,
  createRangeTable,
  clientNetwork,
  isAddressRange,
  isLocal,
  isLoopback,
} from '#core/base/net/ranges';

describe('isAddressRange', () => {
  it.each([
    '0.0.0.0',
    '192.0.2.7',
    '0.0.0.0/0',
    '10.0.0.0/8',
    '10.128.0.0/9',
    '192.0.2.7/32',
    '::',
    '::/0',
    '2001:DB8::/32',
    '2001:db8::1/128',
    '::ffff:192.0.2.7',
    '::ffff:192.0.2.0/120',
    '::fffe:0:0/95',
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
    '10.1.2.3/8',
    '10.64.0.0/9',
    '1.2.3.4/0',
    '::1/0',
    '2001:db8::1/64',
    '::ffff:192.0.2.7/120',
    '::ffff:0:0/95',
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

describe('canonicalRange', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7/32', '203.0.113.7'],
    ['203.0.113.7/24', '203.0.113.0/24'],
    ['203.0.113.255/25', '203.0.113.128/25'],
    ['255.255.255.255/1', '128.0.0.0/1'],
    ['10.9.8.7/0', '0.0.0.0/0'],
    ['2001:DB8::0001', '2001:db8::1'],
    ['2001:db8:0:0:1:2:3:4/64', '2001:db8::/64'],
    ['2001:db8:ffff:ffff::/33', '2001:db8:8000::/33'],
    ['::1/128', '::1'],
    ['::/0', '::/0'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7/120', '203.0.113.0/24'],
    ['::ffff:0:0/90', '::ffc0:0:0/90'],
  ])('%s is %s', (text, range) => {
    expect(canonicalRange(text)).toBe(range);
    expect(canonicalRange(range)).toBe(range);
  });

  it.each(['', '203.0.113', '203.0.113.7/33', '203.0.113.7/-1', '::/129', 'fe80::1%eth0', '1.2.3.4/8/8', 'x'])(
    '%j is invalid',
    (text) => expect(canonicalRange(text)).toBe(undefined),
  );
});

describe('clientNetwork', () => {
  const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
  const full = (address: number[]) => address.map((group) => group.toString(16)).join(':');
  const padded = (address: number[]) => address.map((group) => group.toString(16).padStart(4, '0')).join(':');

  /** Every spelling that omits a run of zero groups. */
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
    ['203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['::1', '::/64'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::FFFF:203.0.113.9', '203.0.113.9'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8::/64'],
    ['::', '::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
  ])('%s is in %s', (address, network) => expect(clientNetwork(canonicalAddress(address)!)).toBe(network));

  it('is the same for every spelling of an address', () => {
    const withZeros = fc.array(fc.constantFrom(0, 0, 0, 1, 0xabc, 0xffff), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(fc.oneof(groups, withZeros), (address) => {
        const forms = [full(address), padded(address), padded(address).toUpperCase(), ...shortened(address)];
        expect(new Set(forms.map(clientNetwork)).size).toBe(1);
      }),
    );
  });

  it('is the same within a /64 and different outside', () => {
    fc.assert(
      fc.property(groups, groups, (one, another) => {
        const neighbour = [...one.slice(0, 4), ...another.slice(4)];
        expect(clientNetwork(full(neighbour))).toBe(clientNetwork(full(one)));
        const isSame = full(one.slice(0, 4)) === full(another.slice(0, 4));
        expect(clientNetwork(full(another)) === clientNetwork(full(one))).toBe(isSame);
      }),
    );
  });
});

describe('createRangeTable', () => {
  const covers = (ranges: string[], address: string) =>
    createRangeTable(ranges.map((range) => ({ range, expiresAt: Infinity }))).covers(address, () => 0);

  it.each<[string, string, boolean]>([
    ['203.0.113.7', '203.0.113.7', true],
    ['203.0.113.7', '203.0.113.8', false],
    ['203.0.112.0/23', '203.0.113.255', true],
    ['203.0.112.0/23', '203.0.114.0', false],
    ['0.0.0.0/0', '198.51.100.1', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '198.51.100.1', false],
    ['2001:db8::/47', '2001:db8:1:ffff::1', true],
    ['2001:db8::/47', '2001:db8:2::1', false],
    ['2001:db8::1', '2001:db8::1', true],
    ['2001:db8::1', '2001:db8::2', false],
  ])('%s and %s: %j', (range, address, expected) => {
    expect(covers([range], address)).toBe(expected);
    expect(covers(['192.0.2.1', '3fff::/20', range], address)).toBe(expected);
  });

  it('counts what has expired no more, from the very moment', () => {
    const table = createRangeTable([{ range: '203.0.113.7', expiresAt: 1000 }]);
    expect([999, 1000, 1001].map((now) => table.covers('203.0.113.7', () => now))).toEqual([true, false, false]);
  });

  it('agrees with every bit of random ranges', () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const address = () => Array.from({ length: 4 }, () => random(256)).join('.');
    const bitsOf = (text: string) =>
      text
        .split('.')
        .map((byte) => Number(byte).toString(2).padStart(8, '0'))
        .join('');
    for (let round = 0; round < 2000; round++) {
      const [base, bits] = [address(), random(33)];
      // Half of them share a start, as random ones hardly ever do.
      const asked = random(2) === 0 ? address() : base.replace(/\d+$/, String(random(256)));
      const expected = bitsOf(base).slice(0, bits) === bitsOf(asked).slice(0, bits);
      expect([base, bits, asked, covers([`${base}/${bits}`], asked)]).toEqual([base, bits, asked, expected]);
    }
  });
});

it('knows loopback and what is not the internet', () => {
  expect(['127.0.0.1', '127.9.9.9', '::1', canonicalAddress('::FFFF:127.0.0.1')!].filter(isLoopback)).toHaveLength(4);
  const others = ['128.0.0.1', '12.7.0.1', '::2', canonicalAddress('::ffff:128.0.0.1')!, '::127.0.0.1', '1::1'];
  expect(others.filter(isLoopback)).toEqual([]);
  const local = [
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '169.254.1.1',
    'fd00::1',
    'fe80::1',
  ];
  expect(local.map(isLocal)).toEqual(local.map(() => true));
  expect(['172.32.0.1', '192.169.0.1', '203.0.113.7', '2001:db8::1', 'fec0::1'].map(isLocal)).toEqual(
    Array.from({ length: 5 }, () => false),
  );
});
