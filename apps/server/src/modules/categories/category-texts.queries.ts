import { sql } from 'kysely';

import { lock, queryBuilder, read, write } from '#core/data/db/query';
import type { CategoryTables } from '#modules/categories/categories.queries';

type Translations = CategoryTables['categories']['translations'];

type Some = { tenantId: string; ids: readonly string[] };
type Page = { tenantId: string; after: string; most: number };
type Change = { tenantId: string; id: string; translations: Translations; searchText: string; at: string };
/** All texts of a category stand in its translations, those in the language of the tenant, too. */
export type CategoryTextsRow = { id: string; key: string; translations: Translations };

const builder = queryBuilder<CategoryTables>();
const columns = ['id', 'key', 'translations'] as const;

export const findTexts = read<Some, CategoryTextsRow>((p) =>
  builder
    .selectFrom('categories')
    .select(columns)
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`id = any(${p.ids}::uuid[])`),
);

/** Locks the rows until the transaction ends, in the order of their ids to avoid deadlocks. */
export const lockTexts = lock<Some, CategoryTextsRow>((p) =>
  builder
    .selectFrom('categories')
    .select(columns)
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`id = any(${p.ids}::uuid[])`)
    .orderBy('id')
    .forNoKeyUpdate(),
);

/** Lists ids in ascending order, starting after `after`. */
export const listTexts = read<Page, { id: string }>((p) =>
  builder
    .selectFrom('categories')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.most),
);

export const updateTexts = write<Change, { id: string }>((p) =>
  builder
    .updateTable('categories')
    .set({ translations: p.translations, search_text: p.searchText, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id'),
);
