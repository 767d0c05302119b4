import { sql } from 'kysely';

import { queryBuilder, read, write } from '#core/data/db/query';

type Tables = {
  known_logins: {
    account_id: string;
    origin: string;
    first_seen_at: string;
    last_seen_at: string;
    proven_at: string | null;
  };
};

const builder = queryBuilder<Tables>();

/**
 * Stores the origin of a login. The result says whether it is new: unknown, while the account has other known origins.
 */
export const rememberLogin = write<
  { accountId: string; origin: string; at: string; provenAt: string | null },
  { is_new_origin: boolean }
>(
  (p) =>
    builder
      .with('remembered', (db) =>
        db
          .insertInto('known_logins')
          .values({
            account_id: p.accountId,
            origin: p.origin,
            first_seen_at: p.at,
            last_seen_at: p.at,
            proven_at: p.provenAt,
          })
          .onConflict((conflict) =>
            conflict.columns(['account_id', 'origin']).doUpdateSet({
              last_seen_at: sql`excluded.last_seen_at`,
              proven_at: sql`coalesce(excluded.proven_at, known_logins.proven_at)`,
            }),
          )
          // `xmax` is zero for an inserted row.
          .returning(sql<boolean>`xmax = 0`.as('is_inserted')),
      )
      .selectFrom('remembered')
      .select(({ exists, selectFrom, and, ref }) =>
        and([
          ref('remembered.is_inserted'),
          // The state of the table before this statement.
          exists(selectFrom('known_logins').select('origin').where('account_id', '=', p.accountId)),
        ]).as('is_new_origin'),
      ) as never,
);

/** The origin, if the account itself was authenticated from there. */
export const findProvenOrigin = read<{ accountId: string; origin: string }, { origin: string }>((p) =>
  builder
    .selectFrom('known_logins')
    .select('origin')
    .where('account_id', '=', p.accountId)
    .where('origin', '=', p.origin)
    .where('proven_at', 'is not', null),
);

export const listOrigins = read<{ accountId: string }, { origin: string }>((p) =>
  builder.selectFrom('known_logins').select('origin').where('account_id', '=', p.accountId),
);

/** Deletes origins without a recent login. */
export const deleteOldLogins = write<{ before: string; limit: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('known_logins')
    .where(({ eb, refTuple, selectFrom }) => {
      const old = selectFrom('known_logins')
        .select(['account_id', 'origin'])
        .where('last_seen_at', '<', p.before)
        .orderBy('last_seen_at')
        .limit(p.limit);
      return eb(refTuple('account_id', 'origin'), 'in', old.$asTuple('account_id', 'origin'));
    })
    .returning(sql<number>`1`.as('deleted')),
);
