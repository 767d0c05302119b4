import { describe, expect, it } from 'vitest';

import {
  quotaLimitProblem,
  credentialsByKey,
  termsOf,
  type Override,
} from '#modules/connectors/overrides/overrides.rules';
import { endOf, secondsToEnd, startOf } from '#modules/connectors/overrides/quotas.rules';

const plain: Override = { enabled: true, preferred_provider_order: [], quota_limits: {} };
const capped = (quota_limits: Record<string, unknown>): Override => ({ ...plain, quota_limits });

describe('termsOf', () => {
  it('is enabled without limits by default', () => {
    expect(termsOf(undefined, undefined)).toEqual({ isEnabled: true, order: [], quotaLimits: [] });
    expect(termsOf(plain, plain)).toEqual({ isEnabled: true, order: [], quotaLimits: [] });
  });

  it('takes the smaller of two quota limits, and a single one unchanged', () => {
    const own = capped({ requests_per_day: 5, tokens_per_month: 9, other: 1 });
    expect(termsOf(own, capped({ requests_per_day: 7, characters_per_day: 3 })).quotaLimits).toEqual([
      { unit: 'requests', period: 'day', limit: 5 },
      { unit: 'characters', period: 'day', limit: 3 },
      { unit: 'tokens', period: 'month', limit: 9 },
    ]);
  });

  it("takes the tenant's order before that of all", () => {
    const rule = { ...plain, preferred_provider_order: ['rule'] };
    expect(termsOf({ ...plain, preferred_provider_order: ['own'] }, rule).order).toEqual(['own']);
    expect(termsOf(plain, rule).order).toEqual(['rule']);
  });
});

describe('quotaLimitProblem', () => {
  it.each<[unknown, boolean]>([
    [1, false],
    [Number.MAX_SAFE_INTEGER, false],
    [0, true],
    [-1, true],
    [1.5, true],
    ['1', true],
    [null, true],
    [1e300, true],
  ])('%j', (value, isWrong) => {
    expect(quotaLimitProblem({ requests_per_day: value, other: 'x' }) !== undefined).toBe(isWrong);
  });
});

describe('credentialsByKey', () => {
  it('tells flat ones from those by key', () => {
    expect(credentialsByKey({ a: { key: 1 } }, ['b'])).toEqual({ isFlat: false, byKey: { a: { key: 1 } } });
    expect(credentialsByKey({ key: 'x' }, ['b', 'c'])).toEqual({ isFlat: true, byKey: { b: { key: 'x' } } });
    expect(credentialsByKey({ key: 'x', nested: {} }, [])).toEqual({
      isFlat: true,
      byKey: { '': { key: 'x', nested: {} } },
    });
  });
});

describe('periods', () => {
  const at = new Date('2028-02-29T23:59:30.500Z');
  it.each([
    ['minute', '2028-02-29T23:59:00.000Z', '2028-03-01T00:00:00.000Z'],
    ['day', '2028-02-29T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
    ['month', '2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
  ] as const)('a %s goes from %s to %s', (period, from, to) => {
    expect([startOf(period, at).toISOString(), endOf(period, at).toISOString()]).toEqual([from, to]);
  });

  it('end after whole seconds, and never now', () => {
    expect(secondsToEnd(['minute'], at)).toBe(30);
    expect(secondsToEnd(['minute', 'month'], new Date('2026-12-31T00:00:00Z'))).toBe(86_400);
  });
});
