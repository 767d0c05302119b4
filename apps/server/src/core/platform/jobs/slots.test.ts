import { describe, expect, it } from 'vitest';

import { findDue, nextSlot, scheduleProblem, type CatchUp, lastSlot } from '#core/platform/jobs/slots';

const at = (time: string) => new Date(`2026-03-10T${time}Z`);
const hourly = (catchUp: CatchUp) => ({ schedule: '0 * * * *', timezone: 'UTC', catchUp });

/** What is found, as texts: `09:00` on time, `09:00 late` caught up on. */
function due(catchUp: CatchUp, handledUntil: Date, now: Date) {
  const found = findDue(hourly(catchUp), { handledUntil, now });
  const time = (date: Date | undefined) => date?.toISOString().slice(11, 16);
  return {
    slots: found.slots.map(({ at: slot, trigger }) => `${time(slot)}${trigger === 'catch_up' ? ' late' : ''}`),
    last: time(found.last),
    missed: time(found.missed),
  };
}

const nothing = { slots: [], last: undefined, missed: undefined };

describe('findDue', () => {
  it.each([
    ['nothing before the next slot', 'run_once', '09:00:00', '09:59:59.999', nothing],
    ['a slot at its time', 'run_once', '09:00:00', '10:00:00', { slots: ['10:00'], last: '10:00', missed: undefined }],
    [
      'a slot two minutes later',
      'skip',
      '09:00:00',
      '10:02:00',
      { slots: ['10:00'], last: '10:00', missed: undefined },
    ],
    ['skip: no slot that is late', 'skip', '09:00:00', '10:02:00.001', { slots: [], last: '10:00', missed: '10:00' }],
    [
      'skip: the one on time, not those before',
      'skip',
      '07:00:00',
      '10:00:10',
      { slots: ['10:00'], last: '10:00', missed: '08:00' },
    ],
    [
      'run_once: a late slot',
      'run_once',
      '09:00:00',
      '10:30:00',
      { slots: ['10:00 late'], last: '10:00', missed: '10:00' },
    ],
    [
      'run_once: one run for all',
      'run_once',
      '05:30:00',
      '10:30:00',
      { slots: ['10:00 late'], last: '10:00', missed: '06:00' },
    ],
    [
      'all: each, the oldest first',
      'all',
      '07:30:00',
      '10:00:30',
      { slots: ['08:00 late', '09:00 late', '10:00'], last: '10:00', missed: '08:00' },
    ],
    ['a clock that went back makes no slot due', 'all', '12:00:00', '10:30:00', nothing],
  ] as const)('%s', (...[_what, catchUp, handledUntil, now, expected]) => {
    expect(due(catchUp, at(handledUntil), at(now))).toEqual(expected);
  });

  it('catches up on 24 slots at most, the latest', () => {
    const { slots } = findDue(hourly('all'), { handledUntil: new Date('2026-01-01T00:00:00Z'), now: at('10:30:00') });
    expect(slots).toHaveLength(24);
    expect(slots[0]!.at).toEqual(new Date('2026-03-09T11:00:00Z'));
    expect(slots.at(-1)!.at).toEqual(at('10:00:00'));
  });

  it('a year of missed minutes takes no longer than a minute of them', () => {
    const terms = { schedule: '* * * * *', timezone: 'UTC', catchUp: 'all' } as const;
    const { slots, missed } = findDue(terms, { handledUntil: new Date('2025-03-10T10:00:00Z'), now: at('10:30:00') });
    expect([slots.length, missed]).toEqual([24, new Date('2025-03-10T10:01:00Z')]);
  });
});

describe('nextSlot', () => {
  it('is later than the instant it is asked for', () => {
    expect(nextSlot(hourly('skip'), at('10:00:00'))).toEqual(at('11:00:00'));
    expect(nextSlot(hourly('skip'), at('09:59:59.999'))).toEqual(at('10:00:00'));
  });

  it('follows the clocks of its time zone', () => {
    const berlin = { schedule: '30 2 * * *', timezone: 'Europe/Berlin' };
    // On 29 March 2026 clocks go from 2:00 to 3:00: the slot comes right after.
    const slots = ['2026-03-27T12:00:00Z', '2026-03-28T12:00:00Z', '2026-03-29T12:00:00Z'];
    expect(slots.map((after) => nextSlot(berlin, new Date(after))?.toISOString())).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
  });
});

describe('scheduleProblem', () => {
  const problem = (schedule: string) => scheduleProblem({ schedule, timezone: 'UTC' }, at('10:00:00'));

  it.each(['* * * * *', '*/5 * * * *', '0 3 * * 1-5', '15 0,12 1 JAN,JUL *', ' 0 0 29 2 * '])(
    'takes %s',
    (schedule) => {
      expect(problem(schedule)).toBeUndefined();
    },
  );

  it.each([
    '',
    'nonsense',
    '@hourly',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '0 24 * * *',
    '0 0 30 2 *',
    '*/0 * * * *',
    'a b c d e',
    '2026-01-01T00:00:00',
  ])('says what is wrong with %j', (schedule) => {
    expect(problem(schedule)).toEqual(expect.any(String));
  });
});

describe('lastSlot', () => {
  it.each([
    ['0 3 * * *', '2026-05-10T03:00:00Z', '2026-05-10T03:00:00.000Z'],
    ['0 3 * * *', '2026-05-10T02:59:59Z', '2026-05-09T03:00:00.000Z'],
    ['30 23 * * *', '2026-05-10T00:00:00Z', '2026-05-09T23:30:00.000Z'],
    ['*/15 * * * *', '2026-05-10T00:44:59Z', '2026-05-10T00:30:00.000Z'],
    ['0 4 * * SUN', '2026-05-13T12:00:00Z', '2026-05-10T04:00:00.000Z'],
    ['0 4 * * 7', '2026-05-13T12:00:00Z', '2026-05-10T04:00:00.000Z'],
    ['15 2 1 1,7 *', '2026-05-13T12:00:00Z', '2026-01-01T02:15:00.000Z'],
    ['0 0 29 2 *', '2026-05-13T12:00:00Z', '2024-02-29T00:00:00.000Z'],
    // In UTC, where no hour is left out or comes twice.
    ['30 2 * * *', '2026-03-29T02:30:00Z', '2026-03-29T02:30:00.000Z'],
  ])('%s at %s', (schedule, now, expected) => {
    expect(lastSlot({ schedule, timezone: 'UTC' }, new Date(now))?.toISOString()).toBe(expected);
  });
});
