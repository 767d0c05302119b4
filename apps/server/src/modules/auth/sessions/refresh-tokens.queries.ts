import { sql } from 'kysely';

import { queryBuilder, read, write } from '#core/data/db/query';
import type { AuthTables } from '#modules/auth/auth.tables';

const builder = queryBuilder<AuthTables>();

export const insertRefreshToken = write<
  { hash: Buffer; tenantId: string; sessionId: string; at: string; expiresAt: string },
  never
>((p) =>
  builder.insertInto('refresh_tokens').values({
    hash: p.hash,
    tenant_id: p.tenantId,
    session_id: p.sessionId,
    created_at: p.at,
    expires_at: p.expiresAt,
    used_at: null,
    settled_at: null,
  }),
);

/** Consumes a refresh token: exactly one of several concurrent calls gets the row. */
export const useRefreshToken = write<{ hash: Buffer; now: string }, { tenant_id: string; session_id: string }>((p) =>
  builder
    .updateTable('refresh_tokens')
    .set({ used_at: p.now })
    .where('hash', '=', p.hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', p.now)
    .returning(['tenant_id', 'session_id']),
);

export const settleRefreshToken = write<{ hash: Buffer; now: string }, never>((p) =>
  builder.updateTable('refresh_tokens').set({ settled_at: p.now }).where('hash', '=', p.hash),
);

export const findRefreshToken = read<
  { hash: Buffer },
  { tenant_id: string; session_id: string; settled_at: string | null; used_at: string | null }
>((p) =>
  builder
    .selectFrom('refresh_tokens')
    .select(['tenant_id', 'session_id', 'settled_at', 'used_at'])
    .where('hash', '=', p.hash),
);

/** Deletes expired tokens after their retention period. */
export const deleteExpiredRefreshTokens = write<{ before: string; limit: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('refresh_tokens')
    .where('hash', 'in', (db) =>
      db.selectFrom('refresh_tokens').select('hash').where('expires_at', '<', p.before).limit(p.limit),
    )
    .returning(sql<number>`1`.as('deleted')),
);
