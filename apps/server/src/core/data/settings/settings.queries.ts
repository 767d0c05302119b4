import { sql } from 'kysely';

import { queryBuilder, read, write } from '#core/data/db/query';

export type SettingRow = {
  name: string;
  id: string;
  value: Record<string, unknown>;
  created_at: string;
  updated_at: string;
  updated_by: string | null;
};

const builder = queryBuilder<{ installation_settings: SettingRow }>();

export const listSettings = read<Record<string, never>, SettingRow>(() =>
  builder.selectFrom('installation_settings').selectAll(),
);

export const findSetting = read<{ name: string }, SettingRow>((p) =>
  builder.selectFrom('installation_settings').selectAll().where('name', '=', p.name),
);

/** Makes the row where it is missing and holds it to the end of the transaction: changes come one after the other. */
export const lockSetting = write<{ name: string; id: string; at: string }, SettingRow>((p) =>
  builder
    .insertInto('installation_settings')
    .values({ name: p.name, id: p.id, value: {}, created_at: p.at, updated_at: p.at, updated_by: null })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ name: sql`excluded.name` }))
    .returningAll(),
);

export const updateSetting = write<
  { name: string; value: Record<string, unknown>; at: string; by: string | null },
  SettingRow
>((p) =>
  builder
    .updateTable('installation_settings')
    .set({ value: p.value, updated_at: p.at, updated_by: p.by })
    .where('name', '=', p.name)
    .returningAll(),
);
