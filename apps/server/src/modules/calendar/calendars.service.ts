import type { Static } from 'typebox';

import type { Actor } from '#core/base/access/principal';
import type { TenantDb } from '#core/data/db/scopes';
import { withTotal } from '#core/data/db/totals';
import { JsonStream } from '#core/http/json-streams';
import type { SetHeader } from '#core/http/paging';
import { EndNotAfterStart, EntityNotFound, RangeTooLong } from '#modules/calendar/calendar.errors';
import { calendarAccess, distinct, seesPeople, toRange, without } from '#modules/calendar/calendar.rules';
import type { CalendarList, FreeBusyBody, ListCalendarsQuery } from '#modules/calendar/calendar.schemas';
import {
  countCalendars,
  findEntities,
  listCalendars as listCalendarRows,
  type CalendarRow,
  type Entity,
} from '#modules/calendar/entities.queries';
import { listBusy } from '#modules/calendar/events.queries';

type Reader = { db: TenantDb; actor: Actor };
type Filters<Query> = { [Name in keyof Query]: Query[Name] | undefined };

const allTypes = ['resource', 'space', 'user'] as const;
const maxFreeBusyDays = 62;
/** A compromise between memory per page and statements per list. */
const pageSize = 5000;

/** Lists all calendars that the caller may see, unless a limit is set. A long list is streamed page by page. */
export async function listCalendars(
  { db, actor, setHeader }: Reader & { setHeader: SetHeader },
  { limit, offset = 0, entity_type: entityType, search }: Filters<ListCalendarsQuery>,
): Promise<Static<typeof CalendarList> | JsonStream> {
  const types = allTypes.filter(
    (type) => (entityType === undefined || type === entityType) && (type !== 'user' || seesPeople(actor)),
  );
  if (types.length === 0) return { data: [], total: 0 };
  const filters = { types, search };
  const page = { limit: limit ?? pageSize, offset };
  const first = await db.interactive.all(listCalendarRows(db.tenantId, filters, page));
  const present = presentFor(actor);
  if (limit === undefined && first.length === pageSize) {
    const next = (after: CalendarRow) =>
      db.interactive.all(listCalendarRows(db.tenantId, filters, { limit: pageSize, offset: 0, after }));
    return new JsonStream(textOf(first, { next, present, offset }));
  }
  const { rows, total, isCapped } = await withTotal(db, first, countCalendars(db.tenantId, filters), page);
  if (isCapped) setHeader('x-total-capped', 'true');
  return { data: rows.map(present), total };
}

type Present = ReturnType<typeof presentFor>;

function presentFor(actor: Actor) {
  return ({ id, name, entity_type, timezone }: CalendarRow) => {
    const access = calendarAccess(actor, { entity_type, entity_id: id });
    return { id, name, entity_type, entity_id: id, timezone, access, color: null };
  };
}

/** Reads each page when the client has taken the previous one; therefore the total comes last. */
async function* textOf(
  first: CalendarRow[],
  { next, present, offset }: { next(after: CalendarRow): Promise<CalendarRow[]>; present: Present; offset: number },
) {
  let total = offset;
  let rows = first;
  yield '{"data":[';
  while (rows.length > 0) {
    yield (total === offset ? '' : ',') + rows.map((row) => JSON.stringify(present(row))).join(',');
    total += rows.length;
    rows = rows.length < pageSize ? [] : await next(rows.at(-1)!);
  }
  yield `],"total":${total}}`;
}

/** Returns the busy times of each entity, without event details. @throws EndNotAfterStart, RangeTooLong, EntityNotFound */
export async function findFreeBusy({ db, actor }: Reader, body: FreeBusyBody) {
  const { from, to } = parseRange(body, maxFreeBusyDays);
  const { tenantId } = db;
  const entities = distinct(body.entities);
  const ids = entities.map(({ entity_id }) => entity_id);
  const [found, slots] = await db.interactive.batch([
    findEntities({ tenantId, ids }),
    listBusy({ tenantId, ids, from, to }),
  ]);
  assertAllFound(entities, visible(actor, found));
  const busy = Map.groupBy(slots, ({ entity_id }) => entity_id);
  const data = entities.map((entity) => ({
    ...entity,
    busy: (busy.get(entity.entity_id) ?? []).map(({ starts_at, ends_at }) => ({ starts_at, ends_at })),
  }));
  return { data };
}

function visible<Some extends Entity>(actor: Actor, entities: readonly Some[]): Some[] {
  return entities.filter(({ entity_type }) => entity_type !== 'user' || seesPeople(actor));
}

/** @throws EntityNotFound */
export function assertAllFound(requested: readonly Entity[], found: readonly Entity[]): void {
  if (without(requested, found).length > 0) throw EntityNotFound();
}

/** @throws EndNotAfterStart, RangeTooLong */
export function parseRange(given: { from: string; to: string }, maxDays: number): { from: string; to: string } {
  const range = toRange(given);
  if (range === undefined) throw EndNotAfterStart();
  if (range.days > maxDays) throw RangeTooLong({ details: { longestDays: maxDays } });
  return range;
}
