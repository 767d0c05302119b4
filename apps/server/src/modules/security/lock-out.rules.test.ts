import { describe, expect, it } from 'vitest';

import { assertNoSelfLockout, refusalPeriod, type Verdict } from '#modules/security/lock-out.rules';

const now = new Date('2026-01-01T10:00:00.000Z');
const at = (minute: number) => now.getTime() + minute * 60_000;
const rule = (action: Verdict['action'], minute: number | null): Verdict => ({
  action,
  expires_at: minute === null ? null : new Date(at(minute)).toISOString(),
});
const on = { ip_blacklist_enabled: true };

describe('refusalPeriod', () => {
  it.each([
    ['nothing', [], undefined],
    ['a block for ever', [rule('block', null)], { from: at(0), until: Infinity }],
    ['a block for a while', [rule('block', 5), rule('block', 3)], { from: at(0), until: at(5) }],
    ['what allows for longer', [rule('block', 5), rule('allow', 5)], undefined],
    ['what allows for ever', [rule('block', null), rule('allow', null)], undefined],
    ['what allows for less long', [rule('block', null), rule('allow', 5)], { from: at(5), until: Infinity }],
  ])('by %s', (_what, verdicts, refusal) => {
    expect(refusalPeriod(verdicts, on, now)).toEqual(refusal);
    expect(refusalPeriod(verdicts, { ip_blacklist_enabled: false }, now)).toBe(undefined);
  });
});

describe('assertNoSelfLockout', () => {
  const hour = { from: at(0), until: at(60) };

  it.each([
    ['at all', undefined, hour],
    ['sooner', { from: at(5), until: at(60) }, hour],
    ['for longer', hour, { from: at(0), until: Infinity }],
  ])('refused %s', (_how, before, after) => {
    expect(() => assertNoSelfLockout(before, after)).toThrow(expect.objectContaining({ status: 409 }));
  });

  it.each([
    ['never', hour, undefined],
    ['as before', hour, hour],
    ['later', hour, { from: at(5), until: at(60) }],
    ['for less long', hour, { from: at(0), until: at(5) }],
  ])('refused %s is taken', (_how, before, after) => {
    expect(() => assertNoSelfLockout(before, after)).not.toThrow();
  });
});
