type Entity = { entity_type: string; entity_id: string };
type Fold = 'earlier' | 'later';

/** Who asks, and what they may do. */
type Caller = { id: string; isTenantAdmin: boolean; permissions: ReadonlySet<string> } & (
  | { kind: 'user' }
  | { kind: 'api_key' | 'app_account'; flags: ReadonlySet<string> }
);

type Described = {
  visibility: 'default' | 'private';
  organizer_type: Caller['kind'];
  organizer_id: string;
  entities: readonly Entity[];
};

const longestDays = 31;
const dayMs = 86_400_000;

/** The moment that a local time names; undefined where the clocks of the zone skip it. */
export function toInstant(local: string, timezone: string, fold: Fold): string | undefined {
  const plain = Temporal.PlainDateTime.from(local);
  const zoned = plain.toZonedDateTime(timezone, { disambiguation: fold });
  // A skipped time comes back as one before or after the gap.
  if (!zoned.toPlainDateTime().equals(plain)) return undefined;
  return zoned.toInstant().toString({ smallestUnit: 'millisecond' });
}

/** `2026-03-29T09:00` with its seconds, as it is kept. */
export function withSeconds(local: string): string {
  return Temporal.PlainDateTime.from(local).toString({ smallestUnit: 'second' });
}

/** The zone in the spelling of the time zone database. */
export function zoneName(timezone: string): string {
  return new Temporal.ZonedDateTime(0n, timezone).timeZoneId;
}

/** By the clocks, so that a month is not too long because an hour comes twice in it. */
export function isTooLong({ local_start, local_end }: { local_start: string; local_end: string }): boolean {
  const latest = Temporal.PlainDateTime.from(local_start).add({ days: longestDays });
  return Temporal.PlainDateTime.compare(local_end, latest) > 0;
}

/** From a request's `from` and `to`, which may be written with any offset; undefined when they are the wrong way round. */
export function toRange({ from, to }: { from: string; to: string }) {
  const [start, end] = [new Date(from.toUpperCase()), new Date(to.toUpperCase())];
  if (start >= end) return undefined;
  return {
    from: start.toISOString(),
    to: end.toISOString(),
    days: (end.getTime() - start.getTime()) / dayMs,
  };
}

/** Each one once, as upper and lower case of an id are the same. */
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

/** For keys and app accounts without `users.read` there are no people. */
export function seesPeople(caller: Caller): boolean {
  return caller.kind === 'user' || caller.flags.has('users.read');
}

export function seesEvent(caller: Caller, { entities }: Pick<Described, 'entities'>): boolean {
  return seesPeople(caller) || entities.some(({ entity_type }) => entity_type !== 'user');
}

export function seesOrganizer(caller: Caller, event: Pick<Described, 'organizer_type'>): boolean {
  return event.organizer_type !== 'user' || seesPeople(caller);
}

export function mayChange(caller: Caller, event: Described): boolean {
  return isOrganizer(caller, event) || managesCalendars(caller);
}

/** Of all others the caller sees that the time is taken, and not for what. */
export function mayRead(caller: Caller, event: Described): boolean {
  if (mayChange(caller, event) || event.entities.some((entity) => isSelf(caller, entity))) return true;
  return event.visibility === 'default' && event.entities.some(({ entity_type }) => entity_type !== 'user');
}

/** Everybody books themselves, spaces and resources; the time of others is not theirs to give. */
export function mayBook(caller: Caller, entities: readonly Entity[]): boolean {
  if (managesCalendars(caller)) return true;
  return entities.every((entity) => entity.entity_type !== 'user' || isSelf(caller, entity));
}

export function calendarAccess(caller: Caller, entity: Entity): 'free_busy' | 'write' {
  const writes = caller.kind === 'user' || caller.flags.has('calendar.events');
  return writes && mayBook(caller, [entity]) ? 'write' : 'free_busy';
}

function isOrganizer(caller: Caller, { organizer_type, organizer_id }: Described): boolean {
  return caller.kind === organizer_type && caller.id === organizer_id;
}

function isSelf(caller: Caller, { entity_type, entity_id }: Entity): boolean {
  return entity_type === 'user' && caller.kind === 'user' && caller.id === entity_id;
}
