import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { booked, busyOf, calendar, device, room, user, type Entity } from '#modules/calendar/testing/events';
import { appOf, keyOf } from '#test/support/directory';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let member: Person;
let admin: Call;
let by: Call;
let hall: Entity;

beforeAll(async () => {
  tenant = await createTenant(test);
  member = await createMember(test, tenant);
  admin = { token: tenant.admin.token };
  by = { token: member.token };
  hall = await room(test, tenant, { name: 'Hall', description: 'with a piano', timezone: 'Europe/Berlin' });
});

const list = (caller: Call, query: object = {}, headers = {}) =>
  test.call('GET', `${calendar}/?${new URLSearchParams(query as Record<string, string>).toString()}`, {
    ...caller,
    headers: { ...caller.headers, ...headers },
  });
const freeBusy = (caller: Call, body: object) => test.call('POST', `${calendar}/free-busy`, { ...caller, body });
const week = { from: '2026-06-01T00:00:00Z', to: '2026-06-08T00:00:00Z' };

describe('listCalendars', () => {
  let own: Tenant;
  let person: Person;
  let records: { space: Entity; resource: Entity };

  beforeAll(async () => {
    own = await createTenant(test);
    person = await createMember(test, own);
    records = {
      space: await room(test, own, { name: 'Beta', description: 'Canteen', timezone: 'Asia/Tokyo' }),
      resource: await device(test, own, { name: 'alpha', serial: 'SN-1' }),
    };
    await room(test, own, { name: 'Archived', status: 'archived' });
    await device(test, own, { name: 'Archived', status: 'archived' });
    const gone = await createMember(test, own);
    const suspended = await createMember(test, own);
    await test.call('DELETE', `/api/v1/secure/users/${gone.userId}`, { token: own.admin.token });
    const body = { status: 'suspended' };
    await test.call('PATCH', `/api/v1/secure/users/${suspended.userId}`, { token: own.admin.token, body });
  });

  const accessesOf = async (caller: Call) => {
    const { body } = await list(caller);
    const of = (id: string) => body.data.find((each: { id: string }) => each.id === id)?.access;
    const { space, resource } = records;
    return [of(space.entity_id), of(resource.entity_id), of(person.userId), of(own.admin.userId), body.total];
  };

  it('200: spaces, resources and users by name, without those that cannot be booked', async () => {
    const answer = await list({ token: person.token });
    expect(answer.status).toBe(200);
    expect(answer.body.total).toBe(4);
    const names = answer.body.data.map(({ name }: { name: string }) => name.toLowerCase());
    expect(names).toEqual(names.toSorted());
    expect(names).toEqual(expect.arrayContaining(['alpha', 'beta']));
    expect(answer.body.data).toContainEqual({
      id: records.space.entity_id,
      name: 'Beta',
      entity_type: 'space',
      entity_id: records.space.entity_id,
      timezone: 'Asia/Tokyo',
      access: 'write',
      color: null,
    });
  });

  it('200: access: users write in their own calendar, and with the permission in all', async () => {
    const manager = await createMember(test, own, { permissions: ['calendar.manage'] });
    expect(await accessesOf({ token: person.token })).toEqual(['write', 'write', 'write', 'free_busy', 5]);
    expect(await accessesOf({ token: manager.token })).toEqual(['write', 'write', 'write', 'write', 5]);
    expect(await accessesOf({ token: own.admin.token })).toEqual(['write', 'write', 'write', 'write', 5]);
    await test.call('DELETE', `/api/v1/secure/users/${manager.userId}`, { token: own.admin.token });
  });

  it('200: keys and app accounts see users with `users.read`, and write with `calendar.events`', async () => {
    const users = { read: true };
    for (const as of [keyOf, appOf]) {
      const see = async (permissions: object) => accessesOf(await as(test, own, permissions));
      const none = [undefined, undefined];
      expect(await see({ calendar: { events: true } })).toEqual(['write', 'write', ...none, 2]);
      expect(await see({ calendar: { free_busy: true } })).toEqual(['free_busy', 'free_busy', ...none, 2]);
      expect(await see({ calendar: { events: true }, users })).toEqual(['write', 'write', 'free_busy', 'free_busy', 4]);
      expect(await see({ calendar: { free_busy: true }, users })).toEqual([...Array(4).fill('free_busy'), 4]);
      const people = await list(await as(test, own, { calendar: { events: true } }), { entity_type: 'user' });
      expect(people.body).toEqual({ data: [], total: 0 });
    }
  });

  it('200: of one kind, with a search in names alone, and page by page', async () => {
    const find = async (query: object) => {
      const { body } = await list({ token: person.token }, query);
      return [body.data.map(({ name }: { name: string }) => name), body.total];
    };
    expect(await find({ entity_type: 'space' })).toEqual([['Beta'], 1]);
    expect(await find({ entity_type: 'resource' })).toEqual([['alpha'], 1]);
    expect(await find({ search: 'ALPH' })).toEqual([['alpha'], 1]);
    expect(await find({ search: 'canteen' })).toEqual([[], 0]);
    expect(await find({ search: 'sn-1' })).toEqual([[], 0]);
    expect(await find({ search: '@' + own.domain })).toEqual([[], 0]);
    const names = (await find({}))[0];
    expect(await find({ limit: 1, offset: 1 })).toEqual([[names[1]], 4]);
    expect(await find({ limit: 2, offset: 3 })).toEqual([[names[3]], 4]);
    expect(await find({ offset: 4 })).toEqual([[], 4]);
  });

  it('400: an unknown kind', async () => {
    expectError(await list(by, { entity_type: 'group' }), 400, 'VALIDATION_ERROR');
  });
});

describe('findFreeBusy', () => {
  it('200: busy times in the requested order, limited to the range, adjacent bookings merged', async () => {
    const [a, b] = [await room(test, tenant), await device(test, tenant)];
    const at = (local_start: string, local_end: string) => ({ local_start, local_end });
    await booked(test, by, [a], at('2026-05-31T22:00', '2026-06-01T02:00'));
    await booked(test, by, [a, b], at('2026-06-02T09:00', '2026-06-02T10:00'));
    await booked(test, by, [a], at('2026-06-02T10:00', '2026-06-02T11:00'));
    await booked(test, by, [a], { ...at('2026-06-03T10:00', '2026-06-03T11:00'), busy: false });
    await booked(test, by, [a], at('2026-06-07T22:00', '2026-06-08T02:00'));
    const nine = '2026-06-02T09:00:00.000Z';
    expect(await busyOf(test, by, [b, a])).toEqual([
      [[nine, '2026-06-02T10:00:00.000Z']],
      [
        ['2026-06-01T00:00:00.000Z', '2026-06-01T02:00:00.000Z'],
        [nine, '2026-06-02T11:00:00.000Z'],
        ['2026-06-07T22:00:00.000Z', '2026-06-08T00:00:00.000Z'],
      ],
    ]);
    const edges = { from: '2026-06-01T02:00:00Z', to: nine };
    expect(await busyOf(test, by, [a, b], edges)).toEqual([[], []]);
  });

  it('200: busy times of users', async () => {
    await booked(test, by, [user(member.userId)], { visibility: 'private' });
    const colleague = await createMember(test, tenant);
    const slot = [['2026-06-01T09:00:00.000Z', '2026-06-01T10:00:00.000Z']];
    expect(await busyOf(test, { token: colleague.token }, [user(member.userId)])).toEqual([slot]);
  });

  it('200: busy times of a hundred entities, and of an archived one', async () => {
    const halls = await Promise.all(Array.from({ length: 100 }, () => room(test, tenant, { status: 'archived' })));
    expect(await busyOf(test, by, halls)).toEqual(halls.map(() => []));
  });

  it('200: agrees with a model of many bookings', async () => {
    const halls = [await room(test, tenant), await room(test, tenant)];
    const model = new Map(halls.map((each) => [each.entity_id, new Set<number>()]));
    const random = fc.sample(fc.tuple(fc.nat(7 * 24 * 2 - 1), fc.integer({ min: 1, max: 30 }), fc.nat(2)), {
      seed: 7,
      numRuns: 120,
    });
    const start = Temporal.PlainDateTime.from('2026-06-01T00:00');
    for (const [half, length, which] of random) {
      const entities = which === 2 ? halls : [halls[which]!];
      const wanted = Array.from({ length }, (_, at) => half + at);
      const isFree = entities.every((each) => wanted.every((at) => !model.get(each.entity_id)!.has(at)));
      const answer = await test.call('POST', `${calendar}/events`, {
        ...by,
        body: {
          title: 'Model',
          timezone: 'UTC',
          entities,
          local_start: start.add({ minutes: half * 30 }).toString(),
          local_end: start.add({ minutes: (half + length) * 30 }).toString(),
        },
      });
      expect(answer.status).toBe(isFree ? 201 : 409);
      if (isFree) for (const each of entities) for (const at of wanted) model.get(each.entity_id)!.add(at);
    }
    for (const [from, to] of fc.sample(fc.tuple(fc.nat(300), fc.integer({ min: 301, max: 400 })), {
      seed: 7,
      numRuns: 50,
    })) {
      const range = { from: momentOf(start, from), to: momentOf(start, to) };
      const expected = halls.map((each) =>
        slotsOf(model.get(each.entity_id)!, from, to).map((slot) => slot.map((at) => momentOf(start, at))),
      );
      expect(await busyOf(test, by, halls, range)).toEqual(expected);
    }
  });

  it('404: unknown entities, and users for a credential that cannot see users', async () => {
    const other = await createTenant(test);
    for (const entity of [
      user(newId()),
      { ...hall, entity_type: 'resource' },
      user(other.admin.userId),
      await room(test, other),
    ]) {
      const answer = await freeBusy(admin, { entities: [hall, entity], ...week });
      expectError(answer, 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
    }
    const [key, seeing] = [
      await keyOf(test, tenant, { calendar: { free_busy: true } }),
      await keyOf(test, tenant, { calendar: { free_busy: true }, users: { read: true } }),
    ];
    const body = { entities: [user(member.userId)], ...week };
    expectError(await freeBusy(key, body), 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
    expect((await freeBusy(seeing, body)).status).toBe(200);
    const gone = await createMember(test, tenant);
    await test.call('DELETE', `/api/v1/secure/users/${gone.userId}`, admin);
    expectError(
      await freeBusy(admin, { entities: [user(gone.userId)], ...week }),
      404,
      'NOT_FOUND',
      'ENTITY_NOT_FOUND',
    );
  });

  it('422: a range that is empty or longer than 62 days', async () => {
    const empty = await freeBusy(by, { entities: [hall], from: week.to, to: week.from });
    expectError(empty, 422, 'UNPROCESSABLE_ENTITY', 'END_NOT_AFTER_START');
    const long = await freeBusy(by, { entities: [hall], from: week.from, to: '2026-08-02T00:00:00.001Z' });
    expectError(long, 422, 'UNPROCESSABLE_ENTITY', 'RANGE_TOO_LONG');
    expect((await freeBusy(by, { entities: [hall], from: week.from, to: '2026-08-02T00:00:00Z' })).status).toBe(200);
  });

  it('400: invalid bodies', async () => {
    const many = Array.from({ length: 101 }, () => user(newId()));
    for (const body of [
      { entities: [hall] },
      { entities: [], ...week },
      { entities: many, ...week },
      { entities: [hall, hall], ...week },
      { entities: [hall], ...week, from: '2026-06-01T00:00' },
      { entities: [hall], ...week, zone: 'UTC' },
    ]) {
      expectError(await freeBusy(by, body), 400, 'VALIDATION_ERROR');
    }
  });
});

describe('a deleted entity', () => {
  it('loses its bookings, and the events without other bookings are deleted', async () => {
    const person = await createMember(test, tenant);
    const kept = await room(test, tenant);
    const gone = [await room(test, tenant), await device(test, tenant), user(person.userId)];
    const paths = { space: 'spaces', resource: 'resources', user: 'users' };
    for (const [at, entity] of gone.entries()) {
      const day = { local_start: `2026-06-0${at + 1}T09:00`, local_end: `2026-06-0${at + 1}T10:00` };
      const alone = await booked(test, admin, [entity], day);
      const shared = await booked(test, admin, [entity, kept], {
        local_start: `2026-06-1${at}T09:00`,
        local_end: `2026-06-1${at}T10:00`,
      });
      const url = `/api/v1/secure/${paths[entity.entity_type]}/${entity.entity_id}`;
      expect((await test.call('DELETE', url, admin)).status).toBe(204);
      expectError(await test.call('GET', `${calendar}/events/${alone['id']}`, admin), 404, 'NOT_FOUND');
      const left = await test.call('GET', `${calendar}/events/${shared['id']}`, admin);
      expect(left.body.data.entities).toEqual([kept]);
    }
    const [rows] = await test.service.services.database.tenant(tenant.tenantId).interactive.batch([
      {
        kind: 'read',
        text: 'select 1 from calendar_bookings where tenant_id = $1 and entity_id = any($2::uuid[])',
        values: [tenant.tenantId, gone.map(({ entity_id }) => entity_id)],
        prepare: false,
      },
    ]);
    expect(rows).toEqual([]);
  });
});

function momentOf(start: Temporal.PlainDateTime, half: number): string {
  return start
    .add({ minutes: half * 30 })
    .toZonedDateTime('UTC')
    .toInstant()
    .toString({ smallestUnit: 'millisecond' });
}

/** The busy times that consecutive half hours form. */
function slotsOf(taken: ReadonlySet<number>, from: number, to: number): [number, number][] {
  const slots: [number, number][] = [];
  for (let at = from; at < to; at++) {
    if (!taken.has(at)) continue;
    const last = slots.at(-1);
    if (last?.[1] === at) last[1] = at + 1;
    else slots.push([at, at + 1]);
  }
  return slots;
}
