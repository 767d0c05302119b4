import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import type { Reads, TenantDb, Transaction } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { toPage, type SetHeader } from '#core/http/paging';
import {
  EndNotAfterStart,
  EntityNotBookable,
  EventChanged,
  EventNotFound,
  EventTooLong,
  LocalTimeDoesNotExist,
  EventChangeNotAllowed,
  UserBookingNotAllowed,
  SlotTaken,
} from '#modules/calendar/calendar.errors';
import {
  distinct,
  isSame,
  isTooLong,
  managesCalendars,
  mayBook,
  mayChange,
  mayRead,
  seesEvent,
  seesOrganizer,
  seesPeople,
  toInstant,
  withSeconds,
  without,
  zoneName,
} from '#modules/calendar/calendar.rules';
import type { CreateEventBody, ListEventsQuery, UpdateEventBody } from '#modules/calendar/calendar.schemas';
import { assertAllFound, parseRange } from '#modules/calendar/calendars.service';
import { lockEntities, type Entity, type FoundEntity } from '#modules/calendar/entities.queries';
import {
  countEvents,
  deleteBookings,
  deleteBookingsOf,
  deleteEmptyEvents,
  deleteEvent as deleteEventRow,
  findEvent,
  insertBookings,
  insertEvent,
  listConflicts,
  listEvents as listEventRows,
  lockEvent,
  lockEventsOf,
  updateEvent as updateEventRow,
  type EventRow,
  type LocalTimes,
} from '#modules/calendar/events.queries';

type Reader = { db: TenantDb; actor: Actor };
type Scope = Reader & { now: () => Date };

const maxListDays = 366;
const maxAttempts = 5;

/** @throws EndNotAfterStart, RangeTooLong */
export async function listEvents({ db, actor, setHeader }: Reader & { setHeader: SetHeader }, query: ListEventsQuery) {
  const { limit = 50, offset = 0, sort, search, entity_type: entityType, entity_id: entityId } = query;
  const { from, to } = parseRange(query, maxListDays);
  const { kind, id } = actor;
  const reader = { kind, id, managesCalendars: managesCalendars(actor), seesPeople: seesPeople(actor) };
  const filters = { from, to, entityType, entityId, search, reader };
  const { rows, ...total } = await pageOfMatches(
    db,
    listEventRows(db.tenantId, filters, { limit, offset, latestFirst: sort === '-starts_at' }),
    countEvents(db.tenantId, filters),
    { limit, offset },
  );
  const data = rows.map((row) => presentEvent(row, actor));
  return toPage(data, { limit, offset }, total, setHeader);
}

/** @throws EventNotFound */
export async function getEvent({ db, actor }: Reader, id: string) {
  return { data: presentEvent(await findVisible(db, { db, actor }, id), actor) };
}

async function findVisible(from: Pick<Reads, 'first'>, { db, actor }: Reader, id: string): Promise<EventRow> {
  const row = await from.first(findEvent({ tenantId: db.tenantId, id }));
  if (row === undefined || !seesEvent(actor, row)) throw EventNotFound();
  return row;
}

/** @throws EventNotFound, EventChangeNotAllowed */
async function findChangeable(from: Pick<Reads, 'first'>, reader: Reader, id: string): Promise<EventRow> {
  const row = await findVisible(from, reader, id);
  if (!mayChange(reader.actor, row)) throw EventChangeNotAllowed();
  return row;
}

/**
 * Books all entities or none.
 * @throws UserBookingNotAllowed, LocalTimeDoesNotExist, EndNotAfterStart, EventTooLong, EntityNotFound, EntityNotBookable, SlotTaken
 */
export async function createEvent({ db, actor, now }: Scope, body: CreateEventBody) {
  const entities = distinct(body.entities);
  if (!mayBook(actor, entities)) throw UserBookingNotAllowed();
  const { tenantId } = db;
  const at = now().toISOString();
  const event = {
    id: newId(),
    tenant_id: tenantId,
    title: body.title,
    description: body.description ?? null,
    location: body.location ?? null,
    visibility: body.visibility ?? 'default',
    busy: body.busy ?? true,
    ...deriveTimes({ ...body, fold: body.fold ?? 'earlier' }),
    organizer_type: actor.kind,
    organizer_id: actor.id,
    created_at: at,
    updated_at: at,
  };
  return db.transaction(async (tx) => {
    const locked = await lock(tx, tenantId, entities);
    assertAllFound(entities, locked);
    assertBookable(entities, locked);
    await assertFree(tx, { ...event, entities });
    await tx.all(insertEvent({ ...event, ...auditParams(actor, at, { fields: Object.keys(body) }) }));
    await book(tx, { ...event, entities });
    return { data: presentEvent((await tx.first(findEvent({ tenantId, id: event.id })))!, actor) };
  });
}

/**
 * An empty patch changes nothing and returns the event.
 * @throws EventNotFound, EventChangeNotAllowed, UserBookingNotAllowed, LocalTimeDoesNotExist, EndNotAfterStart, EventTooLong, EntityNotFound,
 * EntityNotBookable, SlotTaken, EventChanged
 */
export async function updateEvent(scope: Scope, id: string, body: UpdateEventBody) {
  if (Object.keys(body).length === 0) return getEvent(scope, id);
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const row = await scope.db.transaction((tx) => change(tx, scope, id, body));
    if (row !== undefined) return { data: presentEvent(row, scope.actor) };
  }
  throw EventChanged();
}

/** Undefined if another request has changed the entities of the event, so that the locked rows are outdated. */
async function change(
  tx: Transaction,
  { db, actor, now }: Scope,
  id: string,
  body: UpdateEventBody,
): Promise<EventRow | undefined> {
  const { tenantId } = db;
  const seen = await findChangeable(tx, { db, actor }, id);
  const { entities: given, ...fields } = body;
  const entities = given === undefined ? seen.entities : distinct(given);
  const isRebooked = bookingFields.some((name) => body[name] !== undefined);
  // Every transaction locks the entities before the event, to avoid deadlocks.
  const locked = isRebooked ? await lock(tx, tenantId, entities) : [];
  if (given !== undefined) assertAllFound(entities, locked);
  await tx.first(lockEvent({ tenantId, id }));
  const current = await findChangeable(tx, { db, actor }, id);
  if (isRebooked && given === undefined && !isSame(entities, current.entities)) return undefined;
  const event = { ...current, ...fields, entities, ...(isRebooked ? deriveTimes({ ...current, ...fields }) : {}) };
  if (isRebooked) await rebook(tx, { actor, current, event, locked });
  const at = now().toISOString();
  const { entities: _booked, ...columns } = event;
  const audit = auditParams(actor, at, { fields: Object.keys(body) });
  await tx.all(updateEventRow(id, { ...changesOf(columns), updated_at: at }, audit));
  return tx.first(findEvent({ tenantId, id }));
}

/** Fields that decide which entities are busy, and when. */
const bookingFields = ['local_start', 'local_end', 'timezone', 'fold', 'busy', 'entities'] as const;

function changesOf({ tenant_id: _tenant, id: _id, created_at: _created, ...rest }: Omit<EventRow, 'entities'>) {
  return rest;
}

type Rebooking = { actor: Actor; current: EventRow; event: EventRow; locked: readonly FoundEntity[] };

async function rebook(tx: Transaction, { actor, current, event, locked }: Rebooking): Promise<void> {
  const isMoved = (['starts_at', 'ends_at', 'busy'] as const).some((name) => event[name] !== current[name]);
  const taken = isMoved ? event.entities : without(event.entities, current.entities);
  if (!mayBook(actor, taken)) throw UserBookingNotAllowed();
  assertBookable(taken, locked);
  await assertFree(tx, event);
  await tx.all(deleteBookings({ tenantId: event.tenant_id, eventId: event.id }));
  await book(tx, event);
}

/** @throws EventNotFound, EventChangeNotAllowed */
export async function deleteEvent({ db, actor, now }: Scope, id: string): Promise<void> {
  await findChangeable(db, { db, actor }, id);
  const row = await db.interactive.first(deleteEventRow({ id, ...auditParams(actor, now().toISOString()) }));
  if (row === undefined) throw EventNotFound();
}

/** Called before a space, resource or user is deleted: deletes its bookings, and events without other bookings. */
export async function releaseTimeOf(
  tx: Transaction,
  { tenantId, id }: { tenantId: string; id: string },
): Promise<void> {
  const events = await tx.all(lockEventsOf({ tenantId, entityId: id }));
  await tx.all(deleteBookingsOf({ tenantId, entityId: id }));
  await tx.all(deleteEmptyEvents({ tenantId, ids: events.map((event) => event.id) }));
}

/** @throws LocalTimeDoesNotExist, EndNotAfterStart, EventTooLong */
function deriveTimes(given: LocalTimes) {
  const { fold } = given;
  const timezone = zoneName(given.timezone);
  const startsAt = toInstant(given.local_start, timezone, fold);
  if (startsAt === undefined) throw LocalTimeDoesNotExist({ details: { field: 'local_start' } });
  const endsAt = toInstant(given.local_end, timezone, fold);
  if (endsAt === undefined) throw LocalTimeDoesNotExist({ details: { field: 'local_end' } });
  if (endsAt <= startsAt) throw EndNotAfterStart();
  if (isTooLong(given)) throw EventTooLong();
  return {
    local_start: withSeconds(given.local_start),
    local_end: withSeconds(given.local_end),
    timezone,
    fold,
    starts_at: startsAt,
    ends_at: endsAt,
  };
}

async function lock(tx: Transaction, tenantId: string, entities: readonly Entity[]): Promise<FoundEntity[]> {
  const locked: FoundEntity[] = [];
  for (const { type, lock: lockRows } of lockEntities) {
    const ids = entities.filter(({ entity_type }) => entity_type === type).map(({ entity_id }) => entity_id);
    if (ids.length > 0) locked.push(...(await tx.all(lockRows({ tenantId, ids }))));
  }
  return locked;
}

function assertBookable(taken: readonly Entity[], locked: readonly FoundEntity[]): void {
  const bookable = locked.filter(({ is_bookable }) => is_bookable);
  const entities = without(taken, bookable);
  if (entities.length > 0) throw EntityNotBookable({ details: { entities } });
}

type Booking = Pick<EventRow, 'id' | 'tenant_id' | 'starts_at' | 'ends_at' | 'busy' | 'entities'>;

/** The constraint would also reject a conflict, but this check reports the busy times. @throws SlotTaken */
async function assertFree(tx: Transaction, { id, busy, entities, ...slot }: Booking): Promise<void> {
  if (!busy) return;
  const ids = entities.map(({ entity_id }) => entity_id);
  const { tenant_id: tenantId, starts_at: startsAt, ends_at: endsAt } = slot;
  const conflicts = await tx.all(listConflicts({ tenantId, eventId: id, ids, startsAt, endsAt }));
  if (conflicts.length > 0) throw SlotTaken({ details: { conflicts } });
}

function book(tx: Transaction, { id, tenant_id: tenantId, entities, ...slot }: Booking): Promise<unknown> {
  const types = entities.map(({ entity_type }) => entity_type);
  const ids = entities.map(({ entity_id }) => entity_id);
  const { starts_at: startsAt, ends_at: endsAt, busy } = slot;
  return tx.all(insertBookings({ tenantId, eventId: id, types, ids, startsAt, endsAt, busy }));
}

function presentEvent(row: EventRow, actor: Actor) {
  const isReadable = mayRead(actor, row);
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    title: isReadable ? row.title : null,
    description: isReadable ? row.description : null,
    location: isReadable ? row.location : null,
    visibility: row.visibility,
    busy: row.busy,
    local_start: row.local_start,
    local_end: row.local_end,
    timezone: row.timezone,
    fold: row.fold,
    starts_at: row.starts_at,
    ends_at: row.ends_at,
    entities: row.entities.filter(({ entity_type }) => entity_type !== 'user' || seesPeople(actor)),
    organizer: { type: row.organizer_type, id: seesOrganizer(actor, row) ? row.organizer_id : null },
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
