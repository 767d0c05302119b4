import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { formats } from '#core/http/formats';
import {
  distinct,
  isSame,
  isTooLong,
  toInstant,
  toRange,
  withSeconds,
  without,
  zoneName,
} from '#modules/calendar/calendar.rules';

describe('toInstant', () => {
  it.each([
    // Berlin skips 02:00 to 03:00 on 29 March 2026 and repeats it on 25 October.
    ['2026-03-29T01:59:59', 'Europe/Berlin', '2026-03-29T00:59:59.000Z', '2026-03-29T00:59:59.000Z'],
    ['2026-03-29T02:00', 'Europe/Berlin', undefined, undefined],
    ['2026-03-29T02:59:59', 'Europe/Berlin', undefined, undefined],
    ['2026-03-29T03:00', 'Europe/Berlin', '2026-03-29T01:00:00.000Z', '2026-03-29T01:00:00.000Z'],
    ['2026-10-25T01:59:59', 'Europe/Berlin', '2026-10-24T23:59:59.000Z', '2026-10-24T23:59:59.000Z'],
    ['2026-10-25T02:00', 'Europe/Berlin', '2026-10-25T00:00:00.000Z', '2026-10-25T01:00:00.000Z'],
    ['2026-10-25T02:59:59', 'Europe/Berlin', '2026-10-25T00:59:59.000Z', '2026-10-25T01:59:59.000Z'],
    ['2026-10-25T03:00', 'Europe/Berlin', '2026-10-25T02:00:00.000Z', '2026-10-25T02:00:00.000Z'],
    // Lord Howe Island shifts by half an hour.
    ['2026-10-04T02:15', 'Australia/Lord_Howe', undefined, undefined],
    ['2026-10-04T02:30', 'Australia/Lord_Howe', '2026-10-03T15:30:00.000Z', '2026-10-03T15:30:00.000Z'],
    ['2026-04-05T01:45', 'Australia/Lord_Howe', '2026-04-04T14:45:00.000Z', '2026-04-04T15:15:00.000Z'],
    ['2026-04-05T02:00', 'Australia/Lord_Howe', '2026-04-04T15:30:00.000Z', '2026-04-04T15:30:00.000Z'],
    ['2026-06-01T09:00', 'Asia/Kathmandu', '2026-06-01T03:15:00.000Z', '2026-06-01T03:15:00.000Z'],
    ['2026-03-29T02:30', 'UTC', '2026-03-29T02:30:00.000Z', '2026-03-29T02:30:00.000Z'],
    ['2026-03-29T02:30', 'Asia/Tokyo', '2026-03-28T17:30:00.000Z', '2026-03-28T17:30:00.000Z'],
    ['2026-06-01T09:00', 'Etc/GMT+12', '2026-06-01T21:00:00.000Z', '2026-06-01T21:00:00.000Z'],
    ['2026-06-01T09:00', 'Pacific/Kiritimati', '2026-05-31T19:00:00.000Z', '2026-05-31T19:00:00.000Z'],
    // Samoa had no 30 December 2011.
    ['2011-12-30T12:00', 'Pacific/Apia', undefined, undefined],
    ['2011-12-31T00:00', 'Pacific/Apia', '2011-12-30T10:00:00.000Z', '2011-12-30T10:00:00.000Z'],
    // Seconds in an offset: Liberia until 1972.
    ['1970-01-01T00:00', 'Africa/Monrovia', '1970-01-01T00:44:30.000Z', '1970-01-01T00:44:30.000Z'],
    ['1970-01-01T00:00', 'Pacific/Kiritimati', '1970-01-01T10:40:00.000Z', '1970-01-01T10:40:00.000Z'],
    ['2100-12-31T23:59:59', 'Pacific/Pago_Pago', '2101-01-01T10:59:59.000Z', '2101-01-01T10:59:59.000Z'],
    // The present rules also apply to later years.
    ['2100-07-01T12:00', 'Europe/Berlin', '2100-07-01T10:00:00.000Z', '2100-07-01T10:00:00.000Z'],
  ])('%s in %s: %s, or %s', (local, zone, earlier, later) => {
    expect([toInstant(local, zone, 'earlier'), toInstant(local, zone, 'later')]).toEqual([earlier, later]);
  });

  it('accepts every zone that Intl lists, and keeps its local time', () => {
    for (const zone of Intl.supportedValuesOf('timeZone')) {
      const instant = toInstant('2026-06-01T09:30:15', zone, 'earlier');
      expect(Temporal.Instant.from(instant!).toZonedDateTimeISO(zone).toPlainDateTime().toString()).toBe(
        '2026-06-01T09:30:15',
      );
    }
  });

  it('returns to the local time from any instant in any zone, with one of the folds', () => {
    const zones = Intl.supportedValuesOf('timeZone');
    const moments = fc.integer({ min: 0, max: Date.UTC(2100, 11, 30) / 1000 });
    fc.assert(
      fc.property(moments, fc.constantFrom(...zones), (seconds, zone) => {
        const moment = Temporal.Instant.fromEpochMilliseconds(seconds * 1000);
        const local = moment.toZonedDateTimeISO(zone).toPlainDateTime().toString({ smallestUnit: 'second' });
        const found = (['earlier', 'later'] as const).map((fold) => toInstant(local, zone, fold));
        expect(found).toContain(moment.toString({ smallestUnit: 'millisecond' }));
      }),
      { numRuns: 2000 },
    );
  });
});

it('stores times with seconds, and zones in one spelling', () => {
  expect(withSeconds('2026-06-01T09:00')).toBe('2026-06-01T09:00:00');
  expect(withSeconds('2026-06-01T09:00:05')).toBe('2026-06-01T09:00:05');
  expect(['europe/berlin', 'EUROPE/BERLIN', 'utc'].map(zoneName)).toEqual(['Europe/Berlin', 'Europe/Berlin', 'UTC']);
});

it('the length of an event is measured in local time', () => {
  const times = (local_start: string, local_end: string) =>
    ({ local_start, local_end, timezone: 'Europe/Berlin', fold: 'earlier' }) as const;
  expect(isTooLong(times('2026-10-01T00:00', '2026-11-01T00:00'))).toBe(false);
  expect(isTooLong(times('2026-10-01T00:00', '2026-11-01T00:00:01'))).toBe(true);
  expect(isTooLong(times('2026-03-01T00:00', '2026-04-01T00:00'))).toBe(false);
  expect(isTooLong(times('2026-02-01T00:00', '2026-03-04T00:00'))).toBe(false);
});

it('no event is longer than the interval that queries look back, in any zone', () => {
  const zones = Intl.supportedValuesOf('timeZone');
  const starts = fc.integer({ min: 0, max: Date.UTC(2100, 10, 1) / 1000 });
  fc.assert(
    fc.property(starts, fc.constantFrom(...zones), (seconds, zone) => {
      const start = Temporal.Instant.fromEpochMilliseconds(seconds * 1000)
        .toZonedDateTimeISO('UTC')
        .toPlainDateTime();
      const startsAt = toInstant(start.toString(), zone, 'earlier');
      const endsAt = toInstant(start.add({ days: 31 }).toString(), zone, 'later');
      if (startsAt === undefined || endsAt === undefined) return;
      expect(Date.parse(endsAt) - Date.parse(startsAt)).toBeLessThanOrEqual(32 * 86_400_000);
    }),
    { numRuns: 2000 },
  );
});

it('parses a range with any offset, and refuses an empty one', () => {
  expect(toRange({ from: '2026-06-01t00:00:00+02:00', to: '2026-06-01T12:00:00.123456789z' })).toMatchObject({
    from: '2026-05-31T22:00:00.000Z',
    to: '2026-06-01T12:00:00.123Z',
  });
  expect(toRange({ from: '2026-06-01T00:00:00Z', to: '2026-06-08T00:00:00Z' })?.days).toBe(7);
  expect(toRange({ from: '2026-06-01T00:00:00Z', to: '2026-06-01T02:00:00+02:00' })).toBeUndefined();
});

it('compares sets of entities', () => {
  const [a, b] = [
    { entity_type: 'space', entity_id: '1' },
    { entity_type: 'resource', entity_id: '1' },
  ];
  expect(distinct([a, b, a])).toEqual([a, b]);
  expect(without([a, b], [b])).toEqual([a]);
  expect([isSame([a, b], [b, a]), isSame([a], [b]), isSame([a], [a, b])]).toEqual([true, false, false]);
});

describe('the format of local times', () => {
  const format = formats['local-date-time']!;
  it.each(['2026-06-01T09:00', '2026-06-01T23:59:59', '2024-02-29T00:00', '2000-02-29T00:00'])('accepts %s', (text) => {
    expect(format(text)).toBe(true);
  });
  it.each([
    '2026-02-29T00:00',
    '2100-02-29T00:00',
    '2026-00-01T00:00',
    '2026-13-01T00:00',
    '2026-06-00T00:00',
    '2026-06-31T00:00',
    '2026-06-01T24:00',
    '2026-06-01T09:60',
    '2026-06-01T09:00:60',
    '2026-06-01 09:00',
    '2026-06-01T9:00',
    '2026-06-01T09:00Z',
    '2026-06-01T09:00\n',
    '',
  ])('refuses %j', (text) => {
    expect(format(text)).toBe(false);
  });
});

describe('the format of time zones', () => {
  const format = formats['time-zone']!;
  it('accepts only zones that support calculations', () => {
    for (const zone of [...Intl.supportedValuesOf('timeZone'), 'UTC', 'US/Eastern', 'europe/berlin', 'Etc/GMT+5']) {
      expect([zone, format(zone)]).toEqual([zone, true]);
      expect(() => toInstant('2026-06-01T09:00', zone, 'earlier')).not.toThrow();
    }
    for (const text of ['IST', 'ACT', 'SystemV/AST4', '+02:00', 'Z', 'Factory', 'Europe/Berlin[u-ca=iso8601]', '']) {
      expect([text, format(text)]).toEqual([text, false]);
    }
  });
});
