import Type, { type Static } from 'typebox';

import {
  TimeZone,
  Timestamp,
  Uuid,
  closed,
  dataOf,
  listOf,
  nullable,
  pageOf,
  paging,
  sortable,
} from '#core/base/schemas';

const EntityType = Type.Enum(['space', 'resource', 'user']);
const Search = Type.Optional(Type.String({ maxLength: 200, description: 'Words that must all occur in the name.' }));

const Calendar = closed(
  {
    id: Uuid,
    name: Type.String(),
    entity_type: EntityType,
    entity_id: Uuid,
    timezone: nullable(Type.String(), {
      description: 'IANA time zone of the space or resource; null if it has none, and for users.',
    }),
    access: Type.Enum(['free_busy', 'events', 'write'], {
      description: 'Access of the caller: `free_busy` reads busy times, `events` reads events, `write` also books.',
    }),
    color: nullable(Type.String(), { description: 'Color (`#rrggbb`); null if the calendar has none.' }),
  },
  { title: 'Calendar' },
);

export const CalendarList = closed({ data: Type.Array(Calendar), total: Type.Integer() });

export const ListCalendarsQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 200, description: 'Maximum number of calendars; all without it.' }),
  ),
  offset: paging.offset,
  entity_type: Type.Optional(EntityType),
  search: Search,
});
export type ListCalendarsQuery = Static<typeof ListCalendarsQuery>;

const Entity = closed({ entity_type: EntityType, entity_id: Uuid });
const upToEntities = (maxItems: number, description: string) =>
  Type.Array(Entity, { minItems: 1, maxItems, uniqueItems: true, description });

const localTime = (description: string) =>
  Type.String({
    format: 'local-date-time',
    pattern: '^(19[7-9]\\d|20\\d\\d|2100)-\\d\\d-\\d\\dT\\d\\d:\\d\\d(:\\d\\d)?$',
    maxLength: 19,
    description: `${description} in local time, from 1970 to 2100: \`2026-03-29T09:00\`, seconds optional.`,
  });
const LocalStart = localTime('Start');
const LocalEnd = localTime('End');
const Fold = Type.Enum(['earlier', 'later'], {
  description: 'Which instant is meant if a local time occurs twice, at the end of daylight saving time.',
});
const Visibility = Type.Enum(['default', 'private'], {
  description: 'Who can read the details: `private` is for the organizer, the booked users and calendar managers only.',
});

const busy = { description: 'Whether the event makes its entities busy.' };

const fields = {
  title: Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: '\\S',
    format: 'line',
    description: 'Title, on one line.',
  }),
  description: Type.Optional(nullable(Type.String({ maxLength: 2000 }))),
  location: Type.Optional(
    nullable(Type.String({ maxLength: 255, format: 'line' }), { description: 'Location as text, on one line.' }),
  ),
  visibility: Type.Optional(Visibility),
  busy: Type.Optional(Type.Boolean(busy)),
  local_start: LocalStart,
  local_end: LocalEnd,
  timezone: TimeZone,
  fold: Type.Optional(Fold),
  entities: upToEntities(50, 'Spaces, resources and users that the event books.'),
};

export const CreateEventBody = closed(fields);
export type CreateEventBody = Static<typeof CreateEventBody>;

export const UpdateEventBody = closed({
  ...fields,
  title: Type.Optional(fields.title),
  local_start: Type.Optional(LocalStart),
  local_end: Type.Optional(LocalEnd),
  timezone: Type.Optional(TimeZone),
  entities: Type.Optional(fields.entities),
});
export type UpdateEventBody = Static<typeof UpdateEventBody>;

const StartsAt = Type.String({ format: 'date-time', maxLength: 40, description: 'Start (RFC 3339, UTC).' });
const EndsAt = Type.String({ format: 'date-time', maxLength: 40, description: 'End (RFC 3339, UTC).' });

const Event = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    title: nullable(Type.String(), { description: 'Title; null if the caller must not read the details.' }),
    description: nullable(Type.String(), {
      description: 'Description; null if unset, or if the caller must not read the details.',
    }),
    location: nullable(Type.String(), {
      description: 'Location as text; null if unset, or if the caller must not read the details.',
    }),
    visibility: Visibility,
    busy: Type.Boolean(busy),
    local_start: Type.String({ description: 'Start in local time, with seconds.' }),
    local_end: Type.String({ description: 'End in local time, with seconds.' }),
    timezone: Type.String(),
    fold: Fold,
    starts_at: StartsAt,
    ends_at: EndsAt,
    entities: Type.Array(Entity, {
      description: 'Booked spaces, resources and users; users are left out if the caller must not see users.',
    }),
    organizer: closed(
      {
        type: Type.Enum(['user', 'api_key', 'app_account'], { description: 'Kind of the organizer.' }),
        id: nullable(Uuid, { description: 'Organizer, by identifier; null if the caller must not see users.' }),
      },
      { description: 'Actor that created the event.' },
    ),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'CalendarEvent' },
);

export const EventAnswer = dataOf(Event);
export const EventPage = pageOf(Event);

export const ListEventsQuery = Type.Object({
  ...paging,
  sort: sortable(['starts_at']),
  from: Timestamp,
  to: Timestamp,
  entity_type: Type.Optional(EntityType),
  entity_id: Type.Optional(
    Type.String({ format: 'uuid', description: 'Space, resource or user whose events are listed, by identifier.' }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Words that must all occur in the title; it only finds titles that the caller may read.',
    }),
  ),
});
export type ListEventsQuery = Static<typeof ListEventsQuery>;

export const FreeBusyBody = closed({
  entities: upToEntities(100, 'Spaces, resources and users whose busy times are read.'),
  from: Timestamp,
  to: Timestamp,
});
export type FreeBusyBody = Static<typeof FreeBusyBody>;

const Interval = closed({ starts_at: StartsAt, ends_at: EndsAt });

export const FreeBusyAnswer = listOf(
  closed(
    {
      entity_type: EntityType,
      entity_id: Uuid,
      busy: Type.Array(Interval, { description: 'Busy times within the range; adjacent times are merged.' }),
    },
    { title: 'FreeBusy' },
  ),
);
