import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { book, booked, busyOf, device, events, room, user } from '#modules/calendar/testing/events';
import { trailOf } from '#test/support/directory';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, strictlyLater, useService, type Call } from '#test/support/harness';

const test = useService({ now: strictlyLater() });
let tenant: Tenant;
let member: Person;
let admin: Call;
let by: Call;

beforeAll(async () => {
  tenant = await createTenant(test);
  member = await createMember(test, tenant);
  admin = { token: tenant.admin.token };
  by = { token: member.token };
});

const get = (id: string, caller: Call = by) => test.call('GET', `${events}/${id}`, caller);

describe('createEvent', () => {
  describe('201', () => {
    it('books a space, a resource and the caller, and returns the complete event', async () => {
      const [hall, projector] = [await room(test, tenant), await device(test, tenant)];
      const answer = await book(test, by, [user(member.userId), hall, projector], {
        title: 'Review',
        description: 'Of everything\nand more',
        location: 'First floor',
        visibility: 'private',
        local_start: '2026-06-01T09:00',
        local_end: '2026-06-01T10:30:30',
        timezone: 'europe/berlin',
      });
      expect(answer.status).toBe(201);
      expect(answer.body.data).toEqual({
        id: expect.any(String),
        tenant_id: tenant.tenantId,
        title: 'Review',
        description: 'Of everything\nand more',
        location: 'First floor',
        visibility: 'private',
        busy: true,
        local_start: '2026-06-01T09:00:00',
        local_end: '2026-06-01T10:30:30',
        timezone: 'Europe/Berlin',
        fold: 'earlier',
        starts_at: '2026-06-01T07:00:00.000Z',
        ends_at: '2026-06-01T08:30:30.000Z',
        entities: [projector, hall, user(member.userId)],
        organizer: { type: 'user', id: member.userId },
        created_at: expect.any(String),
        updated_at: answer.body.data.created_at,
      });
      expect((await get(answer.body.data.id)).body).toEqual(answer.body);
      expect(await trailOf(test, tenant.tenantId, answer.body.data.id)).toMatchObject([
        { action: 'calendar_event.created', user_id: member.userId },
      ]);
    });

    it('uses defaults: visible, busy, without description and location', async () => {
      const event = await booked(test, by, [await room(test, tenant)]);
      expect(event).toMatchObject({ description: null, location: null, visibility: 'default', busy: true });
    });

    it('accepts an event that starts when another one ends', async () => {
      const hall = await room(test, tenant);
      await booked(test, by, [hall]);
      await booked(test, by, [hall], { local_start: '2026-06-01T10:00', local_end: '2026-06-01T11:00' });
      await booked(test, by, [hall], { local_start: '2026-06-01T08:00', local_end: '2026-06-01T09:00' });
      expect(await busyOf(test, by, [hall])).toEqual([[['2026-06-01T08:00:00.000Z', '2026-06-01T11:00:00.000Z']]]);
    });

    it('accepts any number of events that are not busy, next to a busy one', async () => {
      const hall = await room(test, tenant);
      for (const busy of [false, true, false]) expect(await booked(test, by, [hall], { busy })).toMatchObject({ busy });
    });

    it('accepts the same time of another entity, and of one in maintenance', async () => {
      const [hall, other] = [await room(test, tenant), await room(test, tenant, { status: 'maintenance' })];
      const slot = [['2026-06-01T09:00:00.000Z', '2026-06-01T10:00:00.000Z']];
      for (const each of [hall, other]) await booked(test, by, [each]);
      expect(await busyOf(test, by, [hall, other])).toEqual([slot, slot]);
    });

    it('books 50 entities together', async () => {
      const halls = await Promise.all(Array.from({ length: 50 }, () => room(test, tenant)));
      expect((await booked(test, by, halls))['entities']).toHaveLength(50);
    });

    it('books an entity once that is listed twice in different spelling', async () => {
      const hall = await room(test, tenant);
      const again = { ...hall, entity_id: hall.entity_id.toUpperCase() };
      expect((await booked(test, by, [hall, again]))['entities']).toEqual([hall]);
    });
  });

  describe('403', () => {
    it('another user, whether they exist or not; calendar managers and administrators may', async () => {
      const manager = await createMember(test, tenant, { permissions: ['calendar.manage'] });
      for (const id of [manager.userId, newId()]) {
        expectError(await book(test, by, [user(id)]), 403, 'AUTHORIZATION_ERROR', 'USER_BOOKING_NOT_ALLOWED');
      }
      await booked(test, { token: manager.token }, [user(member.userId)], { timezone: 'Asia/Tokyo' });
      await booked(test, admin, [user(manager.userId)]);
    });
  });

  describe('404', () => {
    it('an entity that is unknown, of another kind or of another tenant: nothing is booked', async () => {
      const hall = await room(test, tenant);
      const other = await createTenant(test);
      const foreign = await room(test, other);
      const wrong = [
        { ...hall, entity_id: newId() },
        { ...hall, entity_type: 'resource' as const },
        foreign,
        user(other.admin.userId),
      ];
      for (const entity of wrong)
        expectError(await book(test, admin, [hall, entity]), 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
      expect(await busyOf(test, by, [hall])).toEqual([[]]);
    });
  });

  describe('409', () => {
    it('lists all busy times of all entities, without details', async () => {
      const [hall, projector, free] = [await room(test, tenant), await device(test, tenant), await room(test, tenant)];
      const at = (start: string, end: string) => ({
        local_start: `2026-06-02T${start}`,
        local_end: `2026-06-02T${end}`,
        title: 'secret',
      });
      await booked(test, admin, [hall], at('09:00', '10:00'));
      await booked(test, admin, [hall, projector], at('11:00', '12:00'));
      await booked(test, admin, [hall], at('13:00', '14:00'));
      const answer = await book(test, by, [free, hall, projector], at('09:59', '13:00'));
      expectError(answer, 409, 'CONFLICT', 'SLOT_TAKEN');
      const [nine, eleven] = [
        { starts_at: '2026-06-02T09:00:00.000Z', ends_at: '2026-06-02T10:00:00.000Z' },
        { starts_at: '2026-06-02T11:00:00.000Z', ends_at: '2026-06-02T12:00:00.000Z' },
      ];
      const { conflicts } = answer.body.details;
      expect(conflicts).toHaveLength(3);
      expect(conflicts).toEqual(
        expect.arrayContaining([
          { ...hall, ...nine },
          { ...hall, ...eleven },
          { ...projector, ...eleven },
        ]),
      );
      expect(answer.text).not.toContain('secret');
      expect(await busyOf(test, by, [free])).toEqual([[]]);
    });

    it('all overlaps: within, around, equal, by a second, and from a month before', async () => {
      const hall = await room(test, tenant);
      await booked(test, by, [hall], { local_start: '2026-05-01T12:00', local_end: '2026-06-01T12:00' });
      const overlapping = [
        ['2026-05-10T09:00', '2026-05-10T10:00'],
        ['2026-05-01T12:00', '2026-06-01T12:00'],
        ['2026-04-30T12:00', '2026-05-01T12:00:01'],
        ['2026-06-01T11:59:59', '2026-06-01T13:00'],
        ['2026-05-15T12:00', '2026-06-15T12:00'],
      ];
      for (const [local_start, local_end] of overlapping) {
        const answer = await book(test, by, [hall], { local_start, local_end });
        expectError(answer, 409, 'CONFLICT', 'SLOT_TAKEN');
        // The service found it; the constraint would report no busy times.
        expect(answer.body.details.conflicts).toHaveLength(1);
      }
      expect(await busyOf(test, by, [hall])).toEqual([[['2026-06-01T00:00:00.000Z', '2026-06-01T12:00:00.000Z']]]);
    });

    it('lists at most 100 busy times', async () => {
      const hall = await room(test, tenant);
      const hour = (at: number) => `2026-06-0${1 + Math.floor(at / 24)}T${String(at % 24).padStart(2, '0')}:00`;
      const slots = Array.from({ length: 101 }, (_, at) => ({ local_start: hour(at), local_end: hour(at + 1) }));
      await Promise.all(slots.map((slot) => booked(test, by, [hall], slot)));
      const answer = await book(test, by, [hall], { local_end: '2026-06-30T00:00', local_start: '2026-06-01T00:00' });
      expect(answer.status).toBe(409);
      expect(answer.body.details.conflicts).toHaveLength(100);
    });
  });

  describe('422', () => {
    it('archived records and suspended users', async () => {
      const hall = await room(test, tenant);
      const colleague = await createMember(test, tenant);
      const gone = [
        await room(test, tenant, { status: 'archived' }),
        await device(test, tenant, { status: 'archived' }),
        user(colleague.userId),
      ];
      await test.call('PATCH', `/api/v1/secure/users/${colleague.userId}`, { ...admin, body: { status: 'suspended' } });
      for (const entity of gone) {
        const answer = await book(test, admin, [hall, entity]);
        expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'ENTITY_NOT_BOOKABLE');
        expect(answer.body.details.entities).toEqual([entity]);
      }
      expect(await busyOf(test, by, [hall])).toEqual([[]]);
    });

    it('an end that is not after the start, and more than 31 days', async () => {
      const hall = await room(test, tenant);
      const cases = [
        ['2026-06-01T09:00', '2026-06-01T09:00', 'END_NOT_AFTER_START'],
        ['2026-06-01T09:00', '2026-05-31T10:00', 'END_NOT_AFTER_START'],
        ['2026-06-01T00:00', '2026-07-02T00:00:01', 'EVENT_TOO_LONG'],
        ['1970-01-01T00:00', '2100-12-31T23:59', 'EVENT_TOO_LONG'],
      ];
      for (const [local_start, local_end, reason] of cases) {
        expectError(await book(test, by, [hall], { local_start, local_end }), 422, 'UNPROCESSABLE_ENTITY', reason);
      }
      await booked(test, by, [hall], { local_start: '2026-06-01T00:00', local_end: '2026-07-02T00:00' });
    });
  });

  describe('400', () => {
    const wrong: Record<string, object> = {
      'no title': { title: undefined },
      'an empty title': { title: '' },
      'a title of spaces': { title: '   ' },
      'a title of two lines': { title: 'a\nb' },
      'a title of 256': { title: 'x'.repeat(256) },
      'a description of 2001': { description: 'x'.repeat(2001) },
      'a location of 256': { location: 'x'.repeat(256) },
      'another visibility': { visibility: 'secret' },
      'busy as text': { busy: 'true' },
      'another fold': { fold: 'last' },
      'no start': { local_start: undefined },
      'a start with an offset': { local_start: '2026-06-01T09:00Z' },
      'a start without time': { local_start: '2026-06-01' },
      'fractions of a second': { local_start: '2026-06-01T09:00:00.5' },
      '30 February': { local_start: '2026-02-30T09:00' },
      'month 13': { local_start: '2026-13-01T09:00' },
      'hour 24': { local_end: '2026-06-01T24:00' },
      'second 60': { local_end: '2026-06-01T10:00:60' },
      'before 1970': { local_start: '1969-12-31T23:00' },
      'after 2100': { local_end: '2101-01-01T00:00' },
      'an unknown zone': { timezone: 'Europe/Atlantis' },
      'an offset as zone': { timezone: '+02:00' },
      'an abbreviation as zone': { timezone: 'IST' },
      'no entities': { entities: [] },
      'an entity twice': { entities: [user(newId()), user(newId())].fill(user(newId())) },
      '51 entities': { entities: Array.from({ length: 51 }, () => user(newId())) },
      'an entity of no kind': { entities: [{ entity_type: 'group', entity_id: newId() }] },
      'an entity with more': { entities: [{ ...user(newId()), name: 'x' }] },
      'an entity without id': { entities: [{ entity_type: 'space' }] },
      'something unknown': { starts_at: '2026-06-01T09:00:00Z' },
    };
    it.each(Object.entries(wrong))('%s', async (_what, fields) => {
      expectError(await book(test, by, [user(member.userId)], fields), 400, 'VALIDATION_ERROR');
    });

    it('accepts all values at their bounds', async () => {
      const event = await booked(test, by, [await room(test, tenant)], {
        title: 'x'.repeat(255),
        description: 'x'.repeat(2000),
        location: 'x'.repeat(255),
        local_start: '2100-12-31T23:59:58',
        local_end: '2100-12-31T23:59:59',
        fold: 'later',
      });
      expect(event).toMatchObject({ title: 'x'.repeat(255), fold: 'later', ends_at: '2100-12-31T23:59:59.000Z' });
    });
  });
});
