import { sql, type GeneratedAlways, type SelectQueryBuilder } from 'kysely';

import { auditOfDone } from '#core/data/audit/audit.queries';
import { insertRow, updateRow, type Update } from '#core/data/audit/audited-rows.queries';
import { queryBuilder, toRead, type ReadStatement } from '#core/data/db/query';
import {
  anyReferrer,
  typed,
  deleteById,
  integer,
  json,
  lockById,
  rowById,
  tenantTable,
  text,
  time,
  uuid,
  type RowOf,
} from '#core/data/db/rows';
import { containsWords, prepareSearch, type Search } from '#core/data/db/search';
import { countMatches } from '#core/data/db/totals';
import { mergingTranslations, translatableTexts } from '#core/data/db/translatable-texts';
import { treeOf } from '#core/data/db/trees';

export type SpaceStatus = 'active' | 'maintenance' | 'archived';

type Texts = { name?: string | null; description?: string | null };

const spaces = tenantTable('spaces', {
  tenant_id: uuid,
  id: uuid,
  parent_id: uuid.orNull,
  type_id: uuid.orNull,
  name: text,
  description: text.orNull,
  translations_i18n: typed<Record<string, Texts>>(),
  capacity: integer.orNull,
  address: json.orNull,
  geo: typed<{ lat: number; lng: number } | null>(),
  timezone: text.orNull,
  status: typed<SpaceStatus>(),
  properties: json,
  created_at: time,
  updated_at: time,
  created_by: uuid.orNull,
  updated_by: uuid.orNull,
});
export type SpaceRow = RowOf<typeof spaces>;

type Tables = {
  spaces: SpaceRow & { search_text: GeneratedAlways<string> };
  space_tags: { tenant_id: string; space_id: string; tag_id: string };
};

const builder = queryBuilder<Tables>();

export const findSpace = rowById(spaces);
export const spaceTexts = translatableTexts(spaces);
export const spaceTree = treeOf(spaces);

/** Locks the row for a new reference. It comes first, so that a concurrent deletion cannot deadlock. */
export const shareSpace = lockById(spaces, 'for key share', 'id');

/** Waits for a child that is being added. */
export const lockSpace = lockById(spaces, 'for update', 'id');

/** The properties that were checked are the ones that are written. */
export const lockSpaceForChange = lockById(spaces, 'for no key update', 'id', 'type_id', 'properties');

export const insertSpace = insertRow(spaces, { action: 'space.created', resourceType: 'space' });

/** Translations are merged by language; null removes a language. */
export type SpaceChanges = Partial<
  Omit<SpaceRow, 'tenant_id' | 'id' | 'translations_i18n' | 'created_at' | 'created_by'> & {
    translations_i18n: Record<string, Texts | null>;
  }
>;

const update = updateRow(spaces, { action: 'space.updated', resourceType: 'space' });
export const updateSpace: Update<SpaceChanges, SpaceRow> = (id, changes, audit) =>
  update(id, mergingTranslations(changes), audit);

export const deleteSpace = deleteById(spaces);

export const recordDeletion = auditOfDone({
  action: 'space.deleted',
  resourceType: 'space',
  counts: { table: 'spaces', by: -1 },
});

export const findAnyResourceWithin = anyReferrer(tenantTable('resources', { space_id: uuid }), 'space_id');

export type SpaceFilters = {
  search?: Search | undefined;
  parentId?: string | null | undefined;
  typeId?: string | null | undefined;
  tagId?: string | undefined;
  status?: SpaceStatus | undefined;
};
export type SpaceOrder = { column: 'name' | 'created_at' | 'updated_at'; descending: boolean };

type SpaceSelect = SelectQueryBuilder<Tables, 'spaces', object>;

export function listSpaces(
  tenantId: string,
  filters: SpaceFilters,
  page: { limit: number; offset: number; order: SpaceOrder | undefined },
): ReadStatement<SpaceRow> {
  const { column, descending } = page.order ?? { column: 'name', descending: false };
  const direction = descending ? 'desc' : 'asc';
  let query = filtered(tenantId, filters).select(spaces.columns);
  if (column === 'name') query = query.orderBy(sql`lower(name)`, direction);
  // Ids are UUIDv7, so their order is the order of creation.
  if (column === 'updated_at') query = query.orderBy('updated_at', direction);
  return prepareSearch(toRead(query.orderBy('id', direction).limit(page.limit).offset(page.offset)), filters);
}

export function countSpaces(tenantId: string, filters: SpaceFilters): ReadStatement<{ total: number }> {
  return prepareSearch(countMatches(filtered(tenantId, filters).select('id')), filters);
}

function filtered(tenantId: string, filters: SpaceFilters): SpaceSelect {
  let query: SpaceSelect = builder.selectFrom('spaces').where('tenant_id', '=', tenantId);
  for (const condition of containsWords(filters.search, { table: 'spaces', tenantId })) query = query.where(condition);
  const { parentId, typeId, tagId } = filters;
  // `is not distinct from` covers both cases, but it cannot use an index.
  if (parentId !== undefined) query = query.where('parent_id', parentId === null ? 'is' : '=', parentId);
  if (typeId !== undefined) query = query.where('type_id', typeId === null ? 'is' : '=', typeId);
  if (tagId !== undefined) {
    const tagged = builder.selectFrom('space_tags').select('space_id').where('tenant_id', '=', tenantId);
    query = query.where('id', 'in', tagged.where('tag_id', '=', tagId));
  }
  if (filters.status !== undefined) query = query.where('status', '=', filters.status);
  return query;
}
