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

type Sight = 'all' | 'slot' | 'nothing';

/** What each caller sees of one event, in itself and in lists, with and without a search for its title. */
async function sightsOf(id: string): Promise<Record<string, Sight>> {
  const sights: Record<string, Sight> = {};
  for (const [name, by] of Object.entries(callers)) {
    const one = await test.call('GET', `${events}/${id}`, by);
    const list = await test.call('GET', `${events}?${june}`, by);
    const search = await test.call('GET', `${events}?${june}&search=secret%20title`, by);
    const listed = list.body.data.find((event: { id: string }) => event.id === id);
    const isFound = search.body.data.some((event: { id: string }) => event.id === id);
    sights[name] = sightOf(one.status === 200 ? one.body.data : undefined);
    expect([name, sightOf(listed), isFound]).toEqual([name, sights[name], sights[name] === 'all']);
  }
  return sights;
}

function sightOf(event: Record<string, unknown> | undefined): Sight {
  if (event === undefined) return 'nothing';
  const { title, description, location } = event;
  if (title === null) {
    expect([description, location, JSON.stringify(event)]).toEqual([null, null, expect.not.stringContaining('Secret')]);
    return 'slot';
  }
  expect({ title, description, location }).toEqual(secret);
  return 'all';
}

const everybody = (sight: Sight) => Object.fromEntries(Object.keys(callers).map((name) => [name, sight]));
const insiders = { organizer: 'all', manager: 'all', administrator: 'all' };

describe('who sees what of an event', () => {
  it('of a space: everybody everything', async () => {
    const event = await booked(test, callers['organizer']!, [hall], { ...secret, ...nextDay() });
    expect(await sightsOf(event['id'])).toEqual(everybody('all'));
  });

  it('that is private: who organizes it, who is in it and who manages calendars; others the slot', async () => {
    const fields = { ...secret, ...nextDay(), visibility: 'private' };
    const event = await booked(test, callers['organizer']!, [hall, user(guest.userId)], fields);
    expect(await sightsOf(event['id'])).toEqual({ ...everybody('slot'), ...insiders, guest: 'all' });
  });

  it('of people alone: the same; for keys and app accounts that see no people there is none', async () => {
    const event = await booked(test, callers['organizer']!, [user(guest.userId)], { ...secret, ...nextDay() });
    const blind = { key: 'nothing', app: 'nothing' };
    expect(await sightsOf(event['id'])).toEqual({ ...everybody('slot'), ...insiders, ...blind, guest: 'all' });
    for (const name of ['key', 'app']) {
      const by = callers[name]!;
      expectError(await change(test, by, event['id'], { title: 'x' }), 404, 'NOT_FOUND');
      expectError(await test.call('DELETE', `${events}/${event['id']}`, by), 404, 'NOT_FOUND');
    }
  });

  it('what a key created is its own, private or not', async () => {
    const event = await booked(test, callers['key']!, [hall], { ...secret, ...nextDay(), visibility: 'private' });
    const seen = { ...everybody('slot'), manager: 'all', organizer: 'all', administrator: 'all', key: 'all' };
    expect(await sightsOf(event['id'])).toEqual(seen);
    expect(event['organizer']).toEqual({ type: 'api_key', id: expect.any(String) });
  });

  it('the people in it only who may see people', async () => {
    const event = await booked(test, callers['organizer']!, [hall, user(guest.userId)], nextDay());
    for (const [name, by] of Object.entries(callers)) {
      const entities = name === 'key' || name === 'app' ? [hall] : [hall, user(guest.userId)];
      const answer = await test.call('GET', `${events}/${event['id']}`, by);
      expect([name, answer.body.data.entities]).toEqual([name, entities]);
    }
  });
});

describe('what keys and app accounts change', () => {
  it('is what they created themselves', async () => {
    for (const name of ['key with people', 'app with people']) {
      const by = callers[name]!;
      const own = await booked(test, by, [hall], nextDay());
      expect((await change(test, by, own['id'], { title: 'New' })).status).toBe(200);
      expect((await test.call('DELETE', `${events}/${own['id']}`, by)).status).toBe(204);
      const other = name.startsWith('key') ? callers['app']! : callers['key']!;
      for (const creator of [callers['guest']!, other]) {
        const { id } = await booked(test, creator, [hall], nextDay());
        expectError(await change(test, by, id, { title: 'New' }), 403, 'AUTHORIZATION_ERROR', 'NOT_YOUR_EVENT');
        const deleted = await test.call('DELETE', `${events}/${id}`, by);
        expectError(deleted, 403, 'AUTHORIZATION_ERROR', 'NOT_YOUR_EVENT');
      }
    }
  });

  it('takes nobody’s time', async () => {
    for (const name of ['key', 'key with people', 'app', 'app with people']) {
      const answer = await book(test, callers[name]!, [hall, user(guest.userId)], nextDay());
      expectError(answer, 403, 'AUTHORIZATION_ERROR', 'OTHERS_NOT_BOOKABLE');
    }
  });
});

describe('with `free_busy` alone', () => {
  it('there is when, and nowhere a title', async () => {
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
