import { createKeyedTurns } from '#core/base/concurrency/keyed-turns';
import type { ErrorDefinition } from '#core/base/errors/app-error';
import type { Database } from '#core/data/db/database';
import { perDatabase } from '#core/data/db/per-database';
import type { Query } from '#core/data/db/query';
import { countAttempt, refundAttempt } from '#core/data/throttle/throttle.queries';

/** How many attempts a key has within a window that begins with the first of them. */
export type Budget = { key: string; max: number; windowMs: number };

/** One budget, or several that an attempt draws from at once. */
export type Attempt = {
  /** @throws the given error, with the seconds to wait, when a budget is spent; nothing is drawn then. */
  admit(): Promise<void>;
  /** The statements that give the attempt back, for the transaction of its success. */
  refund(): Query<never>[];
};

type Services = { database: Database; now(): Date };

/** Counts before it is evaluated what may be tried only so often, in the database, so that all processes share it. */
export function createAttempt(services: Services, budgets: readonly Budget[], error: ErrorDefinition): Attempt {
  let drawn: { key: string; windowEndsAt: string }[] = [];
  const refund = () => drawn.map((draw) => refundAttempt(draw));
  return {
    refund,
    async admit() {
      if (budgets.length === 0) return;
      const db = services.database.credential().slow;
      const now = services.now();
      const counts = budgets.map((budget) =>
        countAttempt({
          key: budget.key,
          now: now.toISOString(),
          windowEndsAt: new Date(now.getTime() + budget.windowMs).toISOString(),
        }),
      );
      const keys = budgets.map(({ key }) => key);
      const counted = await turns(services.database)(keys, () => db.flight(counts));
      const draws = budgets.map((budget, at) => ({ budget, row: counted[at]![0]! }));
      drawn = draws.map(({ budget, row }) => ({ key: budget.key, windowEndsAt: row.window_ends_at }));
      const spent = draws.filter(({ budget, row }) => row.failures > budget.max);
      if (spent.length === 0) return;
      await db.flight(refund());
      drawn = [];
      const waitMs = Math.max(...spent.map(({ row }) => Date.parse(row.window_ends_at))) - now.getTime();
      throw error({ retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) });
    },
  };
}

/**
 * In the database, all but one draw from a budget would wait for its row, each on a connection that others need. If one cannot
 * be counted, those behind it cannot either.
 */
const turns = perDatabase(createKeyedTurns);
