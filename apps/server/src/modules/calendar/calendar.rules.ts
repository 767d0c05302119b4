type Entity = { entity_type: string; entity_id: string };

/** The caller and its permissions. */
type Caller = { id: string; isTenantAdmin: boolean; permissions: ReadonlySet<string> } & (
  | { kind: 'user' }
  | { kind: 'api_key' | 'app_account'; flags: ReadonlySet<string> }
);

type EventDetails = {
  visibility: 'default' | 'private';
  organizer_type: Caller['kind'];
  organizer_id: string;
  entities: readonly Entity[];
};

const maxDays = 31;
const dayMs = 86_400_000;

/** Converts a local time to an instant; undefined if the time zone skips that local time. */
export function toInstant(local: string, timezone: string, fold: 'earlier' | 'later'): string | undefined {
  const plain = Temporal.PlainDateTime.from(local);
  const zoned = plain.toZonedDateTime(timezone, { disambiguation: fold });
  // Temporal moves a skipped time before or after the gap.
  if (!zoned.toPlainDateTime().equals(plain)) return undefined;
  return zoned.toInstant().toString({ smallestUnit: 'millisecond' });
}

/** The stored form: `2026-03-29T09:00` with seconds. */
export function withSeconds(local: string): string {
  return Temporal.PlainDateTime.from(local).toString({ smallestUnit: 'second' });
}

/** Normalises the case of a name to that of the time zone database. */
export function zoneName(timezone: string): string {
  return new Temporal.ZonedDateTime(0n, timezone).timeZoneId;
}

/** Compares local times, so that the extra hour at the end of daylight saving time does not count. */
export function isTooLong({ local_start, local_end }: { local_start: string; local_end: string }): boolean {
  const latest = Temporal.PlainDateTime.from(local_start).add({ days: maxDays });
  return Temporal.PlainDateTime.compare(local_end, latest) > 0;
}

/** Parses `from` and `to` with any UTC offset; undefined if `from` is not before `to`. */
export function toRange({ from, to }: { from: string; to: string }) {
  const [start, end] = [new Date(from.toUpperCase()), new Date(to.toUpperCase())];
  if (start >= end) return undefined;
  return {
    from: start.toISOString(),
    to: end.toISOString(),
    days: (end.getTime() - start.getTime()) / dayMs,
  };
}

/** Removes duplicates. */
export function distinct<Some extends Entity>(entities: readonly Some[]): Some[] {
  return [...new Map(entities.map((entity) => [keyOf(entity), entity])).values()];
}

export function isSame(some: readonly Entity[], others: readonly Entity[]): boolean {
  return some.length === others.length && without(some, others).length === 0;
}

export function without<Some extends Entity>(some: readonly Some[], others: readonly Entity[]): Some[] {
  const keys = new Set(others.map(keyOf));
  return some.filter((entity) => !keys.has(keyOf(entity)));
}

function keyOf({ entity_type, entity_id }: Entity): string {
  return `${entity_type}:${entity_id}`;
}

export function managesCalendars(caller: Caller): boolean {
  return caller.kind === 'user' && (caller.isTenantAdmin || caller.permissions.has('calendar.manage'));
}

/** API keys and app accounts see users only with `users.read`. */
export function seesPeople(caller: Caller): boolean {
  return caller.kind === 'user' || caller.flags.has('users.read');
}

export function seesEvent(caller: Caller, { entities }: Pick<EventDetails, 'entities'>): boolean {
  return seesPeople(caller) || entities.some(({ entity_type }) => entity_type !== 'user');
}

export function seesOrganizer(caller: Caller, event: Pick<EventDetails, 'organizer_type'>): boolean {
  return event.organizer_type !== 'user' || seesPeople(caller);
}

export function mayChange(caller: Caller, event: EventDetails): boolean {
  return isOrganizer(caller, event) || managesCalendars(caller);
}

/** Whether the caller may read the details; otherwise they only see that the time is busy. */
export function mayRead(caller: Caller, event: EventDetails): boolean {
  if (mayChange(caller, event) || event.entities.some((entity) => isSelf(caller, entity))) return true;
  return event.visibility === 'default' && event.entities.some(({ entity_type }) => entity_type !== 'user');
}

/** Every user may book spaces, resources and themselves; only calendar managers may book other users. */
export function mayBook(caller: Caller, entities: readonly Entity[]): boolean {
  if (managesCalendars(caller)) return true;
  return entities.every((entity) => entity.entity_type !== 'user' || isSelf(caller, entity));
}

export function calendarAccess(caller: Caller, entity: Entity): 'free_busy' | 'write' {
  const writes = caller.kind === 'user' || caller.flags.has('calendar.events');
  return writes && mayBook(caller, [entity]) ? 'write' : 'free_busy';
}

function isOrganizer(caller: Caller, { organizer_type, organizer_id }: EventDetails): boolean {
  return caller.kind === organizer_type && caller.id === organizer_id;
}

function isSelf(caller: Caller, { entity_type, entity_id }: Entity): boolean {
  return entity_type === 'user' && caller.kind === 'user' && caller.id === entity_id;
}
