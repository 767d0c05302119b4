import { builtInChannels, type Channel, type Layer, type QuietHours } from '#modules/notifications/notifications.types';

/** The properties of a preference that a decision needs. */
export type Preference = {
  id: string;
  category: string;
  channel: Channel;
  enabled: boolean;
  quiet_hours: QuietHours;
  rules: { locked?: boolean };
};

/** The preferences of the tenant and of the user. */
export type Layers = { defaults: readonly Preference[]; overrides: readonly Preference[] };

export type Decision = {
  isEnabled: boolean;
  layer: Layer;
  /** The preference that decided; null for the built-in default. */
  preferenceId: string | null;
  /** The category of that preference, possibly a wildcard. */
  category: string | null;
  /** Quiet hours that apply. Under a locked default they never drop, and those of a user never delay critical notifications. */
  quietHours: QuietHours | null;
  /** Layer of the quiet hours; null without quiet hours. */
  quietHoursLayer: 'user_override' | 'tenant_default' | null;
};

/** Why preferences keep a delivery from being sent now; `dueAt` if it is sent later. */
export type Withheld =
  | { status: 'suppressed'; reason: 'turned_off' | 'quiet_hours' }
  | { status: 'queued'; reason: 'quiet_hours'; dueAt: string };

export type Time = { kind: 'now' } | { kind: 'later'; at: Date } | { kind: 'dropped' };

type Wanted = { category: string; channel: Channel };
type Window = { start: Temporal.PlainTime; end: Temporal.PlainTime; days: ReadonlySet<string>; timezone: string };

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** Upper bound of a delay by quiet hours. */
const maxDelayMs = 8 * 86_400_000;

/**
 * The patterns that match a category, most specific first: `a.b.c`, `a.b.*`, `a.*`, `*`. `a.*` matches all categories below
 * `a`, but not `a` itself.
 */
export function patternsOf(category: string): string[] {
  const parts = category.split('.');
  const above = parts.slice(1).map((_, at) => `${parts.slice(0, parts.length - 1 - at).join('.')}.*`);
  return [...new Set([category, ...above, '*'])];
}

/** Decides about a category on a channel. Within a layer the most specific pattern wins. */
export function decide({ category, channel }: Wanted, { defaults, overrides }: Layers): Decision {
  return decider(category, defaults)(channel, overrides);
}

/** `decide` for many users: defaults of the tenant are matched once per channel. */
export function decider(category: string, defaults: readonly Preference[]) {
  const ranks = new Map(patternsOf(category).map((pattern, rank) => [pattern, rank]));
  const defaultsOf = Map.groupBy(matching(ranks, defaults), ({ channel }) => channel);
  return (channel: Channel, overrides: readonly Preference[]): Decision => {
    const own = matching(
      ranks,
      overrides.filter((each) => each.channel === channel),
    );
    return decideBetween(channel, defaultsOf.get(channel) ?? [], own);
  };
}

/** Both lists are sorted, most specific first. */
function decideBetween(channel: Channel, defaults: readonly Preference[], overrides: readonly Preference[]): Decision {
  const isLocked = defaults[0]?.rules.locked === true;
  const deciding = (isLocked ? undefined : overrides[0]) ?? defaults[0];
  return {
    isEnabled: deciding?.enabled ?? builtInChannels.has(channel),
    layer: layerOf(deciding, { isLocked, isOwn: deciding !== undefined && deciding === overrides[0] }),
    preferenceId: deciding?.id ?? null,
    category: deciding?.category ?? null,
    ...quietHoursOf(overrides, defaults, isLocked),
  };
}

/** Time zone of the recipient, and whether the notification is critical. */
type Whose = { timezone: string | null; isCritical: boolean };

/** When a notification can be sent: now, later, or never because quiet hours drop it. */
export function timeOf(decision: Pick<Decision, 'quietHours'>, { now, ...whose }: Whose & { now: Date }): Time {
  return timer(now).timeOf(decision, whose);
}

/** Times for many users at the same instant: equal quiet hours are evaluated once. */
export function timer(now: Date) {
  const ends = new Map<string, number | undefined>();
  const unknownZones = new Set<string>();

  function knownZone(names: readonly (string | null | undefined)[]): string {
    const known = names.find((name) => {
      if (name === null || name === undefined) return false;
      if (isZone(name)) return true;
      unknownZones.add(name);
      return false;
    });
    return known ?? 'UTC';
  }

  function endFor(quietHours: QuietHours, timezone: string | null): number | undefined {
    const { start, end, days } = quietHours;
    const key = JSON.stringify([start, end, days, quietHours.timezone, timezone]);
    if (!ends.has(key)) {
      const window = toWindow(quietHours, knownZone([quietHours.timezone, timezone]));
      ends.set(key, window && endOf(window, now.getTime()));
    }
    return ends.get(key);
  }

  function timeFor({ quietHours }: Pick<Decision, 'quietHours'>, { timezone, isCritical }: Whose): Time {
    if (quietHours === null || (isCritical && quietHours.exceptCritical !== false)) return { kind: 'now' };
    const end = endFor(quietHours, timezone);
    if (end === undefined) return { kind: 'now' };
    return quietHours.mode === 'drop' ? { kind: 'dropped' } : { kind: 'later', at: new Date(end) };
  }

  return {
    /** Time zones that no longer exist; the next known one was used instead, finally UTC. */
    unknownZones,
    timeOf: timeFor,
    /** The only place where preferences stop a delivery; undefined if it can be sent now. */
    withheldBy(decision: Pick<Decision, 'isEnabled' | 'quietHours'>, whose: Whose): Withheld | undefined {
      if (!decision.isEnabled) return { status: 'suppressed', reason: 'turned_off' };
      const time = timeFor(decision, whose);
      if (time.kind === 'now') return undefined;
      if (time.kind === 'dropped') return { status: 'suppressed', reason: 'quiet_hours' };
      return { status: 'queued', reason: 'quiet_hours', dueAt: time.at.toISOString() };
    },
  };
}

/** Whether the time zone database still has the zone; it was valid when it was stored. */
function isZone(name: string): boolean {
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId !== '';
  } catch {
    return false;
  }
}

/** Whether quiet hours cover the whole week. */
export function neverEnd({ start, end, days }: QuietHours): boolean {
  return start !== undefined && start === end && weekdays.every((day) => days?.includes(day) ?? true);
}

/** Preferences that match a category, most specific first. */
function matching(ranks: ReadonlyMap<string, number>, preferences: readonly Preference[]): Preference[] {
  return preferences
    .filter(({ category }) => ranks.has(category))
    .toSorted((left, right) => ranks.get(left.category)! - ranks.get(right.category)!);
}

function layerOf(deciding: Preference | undefined, { isLocked, isOwn }: { isLocked: boolean; isOwn: boolean }): Layer {
  if (isLocked) return 'locked';
  if (isOwn) return 'user_override';
  return deciding === undefined ? 'built_in' : 'tenant_default';
}

function quietHoursOf(overrides: readonly Preference[], defaults: readonly Preference[], isLocked: boolean) {
  const own = overrides.find(statesQuietHours);
  const stated = own ?? defaults.find(statesQuietHours);
  if (stated === undefined) return { quietHours: null, quietHoursLayer: null };
  const { quiet_hours: quietHours } = stated;
  const holding = isLocked ? underLock(quietHours, own !== undefined) : quietHours;
  return { quietHours: holding, quietHoursLayer: own === undefined ? 'tenant_default' : 'user_override' } as const;
}

/** A locked notification can be delayed but not dropped; a critical one is sent at once unless the tenant delays it. */
function underLock(quietHours: QuietHours, isOwn: boolean): QuietHours {
  const holding = quietHours.mode === 'drop' ? { ...quietHours, mode: 'delay' as const } : quietHours;
  return isOwn && holding.exceptCritical === false ? { ...holding, exceptCritical: true } : holding;
}

function statesQuietHours({ quiet_hours: { start, end } }: Preference): boolean {
  return start !== undefined && end !== undefined;
}

function toWindow(quietHours: QuietHours, timezone: string): Window | undefined {
  const { start, end, days = weekdays } = quietHours;
  if (start === undefined || end === undefined) return undefined;
  return {
    start: Temporal.PlainTime.from(start),
    end: Temporal.PlainTime.from(end),
    days: new Set(days),
    timezone,
  };
}

/** End of the quiet hours that apply at an instant; undefined if none do. */
function endOf(window: Window, now: number): number | undefined {
  let at = now;
  for (let next = endAround(window, at); next !== undefined; next = endAround(window, at)) {
    if (next >= now + maxDelayMs) return now + maxDelayMs;
    at = next;
  }
  return at === now ? undefined : at;
}

/** The latest end of all intervals that contain the instant; the next interval may start there. */
function endAround({ start, end, days, timezone }: Window, at: number): number | undefined {
  const today = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timezone).toPlainDate();
  const nextDay = Temporal.PlainTime.compare(start, end) < 0 ? 0 : 1;
  // More than yesterday and today: zones have skipped whole days, and have set clocks back over midnight.
  const ends = [-2, -1, 0, 1]
    .map((offset) => today.add({ days: offset }))
    .filter((day) => days.has(weekdays[day.dayOfWeek - 1]!))
    .map((day) => ({
      from: momentOf(day.toPlainDateTime(start), timezone, 'earlier'),
      to: momentOf(day.add({ days: nextDay }).toPlainDateTime(end), timezone, 'later'),
    }))
    .filter(({ from, to }) => from <= at && at < to)
    .map(({ to }) => to);
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** Instant of a local time. An ambiguous time uses `fold`; a skipped time is the instant of the skip. */
function momentOf(local: Temporal.PlainDateTime, timezone: string, fold: 'earlier' | 'later'): number {
  const zoned = local.toZonedDateTime(timezone, { disambiguation: fold });
  if (zoned.toPlainDateTime().equals(local)) return zoned.epochMilliseconds;
  const before = local.toZonedDateTime(timezone, { disambiguation: 'earlier' });
  return before.getTimeZoneTransition('next')!.epochMilliseconds;
}
