import { sql } from 'kysely';

import { queryBuilder, write } from '#core/data/db/query';
import type { ProviderTables } from '#modules/identity-providers/identity-providers.tables';

const builder = queryBuilder<ProviderTables>();

export const insertFlow = write<{ hash: Buffer; payload: string; at: string; expiresAt: string }, never>((p) =>
  builder
    .insertInto('provider_flows')
    .values({ hash: p.hash, payload: p.payload, created_at: p.at, expires_at: p.expiresAt, used_at: null }),
);

/** Consumes a flow: exactly one of several concurrent answers with one state gets the row. */
export const useFlow = write<{ hash: Buffer; now: string }, { payload: string }>((p) =>
  builder
    .updateTable('provider_flows')
    .set({ used_at: p.now })
    .where('hash', '=', p.hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', p.now)
    .returning('payload'),
);

/** Deletes expired flows. */
export const deleteExpiredFlows = write<{ before: string; limit: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('provider_flows')
    .where('hash', 'in', (db) =>
      db.selectFrom('provider_flows').select('hash').where('expires_at', '<', p.before).limit(p.limit),
    )
    .returning(sql<number>`1`.as('deleted')),
);
