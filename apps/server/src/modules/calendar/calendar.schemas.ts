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
} from '#core/http/schemas';

const EntityType = Type.Enum(['space', 'resource', 'user']);
const Search = Type.Optional(Type.String({ maxLength: 200, description: 'In names.' }));

const Calendar = closed(
  {
    id: Uuid,
    name: Type.String(),
    entity_type: EntityType,
    entity_id: Uuid,
    timezone: nullable(Type.String()),
    access: Type.Enum(['free_busy', 'events', 'write']),
    color: nullable(Type.String()),
  },
  { title: 'Calendar' },
);

export const CalendarList = closed({ data: Type.Array(Calendar), total: Type.Integer() });

export const ListCalendarsQuery = Type.Object({
  ...paging,
  entity_type: Type.Optional(EntityType),
  search: Search,
});
export type ListCalendarsQuery = Static<typeof ListCalendarsQuery>;

const Entity = closed({ entity_type: EntityType, entity_id: Uuid });
const entitiesOfAtMost = (maxItems: number) => Type.Array(Entity, { minItems: 1, maxItems, uniqueItems: true });

const LocalTime = Type.String({
  format: 'local-date-time',
  pattern: '^(19[7-9]\\d|20\\d\\d|2100)-\\d\\d-\\d\\dT\\d\\d:\\d\\d(:\\d\\d)?$',
  maxLength: 19,
  description: 'What the clocks of the time zone show, from 1970 to 2100: `2026-03-29T09:00` or with seconds.',
});
const Fold = Type.Enum(['earlier', 'later'], {
  description: 'Which one is meant where the clocks show a time twice.',
});
const Visibility = Type.Enum(['default', 'private']);

const fields = {
  title: Type.String({ minLength: 1, maxLength: 255, pattern: '\\S', format: 'line' }),
  description: Type.Optional(nullable(Type.String({ maxLength: 2000 }))),
  location: Type.Optional(nullable(Type.String({ maxLength: 255, format: 'line' }))),
  visibility: Type.Optional(Visibility),
  busy: Type.Optional(Type.Boolean({ description: 'Whether the event takes the time of its entities.' })),
  local_start: LocalTime,
  local_end: LocalTime,
  timezone: TimeZone,
  fold: Type.Optional(Fold),
  entities: entitiesOfAtMost(50),
};

export const CreateEventBody = closed(fields);
export type CreateEventBody = Static<typeof CreateEventBody>;

export const UpdateEventBody = closed({
  ...fields,
  title: Type.Optional(fields.title),
  local_start: Type.Optional(LocalTime),
  local_end: Type.Optional(LocalTime),
  timezone: Type.Optional(TimeZone),
  entities: Type.Optional(fields.entities),
});
export type UpdateEventBody = Static<typeof UpdateEventBody>;

const Event = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    title: nullable(Type.String({ description: 'Null, as description and location, in events that are not for you.' })),
    description: nullable(Type.String()),
    location: nullable(Type.String()),
    visibility: Visibility,
    busy: Type.Boolean(),
    local_start: Type.String(),
    local_end: Type.String(),
    timezone: Type.String(),
    fold: Fold,
    starts_at: Timestamp,
    ends_at: Timestamp,
    entities: Type.Array(Entity),
    organizer: closed({
      type: Type.Enum(['user', 'api_key', 'app_account']),
      id: nullable(Type.String({ format: 'uuid', description: 'Null where the caller may not know people.' })),
    }),
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
  entity_id: Type.Optional(Uuid),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'In the titles that you may read.' })),
});
export type ListEventsQuery = Static<typeof ListEventsQuery>;

export const FreeBusyBody = closed({ entities: entitiesOfAtMost(100), from: Timestamp, to: Timestamp });
export type FreeBusyBody = Static<typeof FreeBusyBody>;

const Interval = closed({ starts_at: Timestamp, ends_at: Timestamp });

export const FreeBusyAnswer = listOf(
  closed({ entity_type: EntityType, entity_id: Uuid, busy: Type.Array(Interval) }, { title: 'FreeBusy' }),
);
