import { describe, expect, it } from 'vitest';

import { productOf, toToolClient } from '#modules/mcp/tool-client';

describe('toToolClient', () => {
  it.each([
    [
      { name: 'desk', version: '1.2' },
      { name: 'desk', version: '1.2' },
    ],
    [
      { name: ' my  desk\tapp ', version: '' },
      { name: 'my desk app', version: '' },
    ],
    [
      { name: 'a\nb\u0000c\u202ed\u200b', version: '\u0007' },
      { name: 'a b c d', version: '' },
    ],
    [
      { name: 'Schreibtisch für Ü', version: '1' },
      { name: 'Schreibtisch für Ü', version: '1' },
    ],
    [
      { name: 'x'.repeat(1e6), version: 'y'.repeat(1e6) },
      { name: 'x'.repeat(100), version: 'y'.repeat(40) },
    ],
    [
      { name: 'desk', version: 5 },
      { name: 'desk', version: '' },
    ],
  ])('%j', (said, clean) => {
    expect(toToolClient(said)).toEqual(clean);
  });

  it('never cuts a character in half', () => {
    const { name } = toToolClient({ name: '\u{1F600}'.repeat(300), version: '' })!;
    expect(name).toBe('\u{1F600}'.repeat(100));
    expect(toToolClient({ name: 'a\ud800b', version: '' })!.name.isWellFormed()).toBe(true);
  });

  it.each([undefined, null, 'desk', {}, { name: '' }, { name: ' \n ' }, { name: 7 }, []])('null: %j', (said) => {
    expect(toToolClient(said)).toBeNull();
  });
});

describe('productOf', () => {
  it.each([
    ['desk/4.5 (linux)', { name: 'desk', version: '4.5' }],
    ['node', { name: 'node', version: '' }],
    ['  a/b/c', { name: 'a', version: 'b/c' }],
  ])('%s', (userAgent, product) => {
    expect(productOf(userAgent)).toEqual(product);
  });

  it.each([null, '', ' ', '/'])('nothing: %j', (userAgent) => {
    expect(productOf(userAgent)).toBeUndefined();
  });
});
