import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { comparePrices, estimateCost, isZero } from '#modules/models/costs.rules';

const of = (promptPrice: string | null, completionPrice: string | null, requestPrice: string | null = null) => ({
  promptPrice,
  completionPrice,
  requestPrice,
});

describe('estimateCost', () => {
  it.each([
    [of('0.00000015', '0.0000006'), 4, 4, ['0.00000015', '0.0000006', '0.00000075']],
    [of('0.1', '0.2'), 4, 4, ['0.1', '0.2', '0.3']],
    [of('1', '2'), 1, 5, ['1', '4', '5']],
    [of('0.50', '0'), 8, 100, ['1', '0', '1']],
    [of('0.5', '0.5', '0.001'), 4, 4, ['0.5', '0.5', '1.001']],
    [of('0', '0', '0'), 1e9, 1e9, ['0', '0', '0']],
    [of('0.000000000000000000000000001', '1'), 1e9, 0, ['0.00000000000000000025', '0', '0.00000000000000000025']],
    [of(null, '1'), 4, 4, [null, '1', null]],
    [of('1', null), 4, 4, ['1', null, null]],
    [of('1', '1'), 4, undefined, ['1', null, null]],
  ])('%j for %s and %s characters: %j', (prices, characters, expectedCharacters, costs) => {
    const { prompt, completion, total } = estimateCost(prices, { characters, expectedCharacters });
    expect([prompt, completion, total]).toEqual(costs);
  });

  it('never rounds or writes an exponent', () => {
    const units = fc.bigInt({ min: 0n, max: 10n ** 15n });
    const scale = fc.integer({ min: 0, max: 20 });
    const price = fc.tuple(units, scale).map(([digits, at]) => {
      const text = digits.toString().padStart(at + 1, '0');
      return at === 0 ? text : `${text.slice(0, -at)}.${text.slice(-at)}`;
    });
    fc.assert(
      fc.property(price, price, fc.integer({ min: 0, max: 1_000_000 }), (first, second, tokens) => {
        const characters = tokens * 4;
        const { total } = estimateCost(of(first, second), { characters, expectedCharacters: characters });
        expect(total).toMatch(/^\d+(\.\d*[1-9])?$/);
        // Twenty places hold every price, so whole numbers of that unit are exact.
        const whole = (text: string) => {
          const [before, after = ''] = text.split('.') as [string, string?];
          return BigInt(before + after.padEnd(20, '0'));
        };
        expect(whole(total!)).toBe((whole(first) + whole(second)) * BigInt(tokens));
      }),
    );
  });
});

describe('comparePrices', () => {
  it.each([
    ['0.1', '0.10', 0],
    ['0.00000015', '0.0000002', -1],
    ['10', '9.99', 1],
    ['0', '0.000', 0],
    ['0.30000000000000001', '0.3', 1],
  ])('%s to %s: %i', (left, right, order) => {
    expect(comparePrices(left, right)).toBe(order);
  });
});

describe('isZero', () => {
  it.each([
    ['0', true],
    ['0.000', true],
    ['00', true],
    ['0.0000000000000000000001', false],
  ])('%s: %s', (price, is) => {
    expect(isZero(price)).toBe(is);
  });
});
