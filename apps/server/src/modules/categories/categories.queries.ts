import { sql, type SelectQueryBuilder } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { deleteRow } from '#core/data/audit/audited-rows.queries';
import {
  auditedWrite,
  queryBuilder,
  read,
  searchPatterns,
  toAuditedWrite,
  toRead,
  write,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import {
  typed,
  idsAfter,
  integer,
  lockById,
  lockByIds,
  rowsByIds,
  tenantTable,
  text,
  time,
  uuid,
  type ById,
  type RowOf,
} from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';

type Translations = Readonly<Record<string, { name: string; description: string | null }>>;

export const categories = tenantTable('categories', {
  tenant_id: uuid,
  id: uuid,
  parent_id: uuid.orNull,
  key: text,
  filter_id: text.orNull,
  level: integer,
  translations: typed<Translations>(),
  usage_count: integer,
  created_by: uuid.orNull,
  created_at: time,
  updated_at: time,
});
type CategoryColumns = RowOf<typeof categories>;

/** The presentation of a category also depends on the default language of its tenant. */
export type CategoryRow = CategoryColumns & { default_language: string };

export type CategoryTables = {
  categories: CategoryColumns & { path: string; search_text: string };
  tenants: { id: string; default_language: string };
};

const builder = queryBuilder<CategoryTables>();

export function defaultLanguage(tenantId: string) {
  const own = builder.selectFrom('tenants').select('default_language').where('id', '=', tenantId);
  return sql<string>`${own}`.as('default_language');
}

export const findCategory = read<ById, CategoryRow>((p) =>
  builder
    .selectFrom('categories')
    .select([...categories.columns, defaultLanguage(p.tenantId)])
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id),
);

const locked = tenantTable('categories', {
  id: uuid,
  parent_id: uuid.orNull,
  key: text,
  level: integer,
  path: text,
  translations: typed<Translations>(),
});
export type LockedCategory = RowOf<typeof locked>;

/** Merged translations and counts stay correct. */
export const lockCategory = lockById(locked, 'for no key update');

type NewCategory = CategoryTables['categories'];

export const insertCategory = auditedWrite<NewCategory & AuditParams, CategoryRow>((p) => {
  const names = [...categories.columns, 'path', 'search_text'] as const;
  const change = builder
    .insertInto('categories')
    .values(Object.fromEntries([['tenant_id', p.tenantId], ...names.map((name) => [name, p[name]])]) as NewCategory)
    .returning([...categories.columns, defaultLanguage(p.tenantId)]);
  return withAudit<CategoryRow>(
    change,
    { action: 'category.created', resourceType: 'category', counts: { table: 'categories', by: 1 } },
    p,
  );
});

export type CategoryChanges = Partial<
  Pick<NewCategory, 'key' | 'filter_id' | 'translations' | 'search_text' | 'updated_at'>
>;

export function updateCategory(id: string, changes: CategoryChanges, audit: AuditParams): WriteStatement<CategoryRow> {
  const change = builder
    .updateTable('categories')
    .set(changes)
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .returning([...categories.columns, defaultLanguage(audit.tenantId)]);
  return toAuditedWrite(
    withAudit<CategoryRow>(change, { action: 'category.updated', resourceType: 'category' }, audit),
  );
}

export const deleteCategory = deleteRow(categories, { action: 'category.deleted', resourceType: 'category' });

export type CategoryFilters = {
  search: string | undefined;
  parentId: string | null | undefined;
  level: number | undefined;
  key: string | undefined;
  filterId: string | undefined;
};
export type CategoryOrder = { column: 'level' | 'key' | 'created_at'; descending: boolean };

/** The search text has the same form as the column `search_text`. */
export function listCategories(
  tenantId: string,
  filters: CategoryFilters,
  page: { limit: number; offset: number; order: CategoryOrder | undefined },
): ReadStatement<CategoryRow> {
  const { column, descending } = page.order ?? { column: 'level', descending: false };
  const direction = descending ? 'desc' : 'asc';
  let query = filtered(tenantId, filters).select([...categories.columns, defaultLanguage(tenantId)]);
  if (column === 'level') query = query.orderBy('level', direction);
  // Ids are UUIDv7, so their order is the order of creation.
  query = query.orderBy(column === 'created_at' ? 'id' : 'key', direction);
  return toRead(query.limit(page.limit).offset(page.offset));
}

export function countCategories(tenantId: string, filters: CategoryFilters): ReadStatement<{ total: number }> {
  return countMatches(filtered(tenantId, filters).select('id'));
}

type CategorySelect = SelectQueryBuilder<CategoryTables, 'categories', object>;

function filtered(tenantId: string, { search, parentId, level, key, filterId }: CategoryFilters): CategorySelect {
  let query: CategorySelect = builder.selectFrom('categories').where('tenant_id', '=', tenantId);
  for (const pattern of searchPatterns(search)) query = query.where('search_text', 'like', pattern);
  // `is not distinct from` covers both cases, but it cannot use an index.
  if (parentId !== undefined) query = query.where('parent_id', parentId === null ? 'is' : '=', parentId);
  if (level !== undefined) query = query.where('level', '=', level);
  if (key !== undefined) query = query.where('key', '=', key);
  if (filterId !== undefined) query = query.where('filter_id', '=', filterId);
  return query;
}

/** Keeps `usage_count` equal to the number of links. */
export const addUsage = write<ById & { amount: number }, never>((p) =>
  builder
    .updateTable('categories')
    .set({ usage_count: sql`usage_count + ${p.amount}::integer` })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id),
);

/** The texts of a category stand in its translations, those in the language of the tenant, too. */
export type CategoryTextsRow = Pick<CategoryColumns, 'id' | 'key' | 'translations'>;
export const findTexts = rowsByIds(categories, 'id', 'key', 'translations');
export const lockTexts = lockByIds(categories, 'for no key update', 'id', 'key', 'translations');
export const listTexts = idsAfter(categories);

type Texts = ById & { translations: Translations; searchText: string; at: string };

export const updateTexts = write<Texts, { id: string }>((p) =>
  builder
    .updateTable('categories')
    .set({ translations: p.translations, search_text: p.searchText, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id'),
);
