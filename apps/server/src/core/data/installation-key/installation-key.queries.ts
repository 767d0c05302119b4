import { sql } from 'kysely';

import { queryBuilder, read, write } from '#core/data/db/query';

type KeyRow = { name: string; wrapped_key: string; created_at: string; wrapped_at: string };
type Tables = {
  installation_keys: KeyRow;
  accounts: { id: string; password_hash: string | null };
  signing_keys: { private_key: string };
};

export type WrappedKey = Pick<KeyRow, 'name' | 'wrapped_key'>;

const builder = queryBuilder<Tables>();

export const listInstallationKeys = read<Record<string, never>, WrappedKey>(() =>
  builder.selectFrom('installation_keys').select(['name', 'wrapped_key']),
);

/** Nothing where another process was first. */
export const insertInstallationKey = write<{ name: string; wrappedKey: string; at: string }, never>((p) =>
  builder
    .insertInto('installation_keys')
    .values({ name: p.name, wrapped_key: p.wrappedKey, created_at: p.at, wrapped_at: p.at })
    .onConflict((conflict) => conflict.doNothing()),
);

/** Only where it still is what was opened. */
export const rewrapInstallationKey = write<{ name: string; from: string; to: string; at: string }, never>((p) =>
  builder
    .updateTable('installation_keys')
    .set({ wrapped_key: p.to, wrapped_at: p.at })
    .where('name', '=', p.name)
    .where('wrapped_key', '=', p.from),
);

export const findAnyAccount = read<Record<string, never>, { id: string }>(() =>
  builder.selectFrom('accounts').select('id').limit(1),
);

/** The ids of the keys that encrypted what every installation has: passwords, and keys that sign tokens. */
export const listSealingKeys = read<Record<string, never>, { key_id: string }>(() =>
  builder
    .selectFrom('signing_keys')
    .select(sql<string>`split_part(private_key, '.', 2)`.as('key_id'))
    .union(
      builder
        .selectFrom('accounts')
        .select(sql<string>`split_part(password_hash, '.', 2)`.as('key_id'))
        .where('password_hash', 'is not', null),
    ),
);
