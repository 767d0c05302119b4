import { sql } from 'kysely';

import { lock, queryBuilder, read, write } from '#core/data/db/query';

type Translations = Readonly<Record<string, { name?: string | null }>>;
type Tables = {
  tags: { tenant_id: string; id: string; name: string; translations_i18n: Translations; updated_at: string };
};

type Some = { tenantId: string; ids: readonly string[] };
type Page = { tenantId: string; after: string; most: number };
type Change = { tenantId: string; id: string; translations: Translations; at: string };
type Row = { id: string; name: string; translations: Translations };

const builder = queryBuilder<Tables>();
const columns = ['id', 'name', 'translations_i18n as translations'] as const;

const update = write<Change, { id: string }>((p) =>
  builder
    .updateTable('tags')
    .set({ translations_i18n: p.translations, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id'),
);

/** The translated texts of tags; `write` adds no audit event, because the caller records more details. */
export const tagTexts = {
  find: read<Some, Row>((p) =>
    builder
      .selectFrom('tags')
      .select(columns)
      .where('tenant_id', '=', p.tenantId)
      .where(sql<boolean>`id = any(${p.ids}::uuid[])`),
  ),
  /** Locks the rows until the transaction ends, in the order of their ids to avoid deadlocks. */
  lock: lock<Some, Row>((p) =>
    builder
      .selectFrom('tags')
      .select(columns)
      .where('tenant_id', '=', p.tenantId)
      .where(sql<boolean>`id = any(${p.ids}::uuid[])`)
      .orderBy('id')
      .forNoKeyUpdate(),
  ),
  /** Lists ids in ascending order, starting after `after`. */
  list: read<Page, { id: string }>((p) =>
    builder
      .selectFrom('tags')
      .select('id')
      .where('tenant_id', '=', p.tenantId)
      .where('id', '>', p.after)
      .orderBy('id')
      .limit(p.most),
  ),
  write: ({ id }: Row, { tenantId, translations, at }: Omit<Change, 'id'>) =>
    update({ tenantId, id, translations, at }),
};
