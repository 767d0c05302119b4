import { Cron } from 'croner';

/** How to handle slots that were not started in time: skip them, run once for all, or run each of the last 24. */
export const catchUpPolicies = ['skip', 'run_once', 'all'] as const;
export type CatchUp = (typeof catchUpPolicies)[number];

/** A cron expression of five fields, and the time zone (IANA) that it is read in. */
export type Schedule = { schedule: string; timezone: string };

/** A slot that starts no later than this is on time: twice the minute in which a dispatch is expected. */
export const lateAfterMs = 2 * 60_000;

const maxCaughtUp = 24;

/** One run to be started. */
export type DueSlot = { at: Date; trigger: 'schedule' | 'catch_up' };

/** The due slots of one job. */
export type Due = {
  /** The oldest first. */
  slots: readonly DueSlot[];
  /** The last slot that has come, whether it is run or left out; undefined where none has. */
  last: Date | undefined;
  /** The oldest slot that was not started in time. */
  missed: Date | undefined;
};

const nothing: Due = { slots: [], last: undefined, missed: undefined };

/** The slots due of a schedule that is handled up to `handledUntil`. A clock that went back makes none due. */
export function findDue(
  terms: Schedule & { catchUp: CatchUp },
  { handledUntil, now }: Record<'handledUntil' | 'now', Date>,
): Due {
  const next = nextSlot(terms, handledUntil);
  // In most cases no slot is due, and listing past slots takes milliseconds per job.
  if (next !== undefined && next > now) return nothing;
  const slots = lastSlots(terms, now).filter((slot) => slot > handledUntil);
  const last = slots.at(-1);
  if (last === undefined) return nothing;
  const isLate = (slot: Date) => now.getTime() - slot.getTime() > lateAfterMs;
  const first = next ?? last;
  const wanted = terms.catchUp === 'all' ? slots : slots.slice(-1);
  const runnable = terms.catchUp === 'skip' ? wanted.filter((slot) => !isLate(slot)) : wanted;
  return {
    slots: runnable.map((at) => ({ at, trigger: isLate(at) ? 'catch_up' : 'schedule' })),
    last,
    missed: isLate(first) ? first : undefined,
  };
}

/** The first slot after an instant; undefined where there never is one. */
export function nextSlot(terms: Schedule, after: Date): Date | undefined {
  return toCron(terms).nextRun(after) ?? undefined;
}

/** The last slot up to and with an instant; undefined where none has come. */
export function lastSlot(terms: Schedule, until: Date): Date | undefined {
  return toCron(terms).previousRuns(1, new Date(until.getTime() + 1))[0];
}

/** The most recent slots up to and with an instant, the oldest first. */
function lastSlots(terms: Schedule, until: Date): Date[] {
  const justAfter = new Date(until.getTime() + 1);
  return toCron(terms)
    .previousRuns(maxCaughtUp, justAfter)
    .filter((slot) => slot <= until)
    .toReversed();
}

/** Why a schedule cannot be kept; undefined when it can. The time zone is known to exist. */
export function scheduleProblem(terms: Schedule, now: Date): string | undefined {
  if (terms.schedule.trim().split(/\s+/).length !== 5) return 'Write five fields: minute hour day month weekday.';
  try {
    return nextSlot(terms, now) === undefined ? 'The schedule never comes.' : undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function toCron({ schedule, timezone }: Schedule): Cron {
  return new Cron(schedule.trim(), { mode: '5-part', timezone, paused: true });
}
