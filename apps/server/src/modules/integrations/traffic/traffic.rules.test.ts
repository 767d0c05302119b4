import { describe, expect, it } from 'vitest';

import { beginOfHour, lastDay, periodOf, rateOf } from '#modules/integrations/traffic/traffic.rules';

const now = new Date('2026-03-10T12:34:56.789Z');
const ofOne = { isOfAll: false, now };
const ofAll = { isOfAll: true, now };

describe('periodOf', () => {
  it('defaults to the last 30 days of one tenant, and to the last day of all', () => {
    expect(periodOf({}, ofOne)).toEqual({ from: '2026-02-08T12:34:56.789Z', to: '2026-03-10T13:34:56.789Z' });
    expect(periodOf({}, ofAll)).toEqual({ from: '2026-03-09T12:34:56.789Z', to: '2026-03-10T13:34:56.789Z' });
    expect(periodOf({ to: '2026-03-01T00:00:00+01:00' }, ofAll)).toEqual({
      from: '2026-02-27T23:00:00.000Z',
      to: '2026-02-28T23:00:00.000Z',
    });
  });

  it('limits both ends to valid times', () => {
    expect(periodOf({ from: '0001-01-01T00:00:00Z', to: '9999-12-31T23:59:59Z' }, ofOne)).toEqual({
      from: '1970-01-01T00:00:00.000Z',
      to: '2026-03-10T13:34:56.789Z',
    });
    expect(periodOf({ to: '0001-01-01T00:00:00Z' }, ofOne)).toEqual({
      from: '1970-01-01T00:00:00.000Z',
      to: '0001-01-01T00:00:00.000Z',
    });
  });

  it.each([
    { from: '2026-03-01T00:00:00Z', to: '2026-03-01T00:00:00Z' },
    { from: '2026-03-01T00:00:00Z', to: '2026-02-28T00:00:00Z' },
    { from: '2027-03-02T00:00:00Z', to: '2027-03-01T00:00:00Z' },
  ])('refuses $from to $to', (asked) => {
    expect(() => periodOf(asked, ofOne)).toThrow('from must be before to');
  });

  it('refuses more than 7 days of all tenants', () => {
    expect(periodOf({ from: '2026-03-03T12:34:56.789Z' }, ofAll).from).toBe('2026-03-03T12:34:56.789Z');
    expect(() => periodOf({ from: '2026-03-03T12:34:56.788Z' }, ofAll)).toThrow('at most 7 days');
    expect(periodOf({ from: '2026-01-01T00:00:00Z', to: '2026-01-08T00:00:00Z' }, ofAll).to).toContain('01-08');
    expect(() => periodOf({ from: '2026-01-01T00:00:00Z', to: '2026-01-08T00:00:01Z' }, ofAll)).toThrow('7 days');
  });
});

it('lastDay starts at a whole hour, 24 to 25 hours ago', () => {
  expect(lastDay(now).from).toBe('2026-03-09T12:00:00.000Z');
  expect(beginOfHour('2026-03-09T12:59:59.999Z')).toBe('2026-03-09T12:00:00.000Z');
});

it.each([
  [0, 0, 100],
  [3, 0, 0],
  [3, 1, 33.33],
  [3, 2, 66.67],
  [7, 7, 100],
])('of %i requests and %i successes the rate is %d percent', (requests, successes, rate) => {
  expect(rateOf({ requests, successes })).toBe(rate);
});
