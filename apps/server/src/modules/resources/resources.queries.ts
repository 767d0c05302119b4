import { sql, type GeneratedAlways, type SelectQueryBuilder } from 'kysely';

import { auditOfDone } from '#core/data/audit/audit.queries';
import { insertRow, updateRow, type Update } from '#core/data/audit/audited-rows.queries';
import { queryBuilder, toRead, type ReadStatement } from '#core/data/db/query';
import {
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

export type ResourceStatus = 'active' | 'maintenance' | 'archived';

type Texts = { name?: string | null; description?: string | null };

const resources = tenantTable('resources', {
  tenant_id: uuid,
  id: uuid,
  space_id: uuid.orNull,
  parent_id: uuid.orNull,
  type_id: uuid.orNull,
  name: text,
  description: text.orNull,
  translations_i18n: typed<Record<string, Texts>>(),
  serial: text.orNull,
  capacity: integer.orNull,
  address: json.orNull,
  geo: typed<{ lat: number; lng: number } | null>(),
  timezone: text.orNull,
  status: typed<ResourceStatus>(),
  properties: json,
  created_at: time,
  updated_at: time,
  created_by: uuid.orNull,
  updated_by: uuid.orNull,
});
export type ResourceRow = RowOf<typeof resources>;

type Tables = {
  resources: ResourceRow & { search_text: GeneratedAlways<string> };
  resource_tags: { tenant_id: string; resource_id: string; tag_id: string };
};

const builder = queryBuilder<Tables>();

export const findResource = rowById(resources);
export const resourceTexts = translatableTexts(resources);
export const resourceTree = treeOf(resources);

/** Locks the row for a new part. It comes first, so that a concurrent deletion cannot deadlock. */
export const shareResource = lockById(resources, 'for key share', 'id');

/** Waits for a child that is being added. */
export const lockResource = lockById(resources, 'for update', 'id');

/** The merged and checked properties are the ones that are written. */
export const lockResourceForChange = lockById(resources, 'for no key update', 'id', 'type_id', 'properties');

export const insertResource = insertRow(resources, { action: 'resource.created', resourceType: 'resource' });

/** Translations are merged by language; null removes a language. */
export type ResourceChanges = Partial<
  Omit<ResourceRow, 'tenant_id' | 'id' | 'translations_i18n' | 'created_at' | 'created_by'> & {
    translations_i18n: Record<string, Texts | null>;
  }
>;

const update = updateRow(resources, { action: 'resource.updated', resourceType: 'resource' });
export const updateResource: Update<ResourceChanges, ResourceRow> = (id, changes, audit) =>
  update(id, mergingTranslations(changes), audit);

export const deleteResource = deleteById(resources);

export const recordDeletion = auditOfDone({
  action: 'resource.deleted',
  resourceType: 'resource',
  counts: { table: 'resources', by: -1 },
});

export type ResourceFilters = {
  search?: Search | undefined;
  spaceId?: string | null | undefined;
  parentId?: string | null | undefined;
  typeId?: string | null | undefined;
  tagId?: string | undefined;
  status?: ResourceStatus | undefined;
  name?: string | undefined;
  serial?: string | undefined;
};
export type ResourceOrder = { column: 'name' | 'created_at' | 'updated_at'; descending: boolean };

type ResourceSelect = SelectQueryBuilder<Tables, 'resources', object>;

export function listResources(
  tenantId: string,
  filters: ResourceFilters,
  page: { limit: number; offset: number; order: ResourceOrder | undefined },
): ReadStatement<ResourceRow> {
  const { column, descending } = page.order ?? { column: 'name', descending: false };
  const direction = descending ? 'desc' : 'asc';
  let query = filtered(tenantId, filters).select(resources.columns);
  if (column === 'name') query = query.orderBy(sql`lower(name)`, direction);
  // Ids are UUIDv7, so their order is the order of creation.
  if (column === 'updated_at') query = query.orderBy('updated_at', direction);
  return prepareSearch(toRead(query.orderBy('id', direction).limit(page.limit).offset(page.offset)), filters);
}

export function countResources(tenantId: string, filters: ResourceFilters): ReadStatement<{ total: number }> {
  return prepareSearch(countMatches(filtered(tenantId, filters).select('id')), filters);
}

function filtered(tenantId: string, filters: ResourceFilters): ResourceSelect {
  let query: ResourceSelect = builder.selectFrom('resources').where('tenant_id', '=', tenantId);
  for (const condition of containsWords(filters.search, { table: 'resources', tenantId }))
    query = query.where(condition);
  for (const [column, id] of [
    ['space_id', filters.spaceId],
    ['parent_id', filters.parentId],
    ['type_id', filters.typeId],
  ] as const) {
    // `is not distinct from` covers both cases, but it cannot use an index.
    if (id !== undefined) query = query.where(column, id === null ? 'is' : '=', id);
  }
  const { tagId, status, name, serial } = filters;
  if (tagId !== undefined) {
    const tagged = builder.selectFrom('resource_tags').select('resource_id').where('tenant_id', '=', tenantId);
    query = query.where('id', 'in', tagged.where('tag_id', '=', tagId));
  }
  if (status !== undefined) query = query.where('status', '=', status);
  if (name !== undefined) query = query.where(sql`lower(name)`, '=', sql`lower(${name})`);
  if (serial !== undefined) query = query.where('serial', '=', serial);
  return query;
}
