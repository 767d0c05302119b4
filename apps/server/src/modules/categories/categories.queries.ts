import { sql, type SelectQueryBuilder } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import {
  auditedWrite,
  lock,
  queryBuilder,
  read,
  searchPatterns,
  toAuditedWrite,
  toRead,
  write,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';

type Translations = Readonly<Record<string, { name: string; description: string | null }>>;

export type CategoryColumns = {
  tenant_id: string;
  id: string;
  parent_id: string | null;
  key: string;
  filter_id: string | null;
  level: number;
  translations: Translations;
  usage_count: number;
  created_by: string | null;
  created_at: string;
  updated_at: string;
};

/** The presentation of a category also depends on the default language of its tenant. */
export type CategoryRow = CategoryColumns & { default_language: string };

export type CategoryTables = {
  categories: CategoryColumns & { path: string; search_text: string };
  tenants: { id: string; default_language: string };
};

type ById = { tenantId: string; id: string };

const builder = queryBuilder<CategoryTables>();

export const categoryColumns = [
  'tenant_id',
  'id',
  'parent_id',
  'key',
  'filter_id',
  'level',
  'translations',
  'usage_count',
  'created_by',
  'created_at',
  'updated_at',
] as const;

export function defaultLanguage(tenantId: string) {
  const own = builder.selectFrom('tenants').select('default_language').where('id', '=', tenantId);
  return sql<string>`${own}`.as('default_language');
}

export const findCategory = read<ById, CategoryRow>((p) =>
  builder
    .selectFrom('categories')
    .select([...categoryColumns, defaultLanguage(p.tenantId)])
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id),
);

export type LockedCategory = Pick<CategoryTables['categories'], 'id' | 'parent_id' | 'key' | 'level' | 'path'> & {
  translations: Translations;
};

/** Locks the row until the transaction ends, so that merged translations and counts stay correct. */
export const lockCategory = lock<ById, LockedCategory>((p) =>
  builder
    .selectFrom('categories')
    .select(['id', 'parent_id', 'key', 'level', 'path', 'translations'])
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .forNoKeyUpdate(),
);

type NewCategory = CategoryTables['categories'];

export const insertCategory = auditedWrite<NewCategory & AuditParams, CategoryRow>((p) => {
  const names = [...categoryColumns, 'path', 'search_text'] as const;
  const change = builder
    .insertInto('categories')
    .values(Object.fromEntries([['tenant_id', p.tenantId], ...names.map((name) => [name, p[name]])]) as NewCategory)
    .returning([...categoryColumns, defaultLanguage(p.tenantId)]);
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
    .returning([...categoryColumns, defaultLanguage(audit.tenantId)]);
  return toAuditedWrite(
    withAudit<CategoryRow>(change, { action: 'category.updated', resourceType: 'category' }, audit),
  );
}

export const deleteCategory = auditedWrite<{ id: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .deleteFrom('categories')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id');
  return withAudit<{ id: string }>(
    change,
    { action: 'category.deleted', resourceType: 'category', counts: { table: 'categories', by: -1 } },
    p,
  );
});

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
  let query = filtered(tenantId, filters).select([...categoryColumns, defaultLanguage(tenantId)]);
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
