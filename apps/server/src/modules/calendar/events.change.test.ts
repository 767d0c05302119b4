import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { booked, busyOf, change, eventOf, events, room, user } from '#modules/calendar/testing/events';
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
const remove = (id: string, caller: Call = by) => test.call('DELETE', `${events}/${id}`, caller);

describe('updateEvent', () => {
  describe('200', () => {
    it('changes only texts, and records them in the audit trail', async () => {
      const event = await booked(test, by, [await room(test, tenant)], { description: 'old' });
      const answer = await change(test, by, event['id'], { title: 'New', description: null, visibility: 'private' });
      expect(answer.status).toBe(200);
      expect(answer.body.data).toEqual({
        ...event,
        title: 'New',
        description: null,
        visibility: 'private',
        updated_at: expect.any(String),
      });
      expect(answer.body.data.updated_at > event['updated_at']).toBe(true);
      const [, updated] = await trailOf(test, tenant.tenantId, event['id']);
      expect(updated).toMatchObject({
        action: 'calendar_event.updated',
        details: { fields: ['title', 'description', 'visibility'] },
      });
    });

    it('moves the event: the old time is free, the new one is busy', async () => {
      const hall = await room(test, tenant);
      const event = await booked(test, by, [hall]);
      const moved = { local_start: '2026-06-01T09:30', local_end: '2026-06-01T10:30' };
      expect((await change(test, by, event['id'], moved)).status).toBe(200);
      expect(await busyOf(test, by, [hall])).toEqual([[['2026-06-01T09:30:00.000Z', '2026-06-01T10:30:00.000Z']]]);
    });

    it('keeps the local time if only the zone changes', async () => {
      const hall = await room(test, tenant);
      const event = await booked(test, by, [hall]);
      const answer = await change(test, by, event['id'], { timezone: 'America/New_York' });
      expect(answer.body.data).toMatchObject({
        local_start: '2026-06-01T09:00:00',
        timezone: 'America/New_York',
        starts_at: '2026-06-01T13:00:00.000Z',
      });
      expect(await busyOf(test, by, [hall])).toEqual([[['2026-06-01T13:00:00.000Z', '2026-06-01T14:00:00.000Z']]]);
    });

    it('books other entities, and blocks the time only if busy', async () => {
      const [hall, other] = [await room(test, tenant), await room(test, tenant)];
      const event = await booked(test, by, [hall]);
      const answer = await change(test, by, event['id'], { entities: [other] });
      expect(answer.body.data.entities).toEqual([other]);
      const slot = [['2026-06-01T09:00:00.000Z', '2026-06-01T10:00:00.000Z']];
      expect(await busyOf(test, by, [hall, other])).toEqual([[], slot]);
      await change(test, by, event['id'], { busy: false });
      expect(await busyOf(test, by, [other])).toEqual([[]]);
      await change(test, by, event['id'], { busy: true });
      expect(await busyOf(test, by, [other])).toEqual([slot]);
    });

    it('keeps the fold of a repeated local time', async () => {
      const twice = { local_start: '2026-10-25T02:10', local_end: '2026-10-25T02:50', timezone: 'Europe/Berlin' };
      const event = await booked(test, by, [await room(test, tenant)], { ...twice, fold: 'later' });
      const longer = await change(test, by, event['id'], { local_end: '2026-10-25T02:59' });
      expect(longer.body.data).toMatchObject({ fold: 'later', starts_at: '2026-10-25T01:10:00.000Z' });
      const earlier = await change(test, by, event['id'], { fold: 'earlier' });
      expect(earlier.body.data).toMatchObject({ fold: 'earlier', starts_at: '2026-10-25T00:10:00.000Z' });
    });

    it('changes nothing for an empty patch', async () => {
      const event = await booked(test, by, [await room(test, tenant)]);
      expect((await change(test, by, event['id'], {})).body.data).toEqual(event);
      expect(await trailOf(test, tenant.tenantId, event['id'])).toHaveLength(1);
    });

    it('changes texts if an entity has been archived since; a new time is refused', async () => {
      const hall = await room(test, tenant);
      const event = await booked(test, by, [hall]);
      const body = { status: 'archived' };
      await test.call('PATCH', `/api/v1/secure/spaces/${hall.entity_id}`, { ...admin, body });
      expect((await change(test, by, event['id'], { title: 'New' })).status).toBe(200);
      const moved = await change(test, by, event['id'], { local_end: '2026-06-01T11:00' });
      expectError(moved, 422, 'UNPROCESSABLE_ENTITY', 'ENTITY_NOT_BOOKABLE');
    });
  });

  it('409: changes nothing', async () => {
    const [hall, other] = [await room(test, tenant), await room(test, tenant)];
    const event = await booked(test, by, [hall]);
    const second = await booked(test, by, [hall, other], {
      local_start: '2026-06-01T11:00',
      local_end: '2026-06-01T12:00',
    });
    const conflicting = [
      [second['id'], { title: 'New', local_start: '2026-06-01T09:59' }],
      [event['id'], { title: 'New', entities: [other], local_end: '2026-06-01T11:01' }],
      [event['id'], { title: 'New', timezone: 'Etc/GMT+2' }],
    ] as const;
    for (const [id, body] of conflicting) {
      const before = (await get(id)).body;
      expectError(await change(test, by, id, body), 409, 'CONFLICT', 'SLOT_TAKEN');
      expect((await get(id)).body).toEqual(before);
      expect(await trailOf(test, tenant.tenantId, id)).toHaveLength(1);
    }
    const quiet = await booked(test, by, [hall], { busy: false });
    expectError(await change(test, by, quiet['id'], { busy: true }), 409, 'CONFLICT', 'SLOT_TAKEN');
  });

  it('403: not the organizer; 200 for calendar managers and administrators', async () => {
    const event = await booked(test, by, [await room(test, tenant)]);
    const colleague = await createMember(test, tenant);
    const manager = await createMember(test, tenant, { permissions: ['calendar.manage'] });
    const body = { title: 'Mine' };
    const refused = await change(test, { token: colleague.token }, event['id'], body);
    expectError(refused, 403, 'AUTHORIZATION_ERROR', 'EVENT_CHANGE_NOT_ALLOWED');
    expect((await get(event['id'])).body.data.title).toBe('Meeting');
    expect((await change(test, { token: manager.token }, event['id'], body)).status).toBe(200);
    expect((await change(test, admin, event['id'], body)).status).toBe(200);
  });

  it('403: a move that books other users, whom a calendar manager had added', async () => {
    const hall = await room(test, tenant);
    const event = await booked(test, by, [hall]);
    const others = [hall, user(tenant.admin.userId)];
    const adding = await change(test, by, event['id'], { entities: others });
    expectError(adding, 403, 'AUTHORIZATION_ERROR', 'USER_BOOKING_NOT_ALLOWED');
    expect((await change(test, admin, event['id'], { entities: others })).status).toBe(200);
    const moving = await change(test, by, event['id'], { local_end: '2026-06-01T11:00' });
    expectError(moving, 403, 'AUTHORIZATION_ERROR', 'USER_BOOKING_NOT_ALLOWED');
    expect((await change(test, by, event['id'], { title: 'New' })).status).toBe(200);
    expect((await change(test, by, event['id'], { entities: [hall] })).status).toBe(200);
  });

  it('404: an unknown event, and unknown entities', async () => {
    const event = await booked(test, by, [await room(test, tenant)]);
    expectError(await change(test, by, newId(), { title: 'New' }), 404, 'NOT_FOUND');
    expectError(await change(test, by, newId(), {}), 404, 'NOT_FOUND');
    const entities = [{ entity_type: 'space', entity_id: newId() }];
    expectError(await change(test, by, event['id'], { entities }), 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
  });

  it('422: times that are invalid in combination with the stored ones', async () => {
    const event = await booked(test, by, [await room(test, tenant)]);
    const cases = [
      [{ local_end: '2026-06-01T09:00' }, 'END_NOT_AFTER_START'],
      [{ local_end: '2026-07-03T09:00' }, 'EVENT_TOO_LONG'],
      [{ local_start: '2026-03-29T02:30', timezone: 'Europe/Berlin' }, 'LOCAL_TIME_DOES_NOT_EXIST'],
    ] as const;
    for (const [body, reason] of cases) {
      expectError(await change(test, by, event['id'], body), 422, 'UNPROCESSABLE_ENTITY', reason);
    }
  });

  it('400: null for required fields', async () => {
    const event = await booked(test, by, [await room(test, tenant)]);
    for (const name of Object.keys(eventOf([])).concat('busy', 'visibility', 'fold')) {
      expectError(await change(test, by, event['id'], { [name]: null }), 400, 'VALIDATION_ERROR');
    }
  });
});

describe('deleteEvent', () => {
  it('204: the time becomes free', async () => {
    const hall = await room(test, tenant);
    const event = await booked(test, by, [hall]);
    expect((await remove(event['id'])).status).toBe(204);
    expectError(await get(event['id']), 404, 'NOT_FOUND');
    expectError(await remove(event['id']), 404, 'NOT_FOUND');
    expect(await busyOf(test, by, [hall])).toEqual([[]]);
    await booked(test, by, [hall]);
    expect((await trailOf(test, tenant.tenantId, event['id'])).at(-1)).toMatchObject({
      action: 'calendar_event.deleted',
    });
  });

  it('403: not the organizer; 204 for calendar managers', async () => {
    const event = await booked(test, admin, [await room(test, tenant)]);
    expectError(await remove(event['id']), 403, 'AUTHORIZATION_ERROR', 'EVENT_CHANGE_NOT_ALLOWED');
    const manager = await createMember(test, tenant, { permissions: ['calendar.manage'] });
    expect((await remove(event['id'], { token: manager.token })).status).toBe(204);
  });
});
