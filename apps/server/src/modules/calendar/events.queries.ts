import { sql, type GeneratedAlways, type SelectQueryBuilder } from 'kysely';

import { deleteRow, insertRow, updateRow, type Update } from '#core/data/audit/audited-rows.queries';
import { lock, queryBuilder, read, searchPatterns, toRead, write, type ReadStatement } from '#core/data/db/query';
import { typed, flag, lockById, tenantTable, text, time, uuid, type ById, type RowOf } from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';
import type { Entity, EntityType } from '#modules/calendar/entities.queries';

/** Local times; `fold` decides which instant is meant if a local time occurs twice. */
export type LocalTimes = { local_start: string; local_end: string; timezone: string; fold: 'earlier' | 'later' };

const events = tenantTable('calendar_events', {
  tenant_id: uuid,
  id: uuid,
  title: text,
  description: text.orNull,
  location: text.orNull,
  visibility: typed<'default' | 'private'>(),
  busy: flag,
  local_start: text,
  local_end: text,
  timezone: text,
  fold: typed<LocalTimes['fold']>(),
  starts_at: time,
  ends_at: time,
  organizer_type: typed<'user' | 'api_key' | 'app_account'>(),
  organizer_id: uuid,
  created_at: time,
  updated_at: time,
});
type Columns = RowOf<typeof events>;
export type EventRow = Columns & { entities: Entity[] };
export type Interval = { starts_at: string; ends_at: string };
export type BookedSlot = Entity & Interval;

type Tables = {
  calendar_events: Columns;
  calendar_bookings: Entity &
    Interval & {
      tenant_id: string;
      event_id: string;
      busy: boolean;
      space_id: GeneratedAlways<string | null>;
    };
};
const builder = queryBuilder<Tables>();

// An event that overlaps a range starts at most one maximum duration before it (constraint calendar_events_length), so an
// index on the start finds it.
const earliestStart = (instant: string) => sql<string>`${instant}::timestamptz - interval '32 days'`;

const entitiesOf = (tenantId: string) =>
  sql<Entity[]>`(
    select coalesce(json_agg(json_build_object('entity_type', b.entity_type, 'entity_id', b.entity_id)
                             order by b.entity_type, b.entity_id), '[]')
    from calendar_bookings b where b.tenant_id = ${tenantId} and b.event_id = calendar_events.id)`.as('entities');

export const findEvent = read<ById, EventRow>((p) =>
  builder
    .selectFrom('calendar_events')
    .select(events.columns)
    .select(entitiesOf(p.tenantId))
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id),
);

/** The bookings of the event do not change. */
export const lockEvent = lockById(events, 'for update', 'id');

const resourceType = 'calendar_event';

export const insertEvent = insertRow(events, { action: 'calendar_event.created', resourceType }, 'id');

export type EventChanges = Partial<Omit<Columns, 'tenant_id' | 'id' | 'created_at'>>;

export const updateEvent: Update<EventChanges, { id: string }> = updateRow(
  events,
  { action: 'calendar_event.updated', resourceType },
  'id',
);

export const deleteEvent = deleteRow(events, { action: 'calendar_event.deleted', resourceType });

type Bookings = { tenantId: string; eventId: string; types: string[]; ids: string[]; busy: boolean } & {
  startsAt: string;
  endsAt: string;
};

export const insertBookings = write<Bookings, never>((p) =>
  builder
    .insertInto('calendar_bookings')
    .columns(['tenant_id', 'event_id', 'entity_type', 'entity_id', 'starts_at', 'ends_at', 'busy'])
    .expression(
      builder
        .selectFrom(sql<Entity>`unnest(${p.types}::text[], ${p.ids}::uuid[])`.as(sql`entity (entity_type, entity_id)`))
        .select([
          sql<string>`${p.tenantId}::uuid`.as('tenant_id'),
          sql<string>`${p.eventId}::uuid`.as('event_id'),
          sql<EntityType>`entity.entity_type`.as('entity_type'),
          sql<string>`entity.entity_id`.as('entity_id'),
          sql<string>`${p.startsAt}::timestamptz`.as('starts_at'),
          sql<string>`${p.endsAt}::timestamptz`.as('ends_at'),
          sql<boolean>`${p.busy}::boolean`.as('busy'),
        ]) as never,
    ),
);

export const deleteBookings = write<{ tenantId: string; eventId: string }, never>((p) =>
  builder.deleteFrom('calendar_bookings').where('tenant_id', '=', p.tenantId).where('event_id', '=', p.eventId),
);

type ConflictQuery = { tenantId: string; eventId: string; ids: readonly string[]; startsAt: string; endsAt: string };

/** Busy times of other events in the time; at most 100, to bound the size of the answer. */
export const listConflicts = read<ConflictQuery, BookedSlot>((p) =>
  builder
    .selectFrom('calendar_bookings')
    .select(['entity_type', 'entity_id', 'starts_at', 'ends_at'])
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`entity_id = any(${p.ids}::uuid[])`)
    .where('starts_at', '<', p.endsAt)
    .where('starts_at', '>', earliestStart(p.startsAt))
    .where('ends_at', '>', p.startsAt)
    .where('busy', '=', true)
    .where('event_id', '<>', p.eventId)
    .orderBy('starts_at')
    .orderBy('entity_id')
    .limit(100),
);

/** Busy times of each entity within the range; adjacent bookings are merged. */
export const listBusy = read<
  { tenantId: string; ids: readonly string[]; from: string; to: string },
  { entity_id: string } & Interval
>((p) => {
  const merged = builder
    .selectFrom('calendar_bookings')
    .select([
      'entity_id',
      sql<string>`unnest(range_agg(tstzrange(
        greatest(starts_at, ${p.from}::timestamptz), least(ends_at, ${p.to}::timestamptz))))`.as('slot'),
    ])
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`entity_id = any(${p.ids}::uuid[])`)
    .where('starts_at', '<', p.to)
    .where('starts_at', '>', earliestStart(p.from))
    .where('ends_at', '>', p.from)
    .where('busy', '=', true)
    .groupBy('entity_id');
  return builder
    .selectFrom(merged.as('merged'))
    .select(['entity_id', sql<string>`lower(slot)`.as('starts_at'), sql<string>`upper(slot)`.as('ends_at')])
    .orderBy('entity_id')
    .orderBy('slot');
});

export type EventFilters = {
  from: string;
  to: string;
  entityType: EntityType | undefined;
  entityId: string | undefined;
  search: string | undefined;
  /** The caller: a search only finds events that it may read. */
  reader: { kind: Columns['organizer_type']; id: string; managesCalendars: boolean; seesPeople: boolean };
};

type EventSelect = SelectQueryBuilder<Tables, 'calendar_events', object>;

export function listEvents(
  tenantId: string,
  filters: EventFilters,
  page: { limit: number; offset: number; latestFirst: boolean },
): ReadStatement<EventRow> {
  const direction = page.latestFirst ? 'desc' : 'asc';
  return toRead(
    filtered(tenantId, filters)
      .select(events.columns)
      .select(entitiesOf(tenantId))
      .orderBy('starts_at', direction)
      .orderBy('id', direction)
      .limit(page.limit)
      .offset(page.offset),
  );
}

export function countEvents(tenantId: string, filters: EventFilters): ReadStatement<{ total: number }> {
  return countMatches(filtered(tenantId, filters).select('id'));
}

function filtered(tenantId: string, { from, to, entityType, entityId, search, reader }: EventFilters): EventSelect {
  let query: EventSelect = builder
    .selectFrom('calendar_events')
    .where('tenant_id', '=', tenantId)
    .where('starts_at', '<', to)
    .where('starts_at', '>', earliestStart(from))
    .where('ends_at', '>', from);
  if (entityId !== undefined) {
    let booked = builder
      .selectFrom('calendar_bookings')
      .select('event_id')
      .where('tenant_id', '=', tenantId)
      .where('entity_id', '=', entityId)
      .where('starts_at', '<', to)
      .where('starts_at', '>', earliestStart(from));
    if (entityType !== undefined) booked = booked.where('entity_type', '=', entityType);
    query = query.where('id', 'in', booked);
  } else if (entityType !== undefined) {
    query = query.where(books(tenantId, sql`b.entity_type = ${entityType}`));
  }
  if (!reader.seesPeople) query = query.where(books(tenantId, sql`b.entity_type <> 'user'`));
  const patterns = searchPatterns(search);
  for (const pattern of patterns) query = query.where(sql`lower(title)`, 'like', sql<string>`lower(${pattern})`);
  if (patterns.length > 0 && !reader.managesCalendars) query = query.where(isReadable(tenantId, reader));
  return query;
}

function books(tenantId: string, condition: ReturnType<typeof sql>) {
  return sql<boolean>`exists (
    select from calendar_bookings b
    where b.tenant_id = ${tenantId} and b.event_id = calendar_events.id and ${condition})`;
}

/** The same rule as `mayRead`. */
function isReadable(tenantId: string, { kind, id }: EventFilters['reader']) {
  return sql<boolean>`(
    (organizer_type = ${kind} and organizer_id = ${id})
    or ${books(tenantId, sql`b.entity_type = ${kind} and b.entity_id = ${id}`)}
    or (visibility = 'default' and ${books(tenantId, sql`b.entity_type <> 'user'`)}))`;
}

/** Locks the events that book an entity, before their bookings, as every transaction does. */
export const lockEventsOf = lock<{ tenantId: string; entityId: string }, { id: string }>((p) =>
  builder
    .selectFrom('calendar_events')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where(
      'id',
      'in',
      builder
        .selectFrom('calendar_bookings')
        .select('event_id')
        .where('tenant_id', '=', p.tenantId)
        .where('entity_id', '=', p.entityId),
    )
    .orderBy('id')
    .forUpdate(),
);

export const deleteBookingsOf = write<{ tenantId: string; entityId: string }, never>((p) =>
  builder.deleteFrom('calendar_bookings').where('tenant_id', '=', p.tenantId).where('entity_id', '=', p.entityId),
);

/** Deletes the events that have no bookings left. */
export const deleteEmptyEvents = write<{ tenantId: string; ids: readonly string[] }, never>((p) =>
  builder
    .deleteFrom('calendar_events')
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`id = any(${p.ids}::uuid[])`)
    .where(
      'id',
      'not in',
      builder
        .selectFrom('calendar_bookings')
        .select('event_id')
        .where('tenant_id', '=', p.tenantId)
        .where(sql<boolean>`event_id = any(${p.ids}::uuid[])`),
    ),
);
