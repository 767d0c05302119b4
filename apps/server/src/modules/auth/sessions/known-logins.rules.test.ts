import { describe, expect, it } from 'vitest';

import { browserKind, networkOf } from '#modules/auth/sessions/known-logins.rules';

describe('browserKind', () => {
  it('stays the same after an update of the browser', () => {
    const firefox = (version: string) =>
      `Mozilla/5.0 (X11; Linux x86_64; rv:${version}) Gecko/20100101 Firefox/${version}`;
    expect(browserKind(firefox('149.0'))).toBe(browserKind(firefox('150.0.1')));
    expect(browserKind(firefox('149.0'))).not.toBe(browserKind('Mozilla/5.0 (X11; Linux x86_64) Chrome/149.0'));
    expect(browserKind(null)).toBe('');
  });
});

describe('networkOf', () => {
  it.each([
    ['203.0.113.7', '203.0'],
    ['2001:db8:1:2::3', '2001:db8'],
    ['2001::5', '2001:0'],
    ['::1', '0:0'],
  ])('%s is of %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
