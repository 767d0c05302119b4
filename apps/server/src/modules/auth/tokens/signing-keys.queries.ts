import { queryBuilder, read, write } from '#core/data/db/query';
import type { AuthTables } from '#modules/auth/auth.tables';

const builder = queryBuilder<AuthTables>();

export const listSigningKeys = read<{ createdAfter: string }, AuthTables['signing_keys']>((p) =>
  builder
    .selectFrom('signing_keys')
    .selectAll()
    .where('created_at', '>', p.createdAfter)
    .where('retired_at', 'is', null)
    .orderBy('created_at', 'desc'),
);

export const insertSigningKey = write<
  { id: string; publicJwk: Record<string, unknown>; privateKey: string; at: string },
  never
>((p) =>
  builder.insertInto('signing_keys').values({
    id: p.id,
    public_jwk: p.publicJwk,
    private_key: p.privateKey,
    created_at: p.at,
    retired_at: null,
  }),
);
