import { calendarSuccesses } from '#modules/calendar/testing/successes';
import type { Body, Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    findFreeBusy: ({ spaceId }) => ({
      entities: [{ entity_type: 'space', entity_id: spaceId }],
      from: '2026-06-01T00:00:00Z',
      to: '2026-06-08T00:00:00Z',
    }),
    createEvent: ({ spaceId }) => eventFields(spaceId),
    updateEvent: ({ spaceId }) => eventFields(spaceId),
  },
  ids: {
    'findFreeBusy body.entities[].entity_id': 'space',
    'listEvents query.entity_id': 'space',
    'createEvent body.entities[].entity_id': 'space',
    'getEvent params.id': 'event',
    'updateEvent params.id': 'event',
    'updateEvent body.entities[].entity_id': 'space',
    'deleteEvent params.id': 'event',
  },
  queries: {
    listEvents: '&from=2026-01-01T00:00:00Z&to=2026-12-31T00:00:00Z',
  },
  records: async ({ create, ids, secret }) => ({
    event: await create('/api/v1/secure/calendar/events', { ...eventFields(ids.space!), title: secret }),
  }),
  tools: ({ made }) => {
    const range = { from: '2026-12-01T00:00:00Z', to: '2026-12-31T00:00:00Z' };
    const event = async () => ({
      title: 'Meeting',
      local_start: '2026-12-01T09:00',
      local_end: '2026-12-01T10:00',
      timezone: 'Europe/Vienna',
      entities: [{ entity_type: 'space', entity_id: await made('spaces') }],
    });
    return {
      listCalendars: () => Promise.resolve({ limit: 3 }),
      findFreeBusy: async () => ({ ...range, entities: (await event()).entities }),
      listEvents: () => Promise.resolve(range),
      getEvent: async () => ({ id: await made('events', await event()) }),
      createEvent: event,
      updateEvent: async () => ({ id: await made('events', await event()), title: 'Party' }),
      deleteEvent: async () => ({ id: await made('events', await event()) }),
    };
  },
  successes: calendarSuccesses,
};

/** Takes no time, so that there can be any number of them. */
function eventFields(spaceId: string): Body {
  return {
    title: 'Review',
    description: 'Of everything',
    location: 'First floor',
    visibility: 'default',
    busy: false,
    local_start: '2026-06-01T09:00',
    local_end: '2026-06-01T10:00:00',
    timezone: 'Europe/Vienna',
    fold: 'earlier',
    entities: [{ entity_type: 'space', entity_id: spaceId }],
  };
}
