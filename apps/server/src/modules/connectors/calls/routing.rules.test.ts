import { describe, expect, it } from 'vitest';

import { hasRetryAfter, inOrder, readinessOf, type Standing } from '#modules/connectors/calls/routing.rules';

const now = new Date('2026-03-01T12:00:00Z');
const ahead = '2026-03-01T12:00:01Z';
const over = '2026-03-01T12:00:00Z';
const well: Standing = {
  auto_disabled: false,
  retry_at: null,
  lease_until: null,
  error_details: null,
  last_error: null,
  ejections: 0,
};
const off = { ...well, auto_disabled: true };

describe('inOrder', () => {
  const rows = ['own-1', 'both', 'shared', 'both'].map((key, at) => ({ api_key: key, at }));
  it.each<[string[], number[]]>([
    [[], [0, 1, 2, 3]],
    [['shared'], [2, 0, 1, 3]],
    [
      ['unknown', 'both', 'own-1'],
      [1, 3, 0, 2],
    ],
  ])('%j', (order, places) => {
    expect(inOrder(rows, order).map(({ at }) => at)).toEqual(places);
  });
});

describe('readinessOf', () => {
  it.each<[string, Standing, boolean, string]>([
    ['healthy', well, false, 'ready'],
    ['paused by Retry-After', { ...well, retry_at: ahead }, false, 'out'],
    ['after the end of Retry-After', { ...well, retry_at: over }, false, 'ready'],
    ['paused after failures', { ...off, retry_at: ahead }, false, 'out'],
    ['pause has ended', { ...off, retry_at: over }, false, 'probe'],
    ['without a pause', off, false, 'probe'],
    ['under probe by another call', { ...off, retry_at: over, lease_until: ahead }, false, 'out'],
    ['probe was never finished', { ...off, retry_at: over, lease_until: over }, false, 'probe'],
    ['with own credentials: paused for others', { ...well, retry_at: ahead }, true, 'ready'],
    [
      'with own credentials: refused those of others',
      { ...off, retry_at: ahead, error_details: { kind: 'credentials' } },
      true,
      'ready',
    ],
    [
      'with own credentials: not there',
      { ...off, retry_at: ahead, error_details: { kind: 'unreachable' } },
      true,
      'out',
    ],
    [
      'with own credentials: the pause is over',
      { ...off, retry_at: over, error_details: { kind: 'unreachable' } },
      true,
      'ready',
    ],
  ])('%s', (_what, standing, isOwnCredentials, readiness) => {
    expect(readinessOf(standing, { now, isOwnCredentials })).toBe(readiness);
  });
});

describe('hasRetryAfter', () => {
  const ejected = { ...off, ejections: 1, last_error: '2026-03-01T11:59:40Z' };
  it.each<[string, Standing, boolean]>([
    ['healthy', well, false],
    ['one that asked for it', { ...well, retry_at: ahead }, true],
    ['one that asked for it before', { ...well, retry_at: over }, false],
    ['paused after failures', { ...ejected, retry_at: '2026-03-01T12:00:00Z' }, false],
    ['one that failed again in its pause', { ...ejected, retry_at: '2026-03-01T11:59:55Z' }, false],
    ['one that was switched off and asked for more', { ...ejected, retry_at: '2026-03-01T12:01:00Z' }, true],
  ])('%s', (_what, standing, expected) => {
    expect(hasRetryAfter(standing, now)).toBe(expected);
  });
});
