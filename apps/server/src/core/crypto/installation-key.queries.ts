import { queryBuilder, statement } from '#core/db/query';

type KeyRow = { name: string; wrapped_key: string; created_at: string; wrapped_at: string };

const builder = queryBuilder<{ installation_keys: KeyRow; accounts: { id: string } }>();

export const findInstallationKey = statement<{ name: string }, Pick<KeyRow, 'wrapped_key'>>((p) =>
  builder.selectFrom('installation_keys').select('wrapped_key').where('name', '=', p.name),
);

/** No row where another process was first. */
export const insertInstallationKey = statement<
  { name: string; wrappedKey: string; at: string },
  Pick<KeyRow, 'wrapped_key'>
>((p) =>
  builder
    .insertInto('installation_keys')
    .values({ name: p.name, wrapped_key: p.wrappedKey, created_at: p.at, wrapped_at: p.at })
    .onConflict((conflict) => conflict.doNothing())
    .returning('wrapped_key'),
);

/** Only where it still is what was opened. */
export const rewrapInstallationKey = statement<{ name: string; from: string; to: string; at: string }, never>((p) =>
  builder
    .updateTable('installation_keys')
    .set({ wrapped_key: p.to, wrapped_at: p.at })
    .where('name', '=', p.name)
    .where('wrapped_key', '=', p.from),
);

export const findAnyAccount = statement<Record<string, never>, { id: string }>(() =>
  builder.selectFrom('accounts').select('id').limit(1),
);
