import { sql } from 'kysely';

import { lock, queryBuilder, read, write } from '#core/data/db/query';

type Translations = Readonly<Record<string, { name?: string | null; description?: string | null }>>;
type Tables = {
  spaces: {
    tenant_id: string;
    id: string;
    name: string;
    description: string | null;
    translations_i18n: Translations;
    updated_at: string;
    updated_by: string | null;
  };
};

type Some = { tenantId: string; ids: readonly string[] };
type Page = { tenantId: string; after: string; most: number };
type Change = { tenantId: string; id: string; translations: Translations; at: string; userId: string | null };
type Row = { id: string; name: string; description: string | null; translations: Translations };

const builder = queryBuilder<Tables>();
const columns = ['id', 'name', 'description', 'translations_i18n as translations'] as const;

const update = write<Change, { id: string }>((p) =>
  builder
    .updateTable('spaces')
    .set({ translations_i18n: p.translations, updated_at: p.at, updated_by: p.userId })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id'),
);

/** The translated texts of spaces; `write` adds no audit event, because the caller records more details. */
export const spaceTexts = {
  find: read<Some, Row>((p) =>
    builder
      .selectFrom('spaces')
      .select(columns)
      .where('tenant_id', '=', p.tenantId)
      .where(sql<boolean>`id = any(${p.ids}::uuid[])`),
  ),
  /** Locks the rows until the transaction ends, in the order of their ids to avoid deadlocks. */
  lock: lock<Some, Row>((p) =>
    builder
      .selectFrom('spaces')
      .select(columns)
      .where('tenant_id', '=', p.tenantId)
      .where(sql<boolean>`id = any(${p.ids}::uuid[])`)
      .orderBy('id')
      .forNoKeyUpdate(),
  ),
  /** Lists ids in ascending order, starting after `after`. */
  list: read<Page, { id: string }>((p) =>
    builder
      .selectFrom('spaces')
      .select('id')
      .where('tenant_id', '=', p.tenantId)
      .where('id', '>', p.after)
      .orderBy('id')
      .limit(p.most),
  ),
  write: ({ id }: Row, change: Omit<Change, 'id'>) => update({ ...change, id }),
};
