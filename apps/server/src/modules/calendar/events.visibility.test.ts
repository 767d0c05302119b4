import { beforeAll, describe, expect, it } from 'vitest';

import { book, booked, calendar, change, events, room, user, type Entity } from '#modules/calendar/testing/events';
import { appOf, keyOf } from '#test/support/directory';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
const flags = { calendar: { events: true } };
const withPeople = { ...flags, users: { read: true } };
let tenant: Tenant;
let organizer: Person;
let guest: Person;
let callers: Record<string, Call>;
let hall: Entity;

beforeAll(async () => {
  tenant = await createTenant(test);
  organizer = await createMember(test, tenant, { permissions: ['calendar.manage'] });
  guest = await createMember(test, tenant);
  const bystander = await createMember(test, tenant, { permissions: ['users.manage', 'spaces.manage'] });
  const manager = await createMember(test, tenant, { permissions: ['calendar.manage'] });
  callers = {
    organizer: { token: organizer.token },
    guest: { token: guest.token },
    bystander: { token: bystander.token },
    manager: { token: manager.token },
    administrator: { token: tenant.admin.token },
    key: await keyOf(test, tenant, flags),
    'key with people': await keyOf(test, tenant, withPeople),
    app: await appOf(test, tenant, flags),
    'app with people': await appOf(test, tenant, withPeople),
  };
  hall = await room(test, tenant);
});

let day = 0;
const nextDay = () => {
  day += 1;
  const date = Temporal.PlainDate.from('2026-06-01').add({ days: day }).toString();
  return { local_start: `${date}T09:00`, local_end: `${date}T10:00` };
};
const secret = { title: 'Secret title', description: 'Secret words', location: 'Secret place' };
const june = 'from=2026-06-01T00:00:00Z&to=2026-12-01T00:00:00Z&limit=200';

type Access = 'all' | 'slot' | 'nothing';

/** What each caller sees of one event: when they get it, in lists, and in a search for its title. */
async function accessByCaller(id: string): Promise<Record<string, Access>> {
  const results: Record<string, Access> = {};
  for (const [name, by] of Object.entries(callers)) {
    const one = await test.call('GET', `${events}/${id}`, by);
    const list = await test.call('GET', `${events}?${june}`, by);
    const search = await test.call('GET', `${events}?${june}&search=secret%20title`, by);
    const listed = list.body.data.find((event: { id: string }) => event.id === id);
    const isFound = search.body.data.some((event: { id: string }) => event.id === id);
    results[name] = accessOf(one.status === 200 ? one.body.data : undefined);
    expect([name, accessOf(listed), isFound]).toEqual([name, results[name], results[name] === 'all']);
  }
  return results;
}

function accessOf(event: Record<string, unknown> | undefined): Access {
  if (event === undefined) return 'nothing';
  const { title, description, location } = event;
  if (title === null) {
    expect([description, location, JSON.stringify(event)]).toEqual([null, null, expect.not.stringContaining('Secret')]);
    return 'slot';
  }
  expect({ title, description, location }).toEqual(secret);
  return 'all';
}

const everyCaller = (access: Access) => Object.fromEntries(Object.keys(callers).map((name) => [name, access]));
const privileged = { organizer: 'all', manager: 'all', administrator: 'all' };

describe('visibility of an event', () => {
  it('an event of a space: every user reads the details', async () => {
    const event = await booked(test, callers['organizer']!, [hall], { ...secret, ...nextDay() });
    expect(await accessByCaller(event['id'])).toEqual(everyCaller('all'));
  });

  it('a private event: the organizer, booked users and calendar managers read the details; others see the time', async () => {
    const fields = { ...secret, ...nextDay(), visibility: 'private' };
    const event = await booked(test, callers['organizer']!, [hall, user(guest.userId)], fields);
    expect(await accessByCaller(event['id'])).toEqual({ ...everyCaller('slot'), ...privileged, guest: 'all' });
  });

  it('an event of users only: the same; keys and app accounts that cannot see users get 404', async () => {
    const event = await booked(test, callers['organizer']!, [user(guest.userId)], { ...secret, ...nextDay() });
    const blind = { key: 'nothing', app: 'nothing' };
    expect(await accessByCaller(event['id'])).toEqual({
      ...everyCaller('slot'),
      ...privileged,
      ...blind,
      guest: 'all',
    });
    for (const name of ['key', 'app']) {
      const by = callers[name]!;
      expectError(await change(test, by, event['id'], { title: 'x' }), 404, 'NOT_FOUND');
      expectError(await test.call('DELETE', `${events}/${event['id']}`, by), 404, 'NOT_FOUND');
    }
  });

  it('an API key reads the details of its own events, private or not', async () => {
    const event = await booked(test, callers['key']!, [hall], { ...secret, ...nextDay(), visibility: 'private' });
    const seen = { ...everyCaller('slot'), manager: 'all', organizer: 'all', administrator: 'all', key: 'all' };
    expect(await accessByCaller(event['id'])).toEqual(seen);
    expect(event['organizer']).toEqual({ type: 'api_key', id: expect.any(String) });
  });

  it('booked users are listed only for callers that may see users', async () => {
    const event = await booked(test, callers['organizer']!, [hall, user(guest.userId)], nextDay());
    for (const [name, by] of Object.entries(callers)) {
      const entities = name === 'key' || name === 'app' ? [hall] : [hall, user(guest.userId)];
      const answer = await test.call('GET', `${events}/${event['id']}`, by);
      expect([name, answer.body.data.entities]).toEqual([name, entities]);
    }
  });
});

describe('changes by keys and app accounts', () => {
  it('apply only to events that they created', async () => {
    for (const name of ['key with people', 'app with people']) {
      const by = callers[name]!;
      const own = await booked(test, by, [hall], nextDay());
      expect((await change(test, by, own['id'], { title: 'New' })).status).toBe(200);
      expect((await test.call('DELETE', `${events}/${own['id']}`, by)).status).toBe(204);
      const other = name.startsWith('key') ? callers['app']! : callers['key']!;
      for (const creator of [callers['guest']!, other]) {
        const { id } = await booked(test, creator, [hall], nextDay());
        expectError(
          await change(test, by, id, { title: 'New' }),
          403,
          'AUTHORIZATION_ERROR',
          'EVENT_CHANGE_NOT_ALLOWED',
        );
        const deleted = await test.call('DELETE', `${events}/${id}`, by);
        expectError(deleted, 403, 'AUTHORIZATION_ERROR', 'EVENT_CHANGE_NOT_ALLOWED');
      }
    }
  });

  it('cannot book users', async () => {
    for (const name of ['key', 'key with people', 'app', 'app with people']) {
      const answer = await book(test, callers[name]!, [hall, user(guest.userId)], nextDay());
      expectError(answer, 403, 'AUTHORIZATION_ERROR', 'USER_BOOKING_NOT_ALLOWED');
    }
  });
});

describe('the flag `free_busy` alone', () => {
  it('reveals busy times, but no titles', async () => {
    const permissions = { calendar: { free_busy: true }, users: { read: true } };
    const event = await booked(test, callers['organizer']!, [hall], { ...secret, ...nextDay() });
    for (const by of [await keyOf(test, tenant, permissions), await appOf(test, tenant, permissions)]) {
      const range = { from: '2026-06-01T00:00:00Z', to: '2026-07-01T00:00:00Z' };
      const answers = [
        await test.call('GET', calendar, by),
        await test.call('POST', `${calendar}/free-busy`, { ...by, body: { entities: [hall], ...range } }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers[1]!.body.data[0].busy.length).toBeGreaterThan(0);
      const refused = [
        await test.call('GET', `${events}?${june}`, by),
        await test.call('GET', `${events}/${event['id']}`, by),
        await book(test, by, [hall], nextDay()),
        await change(test, by, event['id'], { title: 'x' }),
        await test.call('DELETE', `${events}/${event['id']}`, by),
      ];
      for (const answer of refused) expectError(answer, 403, 'AUTHORIZATION_ERROR');
      for (const { text } of [...answers, ...refused]) expect(text).not.toContain('Secret');
    }
  });
});
