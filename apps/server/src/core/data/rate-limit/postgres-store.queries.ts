import { sql } from 'kysely';

import { queryBuilder, write } from '#core/data/db/query';

const builder = queryBuilder<{ rate_limits: { key: string; attempts: number; window_ends_at: string } }>();

/** Counts an attempt before it is evaluated; a window that has ended starts again at one. */
export const takeAttempt = write<
  { key: string; now: string; windowEndsAt: string },
  { attempts: number; window_ends_at: string }
>((p) =>
  builder
    .insertInto('rate_limits')
    .values({ key: p.key, attempts: 1, window_ends_at: p.windowEndsAt })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet({
        attempts: sql`case when rate_limits.window_ends_at <= ${p.now}::timestamptz then 1 else rate_limits.attempts + 1 end`,
        window_ends_at: sql`case when rate_limits.window_ends_at <= ${p.now}::timestamptz then excluded.window_ends_at else rate_limits.window_ends_at end`,
      }),
    )
    .returning(['attempts', 'window_ends_at']),
);

/** Takes an attempt back that was no failure, or was never evaluated; not from a window that has begun since. */
export const refundAttempt = write<{ key: string; windowEndsAt: string }, never>((p) =>
  builder
    .updateTable('rate_limits')
    .set({ attempts: sql`greatest(attempts - 1, 0)` })
    .where('key', '=', p.key)
    .where('window_ends_at', '=', p.windowEndsAt),
);

/** Forgets what was counted: the reason to count it is gone. */
export const forgetAttempts = write<{ key: string }, never>((p) =>
  builder.deleteFrom('rate_limits').where('key', '=', p.key),
);

/** Housekeeping: windows that have ended. */
export const deleteEndedWindows = write<{ now: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('rate_limits')
    .where('key', 'in', (db) =>
      db.selectFrom('rate_limits').select('key').where('window_ends_at', '<', p.now).limit(p.max),
    )
    .where('window_ends_at', '<', p.now)
    .returning(sql<number>`1`.as('deleted')),
);
