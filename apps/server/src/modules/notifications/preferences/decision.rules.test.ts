import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { channels, type Channel, type QuietHours } from '#modules/notifications/notifications.types';
import {
  decide,
  neverEnd,
  patternsOf,
  timeOf,
  weekdays,
  type Preference,
} from '#modules/notifications/preferences/decision.rules';

type Said = { enabled?: boolean; channel?: Channel; quietHours?: QuietHours; locked?: boolean };

function says(category: string, { enabled = true, channel = 'email', quietHours = {}, locked }: Said = {}): Preference {
  const rules = locked === undefined ? {} : { locked };
  return { id: `${category} ${channel}`, category, channel, enabled, quiet_hours: quietHours, rules };
}

const on = (category: string, said?: Said) => says(category, { ...said, enabled: true });
const off = (category: string, said?: Said) => says(category, { ...said, enabled: false });
const night = { start: '22:00', end: '07:00' };

describe('patternsOf', () => {
  it.each([
    ['a', ['a', '*']],
    ['a.b', ['a.b', 'a.*', '*']],
    ['a.b.c', ['a.b.c', 'a.b.*', 'a.*', '*']],
    ['*', ['*']],
    ['a.*', ['a.*', '*']],
    ['a.b.*', ['a.b.*', 'a.*', '*']],
    ['', ['', '*']],
    ['.', ['.', '.*', '*']],
    ['a..b', ['a..b', 'a..*', 'a.*', '*']],
  ])('%j are the patterns for %j', (category, patterns) => {
    expect(patternsOf(category)).toEqual(patterns);
  });
});

describe('decide', () => {
  type Case = { wanted?: string; defaults?: Preference[]; overrides?: Preference[] };
  it.each<[string, Case, [isEnabled: boolean, layer: string, category?: string]]>([
    ['no preference exists', {}, [true, 'built_in']],
    ['the tenant says no', { defaults: [off('a.b')] }, [false, 'tenant_default', 'a.b']],
    ['the person says yes', { defaults: [off('a.b')], overrides: [on('a.b')] }, [true, 'user_override', 'a.b']],
    ['the person says no to all', { defaults: [on('a.b')], overrides: [off('*')] }, [false, 'user_override', '*']],
    ['both of the person', { overrides: [off('*'), on('a.*')] }, [true, 'user_override', 'a.*']],
    ['three of the person', { overrides: [off('a.*'), on('a.b'), off('*')] }, [true, 'user_override', 'a.b']],
    ['both of the tenant', { defaults: [off('*'), on('a.*')] }, [true, 'tenant_default', 'a.*']],
    ['deeper', { wanted: 'a.b.c', defaults: [off('a.*'), on('a.b.*')] }, [true, 'tenant_default', 'a.b.*']],
    ['a wildcard is not about itself', { wanted: 'a', defaults: [off('a.*')] }, [true, 'built_in']],
    ['a wildcard ends at a point', { wanted: 'ab.c', defaults: [off('a.*')] }, [true, 'built_in']],
    ['another category', { defaults: [off('a.c')], overrides: [off('A.B')] }, [true, 'built_in']],
    ['another channel', { defaults: [off('a.b', { channel: 'push' })] }, [true, 'built_in']],
    ['a lock', { defaults: [on('a.b', { locked: true })], overrides: [off('a.b')] }, [true, 'locked', 'a.b']],
    ['a lock of no', { defaults: [off('a.*', { locked: true })], overrides: [on('a.b')] }, [false, 'locked', 'a.*']],
    ['a lock on all', { defaults: [on('*', { locked: true })], overrides: [off('a.b')] }, [true, 'locked', '*']],
    [
      'a lock below which the tenant says more',
      { defaults: [on('a.*', { locked: true }), on('a.b')], overrides: [off('a.b')] },
      [false, 'user_override', 'a.b'],
    ],
    [
      'a lock that is the most specific',
      { defaults: [on('a.*'), on('a.b', { locked: true })], overrides: [off('*')] },
      [true, 'locked', 'a.b'],
    ],
    [
      'a lock that is false',
      { defaults: [on('a.b', { locked: false })], overrides: [off('*')] },
      [false, 'user_override', '*'],
    ],
    [
      'a lock by the person',
      { defaults: [off('a.b')], overrides: [on('*', { locked: true })] },
      [true, 'user_override', '*'],
    ],
  ])('%s', (_, { wanted = 'a.b', defaults = [], overrides = [] }, [isEnabled, layer, category = null]) => {
    for (const layers of [
      { defaults, overrides },
      { defaults: defaults.toReversed(), overrides: overrides.toReversed() },
    ]) {
      expect(decide({ category: wanted, channel: 'email' }, layers)).toEqual({
        isEnabled,
        layer,
        preferenceId: category === null ? null : `${category} email`,
        category,
        quietHours: null,
        quietHoursLayer: null,
      });
    }
  });

  it('is on by default for channels without cost', () => {
    const layers = { defaults: [], overrides: [] };
    const enabled = channels.filter((channel) => decide({ category: 'a', channel }, layers).isEnabled);
    expect(enabled).toEqual(['in_app', 'push', 'email']);
  });

  describe('quiet hours', () => {
    const of = (defaults: Preference[], overrides: Preference[]) => {
      const { quietHours, quietHoursLayer } = decide({ category: 'a.b', channel: 'email' }, { defaults, overrides });
      return [quietHours, quietHoursLayer];
    };
    const own = { start: '20:00', end: '08:00' };

    it.each<[string, [defaults: Preference[], overrides: Preference[]], [QuietHours | null, string | null]]>([
      ['of the tenant', [[on('*', { quietHours: night })], [on('a.b')]], [night, 'tenant_default']],
      ['of the person', [[on('a.b', { quietHours: night })], [on('*', { quietHours: own })]], [own, 'user_override']],
      ['of the row that states any', [[], [on('a.b'), on('*', { quietHours: own })]], [own, 'user_override']],
      [
        'of the most specific',
        [[], [on('a.*', { quietHours: own }), on('*', { quietHours: night })]],
        [own, 'user_override'],
      ],
      [
        'not half',
        [[on('*', { quietHours: night })], [on('a.b', { quietHours: { start: '20:00' } })]],
        [night, 'tenant_default'],
      ],
      ['not a zone', [[], [on('a.b', { quietHours: { timezone: 'UTC' } })]], [null, null]],
      [
        'no days',
        [[on('*', { quietHours: night })], [on('*', { quietHours: { ...own, days: [] } })]],
        [{ ...own, days: [] }, 'user_override'],
      ],
    ])('%s', (_, [defaults, overrides], found) => {
      expect(of(defaults, overrides)).toEqual(found);
    });

    it.each<[string, boolean, 'person' | 'tenant', 'now' | 'later']>([
      ['locked', true, 'person', 'now'],
      ['not locked', false, 'person', 'later'],
      ['locked', true, 'tenant', 'later'],
    ])('without exceptions, where the default is %s %s, of the %s: critical is %s', (_, locked, whose, kind) => {
      const strict = { start: '00:00', end: '23:59', timezone: 'UTC', exceptCritical: false };
      const stated = (is: 'person' | 'tenant') => (whose === is ? { quietHours: strict } : {});
      const defaults = [on('a.*', { locked, ...stated('tenant') })];
      const decision = decide(
        { category: 'a.b', channel: 'email' },
        { defaults, overrides: [on('*', stated('person'))] },
      );
      const now = new Date('2026-06-01T12:00:00Z');
      expect(timeOf(decision, { now, timezone: null, isCritical: true }).kind).toBe(kind);
      expect(timeOf(decision, { now, timezone: null, isCritical: false }).kind).toBe('later');
    });

    it('drop nothing where the default is locked', () => {
      const dropping = { ...own, mode: 'drop', note: 'kept' } as const;
      const locked = on('a.*', { locked: true });
      expect(of([locked], [on('*', { quietHours: dropping })])).toEqual([
        { ...dropping, mode: 'delay' },
        'user_override',
      ]);
      const itself = on('a.*', { locked: true, quietHours: dropping });
      expect(of([itself], [])).toEqual([{ ...dropping, mode: 'delay' }, 'tenant_default']);
      expect(of([], [on('*', { quietHours: dropping })])).toEqual([dropping, 'user_override']);
    });
  });
});

/** When, in the zone, it goes out that is to be sent at a moment. */
function goesOut(quietHours: QuietHours, at: string, { isCritical = false, timezone = 'Europe/Berlin' } = {}) {
  const now = new Date(Temporal.ZonedDateTime.from(`${at}[${timezone}]`).epochMilliseconds);
  const time = timeOf({ quietHours }, { now, timezone, isCritical });
  if (time.kind !== 'later') return time.kind;
  return Temporal.Instant.fromEpochMilliseconds(time.at.getTime())
    .toZonedDateTimeISO(timezone)
    .toString({ timeZoneName: 'never', smallestUnit: 'minute' });
}

describe('timeOf', () => {
  it.each<[string, QuietHours, string, string]>([
    ['before the night', night, '2026-06-01T21:59:59.999', 'now'],
    ['as it begins', night, '2026-06-01T22:00', '2026-06-02T07:00+02:00'],
    ['before midnight', night, '2026-06-01T23:00', '2026-06-02T07:00+02:00'],
    ['after midnight', night, '2026-06-02T06:59:59.999', '2026-06-02T07:00+02:00'],
    ['as it ends', night, '2026-06-02T07:00', 'now'],
    ['a day', { start: '09:00', end: '17:00' }, '2026-06-02T09:00', '2026-06-02T17:00+02:00'],
    ['a day that is over', { start: '09:00', end: '17:00' }, '2026-06-02T17:00', 'now'],
    // 2026-06-05 is a Friday.
    ['a night that began on its day', { ...night, days: ['fri'] }, '2026-06-06T03:00', '2026-06-06T07:00+02:00'],
    ['a night that began the day before', { ...night, days: ['fri'] }, '2026-06-05T03:00', 'now'],
    ['a night of another day', { ...night, days: ['fri'] }, '2026-06-06T23:00', 'now'],
    ['a whole day', { start: '00:00', end: '00:00', days: ['sat'] }, '2026-06-06T00:00', '2026-06-07T00:00+02:00'],
    [
      'days in a row',
      { start: '00:00', end: '00:00', days: ['sat', 'sun'] },
      '2026-06-06T12:00',
      '2026-06-08T00:00+02:00',
    ],
    [
      'days that begin later',
      { start: '09:00', end: '09:00', days: ['sat', 'sun'] },
      '2026-06-06T12:00',
      '2026-06-08T09:00+02:00',
    ],
    ['no days', { ...night, days: [] }, '2026-06-01T23:00', 'now'],
    ['dropped', { ...night, mode: 'drop' }, '2026-06-01T23:00', 'dropped'],
    ['not dropped', { ...night, mode: 'drop' }, '2026-06-01T12:00', 'now'],
    // 2026-03-29: 02:00 is 03:00. 2026-10-25: 03:00 is 02:00 again.
    ['an end that is skipped', { start: '22:00', end: '02:30' }, '2026-03-29T01:00', '2026-03-29T03:00+02:00'],
    ['a start that is skipped', { start: '02:30', end: '04:00' }, '2026-03-29T03:00', '2026-03-29T04:00+02:00'],
    ['both skipped', { start: '02:15', end: '02:45' }, '2026-03-29T03:00', 'now'],
    ['an end that comes twice', { start: '22:00', end: '02:30' }, '2026-10-25T02:45+02:00', '2026-10-25T02:30+01:00'],
    ['a start that comes twice', { start: '02:30', end: '04:00' }, '2026-10-25T02:15+01:00', '2026-10-25T04:00+01:00'],
  ])('%s', (_, quietHours, at, out) => {
    expect(goesOut(quietHours, at)).toBe(out);
  });

  it('admits critical notifications unless configured otherwise', () => {
    expect(goesOut(night, '2026-06-01T23:00', { isCritical: true })).toBe('now');
    expect(goesOut({ ...night, mode: 'drop' }, '2026-06-01T23:00', { isCritical: true })).toBe('now');
    const all = { ...night, exceptCritical: false };
    expect(goesOut(all, '2026-06-01T23:00', { isCritical: true })).toBe('2026-06-02T07:00+02:00');
    expect(goesOut({ ...all, mode: 'drop' }, '2026-06-01T23:00', { isCritical: true })).toBe('dropped');
  });

  it('uses its own time zone, or that of the user, or UTC', () => {
    const now = new Date('2026-06-01T22:30:00Z');
    const at = (quietHours: QuietHours, timezone: string | null) =>
      timeOf({ quietHours }, { now, timezone, isCritical: false });
    expect(at(night, null)).toEqual({ kind: 'later', at: new Date('2026-06-02T07:00:00Z') });
    expect(at(night, 'America/New_York')).toEqual({ kind: 'now' });
    expect(at({ ...night, timezone: 'Europe/Berlin' }, 'America/New_York')).toEqual({
      kind: 'later',
      at: new Date('2026-06-02T05:00:00Z'),
    });
  });

  it('is now without quiet hours, or with an incomplete range', () => {
    const at = { now: new Date(), timezone: null, isCritical: false };
    expect(timeOf({ quietHours: null }, at)).toEqual({ kind: 'now' });
    for (const quietHours of [{}, { start: '00:00' }, { end: '00:00' }]) {
      expect(timeOf({ quietHours }, at)).toEqual({ kind: 'now' });
    }
  });

  it('is within eight days if quiet hours never end', () => {
    const quietHours = { start: '00:00', end: '00:00' };
    const now = new Date('2026-06-01T12:00:00Z');
    expect(neverEnd(quietHours)).toBe(true);
    expect(timeOf({ quietHours }, { now, timezone: null, isCritical: false })).toEqual({
      kind: 'later',
      at: new Date('2026-06-09T12:00:00Z'),
    });
  });
});

it('recognises quiet hours that never end', () => {
  const day = { start: '09:00', end: '09:00' };
  expect([day, { ...day, days: [...weekdays] }].map(neverEnd)).toEqual([true, true]);
  const others = [{}, night, { ...day, days: weekdays.slice(1) }, { ...day, days: [] }, { ...day, end: '08:59' }];
  expect(others.map(neverEnd)).toEqual(others.map(() => false));
});

describe('quiet hours in any zone', () => {
  const minuteMs = 60_000;
  const dayMinutes = 1440;
  // Some skip a day, or turn clocks back over midnight, or by half an hour, or skip midnight.
  const strange = ['Pacific/Apia', 'America/St_Johns', 'Australia/Lord_Howe', 'Asia/Beirut', 'Antarctica/Troll'];
  const zones = fc.oneof(
    fc.constantFrom(...strange, 'Europe/Berlin', 'Africa/Cairo', 'Pacific/Kwajalein'),
    fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
  );
  const anyTime = fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2040, 0) });
  const clock = fc.oneof(
    fc.constantFrom('00:00', '00:01', '01:00', '02:00', '02:30', '03:00', '23:30'),
    fc
      .integer({ min: 0, max: dayMinutes - 1 })
      .map((minute) => `${String(Math.trunc(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`),
  );
  const someDays = fc.oneof(fc.constant(undefined), fc.subarray([...weekdays]));
  const nearness = fc.option(fc.integer({ min: -2 * dayMinutes, max: dayMinutes }), { freq: 3 });

  const moment = fc.record({ timezone: zones, time: anyTime, near: nearness });
  const span = fc.record({ start: clock, end: clock, days: someDays });

  /** Where clocks are set, or near it, for most runs. */
  function nearChange(time: number, timezone: string, near: number | null): number {
    const next = Temporal.Instant.fromEpochMilliseconds(time)
      .toZonedDateTimeISO(timezone)
      .getTimeZoneTransition('next');
    return near === null || next === null ? time : next.epochMilliseconds + near * minuteMs;
  }

  /** What clocks show at each minute around a moment, in minutes since 1970. */
  function readings(timezone: string, first: number) {
    const read = (at: number) => {
      const { offsetNanoseconds } = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timezone);
      return at / minuteMs + offsetNanoseconds / 60_000_000_000;
    };
    const shown: number[] = [];
    let local = read(first);
    for (let at = first; shown.length < 14 * dayMinutes; at += minuteMs * 15) {
      const next = read(at + minuteMs * 15);
      const isSteady = next === local + 15;
      for (let minute = 0; minute < 15; minute += 1) {
        shown.push(isSteady ? local + minute : read(at + minute * minuteMs));
      }
      local = next;
    }
    return shown;
  }

  const minutesOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

  /** The first minute from one on that is in no quiet hours, found by looking at the clock each minute. */
  function firstLoudMinute(
    { start, end, days = weekdays }: { start: string; end: string; days?: readonly string[] },
    shown: number[],
    from: number,
  ) {
    const spans: [number, number][] = [];
    const today = Math.floor(shown[from]! / dayMinutes);
    for (let day = today - 2; day <= today + 10; day += 1) {
      // 1970-01-01 was a Thursday.
      if (!days.includes(weekdays[(day + 3) % 7]!)) continue;
      const opens = day * dayMinutes + minutesOf(start);
      const closes = (start < end ? day : day + 1) * dayMinutes + minutesOf(end);
      const last = shown.lastIndexOf(closes);
      spans.push([
        shown.findIndex((minute) => minute >= opens),
        last === -1 ? shown.findIndex((minute) => minute >= closes) : last,
      ]);
    }
    let minute = from;
    while (spans.some(([opens, closes]) => opens <= minute && minute < closes)) minute += 1;
    return minute;
  }

  it('is sent at the first moment outside of them', () => {
    fc.assert(
      fc.property(moment, span, ({ timezone, time, near }, { start, end, days }) => {
        const quietHours = { start, end, ...(days && { days }) };
        fc.pre(!neverEnd(quietHours));
        const now = nearChange(time, timezone, near);
        const first = Math.floor(now / minuteMs / 15) * 15 * minuteMs - 3 * dayMinutes * minuteMs;
        const from = Math.floor((now - first) / minuteMs);
        const loud = firstLoudMinute(quietHours, readings(timezone, first), from);
        const expected = loud === from ? { kind: 'now' } : { kind: 'later', at: new Date(first + loud * minuteMs) };
        expect(timeOf({ quietHours }, { now: new Date(now), timezone, isCritical: false })).toEqual(expected);
        if (loud === from) return;
        const then = { now: new Date(first + loud * minuteMs), timezone, isCritical: false };
        expect(timeOf({ quietHours }, then)).toEqual({ kind: 'now' });
      }),
      { numRuns: 150 },
    );
  });
});
