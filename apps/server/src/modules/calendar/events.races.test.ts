import { beforeAll, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { book, booked, busyOf, change, device, events, room, type Entity } from '#modules/calendar/testing/events';
import { untilBlocked } from '#test/support/database';
import { race } from '#test/support/directory';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService, type Call } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const test = useService();
const rounds = 20;
let tenant: Tenant;
let by: Call;

beforeAll(async () => {
  tenant = await createTenant(test);
  by = { token: tenant.admin.token };
});

const hour = (at: number) => ({
  local_start: `2026-06-01T${String(at).padStart(2, '0')}:00`,
  local_end: `2026-06-01T${String(at + 1).padStart(2, '0')}:00`,
});

/** Pairs of bookings that overlap for the same entity. */
function overlaps(): Promise<unknown[]> {
  return test.service.services.database.tenant(tenant.tenantId).interactive.all({
    kind: 'read',
    text: `select a.event_id, b.event_id from calendar_bookings a
      join calendar_bookings b on b.tenant_id = a.tenant_id and b.entity_id = a.entity_id and b.event_id > a.event_id
        and b.busy and a.starts_at < b.ends_at and b.starts_at < a.ends_at
      where a.tenant_id = $1 and a.busy`,
    values: [tenant.tenantId],
    prepare: false,
  });
}

describe('concurrent bookings', () => {
  it('of one time: exactly one of 50 succeeds, all others get 409', async () => {
    for (let round = 0; round < rounds; round++) {
      const hall = await room(test, tenant);
      const counts = await race(50, async () => {
        const answer = await book(test, by, [hall]);
        // Locks serialise the requests, so the constraint rejects none.
        if (answer.status === 409) expect(answer.body.details.conflicts).toHaveLength(1);
        return answer;
      });
      expect(counts).toEqual({ 201: 1, 409: 49 });
      expect((await busyOf(test, by, [hall]))[0]).toHaveLength(1);
    }
  });

  it('of three of five entities each, in any order: no deadlock and no double booking', async () => {
    const pool = await Promise.all([
      ...Array.from({ length: 3 }, () => room(test, tenant)),
      ...Array.from({ length: 2 }, () => device(test, tenant)),
    ]);
    for (let round = 0; round < rounds; round++) {
      const slot = hour(round);
      const counts = await race(50, (at) => {
        const some = Array.from({ length: 3 }, (_, step) => pool[(at * (1 + (at % 2)) + step * (1 + (at % 3))) % 5]!);
        const entities = [...new Set(at % 2 === 0 ? some : some.toReversed())];
        return book(test, by, entities, slot);
      });
      expect(Object.keys(counts)).toEqual(['201', '409']);
      expect(counts[201]! + counts[409]!).toBe(50);
    }
    expect(await overlaps()).toEqual([]);
  });

  it('of different entities do not conflict', async () => {
    const halls = await Promise.all(Array.from({ length: 50 }, () => room(test, tenant)));
    expect(await race(50, (at) => book(test, by, [halls[at]!]))).toEqual({ 201: 50 });
  });
});

describe('concurrent moves', () => {
  it('to one time: exactly one of 50 succeeds', async () => {
    for (let round = 0; round < rounds; round++) {
      const [hall, other] = [await room(test, tenant), await room(test, tenant)];
      const day = (at: number) => ({ local_start: `2026-07-01T00:${at}`, local_end: `2026-07-01T00:${at}:30` });
      const made = await Promise.all(Array.from({ length: 50 }, (_, at) => booked(test, by, [other], day(10 + at))));
      const moved = await race(50, (at) => change(test, by, made[at]!['id'], { entities: [hall], ...hour(9) }));
      expect(moved).toEqual({ 200: 1, 409: 49 });
      expect((await busyOf(test, by, [hall]))[0]).toHaveLength(1);
    }
  });

  it('of one event and its entities: the result of one of them stays', async () => {
    const event = await booked(test, by, [await room(test, tenant)]);
    const halls = await Promise.all(Array.from({ length: 4 }, () => room(test, tenant)));
    for (let round = 0; round < rounds; round++) {
      const counts = await race(24, (at) => {
        const body = at % 2 === 0 ? hour(at % 5) : { entities: [halls[at % 4]!, halls[(at + round) % 4]!] };
        return change(test, by, event['id'], 'entities' in body ? { entities: distinctOf(body.entities) } : body);
      });
      // A request that loses five times in a row gets 409.
      expect(Object.keys(counts).filter((status) => status !== '200' && status !== '409')).toEqual([]);
      expect(counts[200]).toBeGreaterThanOrEqual(12);
      const now = (await test.call('GET', `${events}/${event['id']}`, by)).body.data;
      const slot = [[now.starts_at, now.ends_at]];
      const range = { from: '2026-05-31T00:00:00Z', to: '2026-06-03T00:00:00Z' };
      const busy = await busyOf(test, by, halls, range);
      const isBooked = (hall: Entity) => now.entities.some((each: Entity) => each.entity_id === hall.entity_id);
      expect(busy).toEqual(halls.map((hall) => (isBooked(hall) ? slot : [])));
    }
  });

  it('of the time only, while other entities are booked: those stay booked', async () => {
    const [hall, other] = [await room(test, tenant), await room(test, tenant)];
    const event = await booked(test, by, [hall]);
    let moving: ReturnType<typeof change> | undefined;
    await test.service.services.database.tenant(tenant.tenantId).transaction(async (tx) => {
      const run = (text: string, ...values: string[]) => tx.all({ kind: 'write', text, values, prepare: false });
      await run('select from spaces where tenant_id = $1 and id = $2 for update', tenant.tenantId, hall.entity_id);
      moving = change(test, by, event['id'], hour(12));
      await untilBlocked(tx);
      await run(
        'update calendar_bookings set entity_id = $3 where tenant_id = $1 and event_id = $2',
        tenant.tenantId,
        event['id'],
        other.entity_id,
      );
    });
    expect((await moving)?.body.data).toMatchObject({ local_start: '2026-06-01T12:00:00', entities: [other] });
  });

  it('into each other’s times: never both, and at least one if its time is free', async () => {
    for (let round = 0; round < rounds; round++) {
      const [hall, projector] = [await room(test, tenant), await device(test, tenant)];
      const first = await booked(test, by, [hall]);
      const second = await booked(test, by, [projector]);
      const [one, two] = await Promise.all([
        change(test, by, first['id'], { entities: [hall, projector] }),
        change(test, by, second['id'], { entities: [projector, hall] }),
      ]);
      expect([one.status, two.status]).toEqual([409, 409]);
    }
    expect(await overlaps()).toEqual([]);
  });
});

describe('concurrent deletions', () => {
  it('delete an event once, for 50 requests', async () => {
    const event = await booked(test, by, [await room(test, tenant)]);
    expect(await race(50, () => test.call('DELETE', `${events}/${event['id']}`, by))).toEqual({ 204: 1, 404: 49 });
  });

  it('of spaces, while they are booked, rebooked and released: no 5xx, and no event without an entity', async () => {
    for (let round = 0; round < rounds; round++) {
      const [a, b] = [await room(test, tenant), await room(test, tenant)];
      const event = await booked(test, by, [a, b]);
      const other = await booked(test, by, [b], hour(20));
      const calls = [
        () => test.call('DELETE', `/api/v1/secure/spaces/${a.entity_id}`, by),
        () => test.call('DELETE', `/api/v1/secure/spaces/${b.entity_id}`, by),
        () => change(test, by, event['id'], hour(11)),
        () => change(test, by, other['id'], { entities: [a, b] }),
        () => book(test, by, [b, a], hour(15)),
        () => book(test, by, [a], hour(16)),
        () => test.call('DELETE', `${events}/${event['id']}`, by),
      ];
      const counts = await race(calls.length * 3, (at) => calls[(at + round) % calls.length]!());
      expect(Object.keys(counts).filter((status) => Number(status) >= 500)).toEqual([]);
    }
    const empty = await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'read',
      text: `select id from calendar_events e where tenant_id = $1
        and not exists (select from calendar_bookings b where b.tenant_id = e.tenant_id and b.event_id = e.id)`,
      values: [tenant.tenantId],
      prepare: false,
    });
    expect(empty).toEqual([]);
  });
});

describe('the database constraints', () => {
  const insert = async (entity: Entity, [start, end]: readonly [string, string], busy = true) => {
    const id = newId();
    const db = test.service.services.database.tenant(tenant.tenantId);
    const times = [`2026-06-01T${start}Z`, `2026-06-01T${end}Z`];
    await db.interactive.batch([
      {
        kind: 'write',
        text: `insert into calendar_events (tenant_id, id, title, visibility, busy, local_start, local_end, timezone, fold,
            starts_at, ends_at, organizer_type, organizer_id, created_at, updated_at)
          values ($1, $2, 'Past the service', 'default', $5, '', '', 'UTC', 'earlier', $3, $4, 'user', $2, $3, $3)`,
        values: [tenant.tenantId, id, ...times, busy],
        prepare: false,
      },
      {
        kind: 'write',
        text: `insert into calendar_bookings (tenant_id, event_id, entity_type, entity_id, starts_at, ends_at, busy)
          values ($1, $2, $3, $4, $5, $6, $7)`,
        values: [tenant.tenantId, id, entity.entity_type, entity.entity_id, ...times, busy],
        prepare: false,
      },
    ]);
  };

  it('refuse a double booking by any client', async () => {
    const hall = await room(test, tenant);
    await insert(hall, ['09:00', '10:00']);
    await insert(hall, ['10:00', '11:00']);
    await insert(hall, ['09:00', '10:00'], false);
    for (const slot of [
      ['09:00', '10:00'],
      ['09:59:59', '12:00'],
      ['08:00', '12:00'],
    ] as const) {
      await expect(insert(hall, slot)).rejects.toMatchObject({
        code: '23P01',
        constraint: 'calendar_bookings_no_overlap',
      });
    }
  });

  it('refuse an event that is longer than the interval that queries look back', async () => {
    const hall = await room(test, tenant);
    const db = test.service.services.database.tenant(tenant.tenantId);
    const event = await booked(test, by, [hall]);
    const longer = db.interactive.all({
      kind: 'write',
      text: `update calendar_events set ends_at = starts_at + interval '32 days 1 second' where tenant_id = $1 and id = $2`,
      values: [tenant.tenantId, event['id']],
      prepare: false,
    });
    await expect(longer).rejects.toMatchObject({ constraint: 'calendar_events_length' });
  });
});

const distinctOf = (entities: readonly Entity[]) => [
  ...new Map(entities.map((each) => [each.entity_id, each])).values(),
];
