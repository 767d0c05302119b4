import type { Actor } from '#core/access/principal';
import type { TenantDb } from '#core/db/scopes';
import { pageOfMatches } from '#core/db/totals';
import { EndNotAfterStart, EntityNotFound, RangeTooLong } from '#modules/calendar/calendar.errors';
import { calendarAccess, distinct, seesPeople, toRange, without } from '#modules/calendar/calendar.rules';
import type { Entity } from '#modules/calendar/calendar.tables';
import type { FreeBusyBody, ListCalendarsQuery } from '#modules/calendar/calendar.schemas';
import { countCalendars, findEntities, listCalendars as listCalendarRows } from '#modules/calendar/entities.queries';
import { listBusy } from '#modules/calendar/events.queries';

type Reader = { db: TenantDb; actor: Actor };

const allTypes = ['resource', 'space', 'user'] as const;
const longestFreeBusyDays = 62;

export async function listCalendars(
  { db, actor, setHeader }: Reader & { setHeader(name: string, value: string): void },
  query: ListCalendarsQuery,
) {
  const { limit = 50, offset = 0, entity_type: entityType, search } = query;
  const types = allTypes.filter(
    (type) => (entityType === undefined || type === entityType) && (type !== 'user' || seesPeople(actor)),
  );
  if (types.length === 0) return { data: [], total: 0 };
  const filters = { types, search };
  const { rows, total, isCapped } = await pageOfMatches(
    db,
    listCalendarRows(db.tenantId, filters, { limit, offset }),
    countCalendars(db.tenantId, filters),
    { limit, offset },
  );
  if (isCapped) setHeader('x-total-capped', 'true');
  const data = rows.map(({ id, name, entity_type, timezone }) => {
    const access = calendarAccess(actor, { entity_type, entity_id: id });
    return { id, name, entity_type, entity_id: id, timezone, access, color: null };
  });
  return { data, total };
}

/** When each of the entities is busy, and nothing of why. @throws EndNotAfterStart, RangeTooLong, EntityNotFound */
export async function findFreeBusy({ db, actor }: Reader, body: FreeBusyBody) {
  const { from, to } = parseRange(body, longestFreeBusyDays);
  const { tenantId } = db;
  const entities = distinct(body.entities);
  const ids = entities.map(({ entity_id }) => entity_id);
  const [found, slots] = await db.slow.flight([findEntities({ tenantId, ids }), listBusy({ tenantId, ids, from, to })]);
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
export function assertAllFound(wanted: readonly Entity[], found: readonly Entity[]): void {
  if (without(wanted, found).length > 0) throw EntityNotFound();
}

/** @throws EndNotAfterStart, RangeTooLong */
export function parseRange(given: { from: string; to: string }, longestDays: number): { from: string; to: string } {
  const range = toRange(given);
  if (range === undefined) throw EndNotAfterStart();
  if (range.days > longestDays) throw RangeTooLong({ details: { longestDays } });
  return range;
}
