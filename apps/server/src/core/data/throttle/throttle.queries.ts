import { sql } from 'kysely';

import { queryBuilder, write } from '#core/data/db/query';
type Tables = { throttles: { key: string; failures: number; window_ends_at: string } };

const builder = queryBuilder<Tables>();

/** Counts an attempt before it is evaluated; a window that has ended starts again at one. */
export const countAttempt = write<
  { key: string; now: string; windowEndsAt: string },
  { failures: number; window_ends_at: string }
>((p) =>
  builder
    .insertInto('throttles')
    .values({ key: p.key, failures: 1, window_ends_at: p.windowEndsAt })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet({
        failures: sql`case when throttles.window_ends_at <= ${p.now}::timestamptz then 1 else throttles.failures + 1 end`,
        window_ends_at: sql`case when throttles.window_ends_at <= ${p.now}::timestamptz then excluded.window_ends_at else throttles.window_ends_at end`,
      }),
    )
    .returning(['failures', 'window_ends_at']),
);

/** Takes an attempt back that was no failure, or was never evaluated; not from a window that has begun since. */
export const refundAttempt = write<{ key: string; windowEndsAt: string }, never>((p) =>
  builder
    .updateTable('throttles')
    .set({ failures: sql`greatest(failures - 1, 0)` })
    .where('key', '=', p.key)
    .where('window_ends_at', '=', p.windowEndsAt),
);

/** Forgets what was counted: the reason to count it is gone. */
export const forgetAttempts = write<{ key: string }, never>((p) =>
  builder.deleteFrom('throttles').where('key', '=', p.key),
);

/** Housekeeping: windows that have ended. */
export const deleteEndedWindows = write<{ now: string; most: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('throttles')
    .where('key', 'in', (db) =>
      db.selectFrom('throttles').select('key').where('window_ends_at', '<', p.now).limit(p.most),
    )
    .where('window_ends_at', '<', p.now)
    .returning(sql<number>`1`.as('deleted')),
);
