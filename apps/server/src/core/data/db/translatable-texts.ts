import { mergedJson } from '#core/data/db/json';
import { queryBuilder, write } from '#core/data/db/query';
import { idsAfter, lockByIds, rowsByIds, type TenantTable } from '#core/data/db/rows';

/** Rows with texts in the language of the tenant, and their translations by language. */
type Translatable<Stored> = { id: string; name: string; translations_i18n: Stored; updated_at: string };
type Texts<Row extends Translatable<unknown>> = Pick<Row, Extract<keyof Row, 'id' | 'name' | 'description'>> & {
  translations: Row['translations_i18n'];
};
type Change<Row extends Translatable<unknown>> = {
  tenantId: string;
  translations: Row['translations_i18n'];
  at: string;
  userId: string | null;
};

const builder = queryBuilder<Record<string, Record<string, unknown>>>();

/** The translated texts of a table; `write` adds no audit event, because the caller records more details. */
export function translatableTexts<Row extends Translatable<unknown>>(table: TenantTable<Row>) {
  const has = (name: string) => (table.columns as readonly string[]).includes(name);
  const columns = ['id', 'name', 'description'].filter(has);
  const texts = {
    ...table,
    columns: [...columns, 'translations_i18n as translations'],
  } as unknown as TenantTable<Texts<Row>>;
  const update = write<Change<Row> & { id: string }, { id: string }>(
    (p) =>
      builder
        .updateTable(table.name)
        .set({
          translations_i18n: p.translations,
          updated_at: p.at,
          ...(has('updated_by') ? { updated_by: p.userId } : {}),
        })
        .where('tenant_id', '=', p.tenantId)
        .where('id', '=', p.id)
        .returning('id') as never,
  );
  return {
    find: rowsByIds(texts),
    lock: lockByIds(texts, 'for no key update'),
    list: idsAfter(table),
    write: ({ id }: Texts<Row>, change: Change<Row>) => update({ ...change, id }),
  };
}

/** Changes that merge the given translations into the stored ones by language; null removes a language. */
export function mergingTranslations<
  Stored,
  Changes extends { translations_i18n?: Readonly<Record<string, Stored | null>> },
>({ translations_i18n: translations, ...others }: Changes) {
  return translations === undefined
    ? others
    : { ...others, translations_i18n: mergedJson('translations_i18n', translations) };
}
