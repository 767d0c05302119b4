import { sql } from 'kysely';

import { queryBuilder, statement } from '#core/db/query';

type Tables = {
  known_logins: { account_id: string; origin: string; first_seen_at: string; last_seen_at: string };
};

const builder = queryBuilder<Tables>();

/**
 * Remembers from where an account is logged in to. Says whether that is news: nobody has from there, though somebody has from
 * elsewhere.
 */
export const rememberLogin = statement<{ accountId: string; origin: string; at: string }, { is_news: boolean }>(
  (p) =>
    builder
      .with('remembered', (db) =>
        db
          .insertInto('known_logins')
          .values({ account_id: p.accountId, origin: p.origin, first_seen_at: p.at, last_seen_at: p.at })
          .onConflict((conflict) =>
            conflict.columns(['account_id', 'origin']).doUpdateSet({ last_seen_at: sql`excluded.last_seen_at` }),
          )
          // Zero in a row that was not there before.
          .returning(sql<boolean>`xmax = 0`.as('is_new')),
      )
      .selectFrom('remembered')
      .select(({ exists, selectFrom, and, ref }) =>
        and([
          ref('remembered.is_new'),
          // As the table was before this statement.
          exists(selectFrom('known_logins').select('origin').where('account_id', '=', p.accountId)),
        ]).as('is_news'),
      ) as never,
);

/** Housekeeping: from where nobody has logged in for long. */
export const deleteOldLogins = statement<{ before: string; most: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('known_logins')
    .where(({ eb, refTuple, selectFrom }) => {
      const old = selectFrom('known_logins')
        .select(['account_id', 'origin'])
        .where('last_seen_at', '<', p.before)
        .orderBy('last_seen_at')
        .limit(p.most);
      return eb(refTuple('account_id', 'origin'), 'in', old.$asTuple('account_id', 'origin'));
    })
    .returning(sql<number>`1`.as('deleted')),
);
