import { sql, type SelectQueryBuilder } from 'kysely';

import { deleteRow, insertRow, updateRow, type Update } from '#core/data/audit/audited-rows.queries';
import { queryBuilder, searchPatterns, toRead, type ReadStatement } from '#core/data/db/query';
import {
  anyReferrer,
  typed,
  json,
  lockById,
  rowById,
  tenantTable,
  text,
  time,
  uuid,
  type RowOf,
} from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';

export type EntityType = 'space' | 'resource';

const types = tenantTable('type_definitions', {
  tenant_id: uuid,
  id: uuid,
  entity_type: typed<EntityType>(),
  key: text,
  name: text,
  description: text.orNull,
  json_schema: json,
  created_by: uuid.orNull,
  created_at: time,
  updated_at: time,
});
export type TypeDefinitionRow = RowOf<typeof types>;

type Tables = { type_definitions: TypeDefinitionRow };

const builder = queryBuilder<Tables>();
const resourceType = 'type_definition';

export const findTypeDefinition = rowById(types);

export type TypeVersionRow = Pick<TypeDefinitionRow, 'id' | 'entity_type' | 'updated_at'>;

/** Leaves out the schema, which is large and usually cached. */
export const findTypeVersion = rowById(types, 'id', 'entity_type', 'updated_at');

/** Locks the type for a new reference. It comes first, so that a concurrent deletion cannot deadlock. */
export const shareTypeDefinition = lockById(types, 'for key share', 'id');

/** Waits for records that are being assigned to the type. */
export const lockTypeDefinition = lockById(types, 'for update', 'id');

export const findAnySpaceOfType = anyReferrer(tenantTable('spaces', { type_id: uuid }), 'type_id');
export const findAnyResourceOfType = anyReferrer(tenantTable('resources', { type_id: uuid }), 'type_id');

export const insertTypeDefinition = insertRow(types, { action: 'type_definition.created', resourceType });

export type TypeDefinitionChanges = Partial<
  Pick<TypeDefinitionRow, 'key' | 'name' | 'description' | 'json_schema' | 'updated_at'>
>;

const update = updateRow(types, { action: 'type_definition.updated', resourceType });

/** Two changes within a millisecond must have different versions. */
export const updateTypeDefinition: Update<TypeDefinitionChanges, TypeDefinitionRow> = (id, changes, audit) =>
  update(
    id,
    {
      ...changes,
      updated_at: sql<string>`greatest(${changes.updated_at}::timestamptz, updated_at + interval '1 millisecond')`,
    },
    audit,
  );

export const deleteTypeDefinition = deleteRow(types, { action: 'type_definition.deleted', resourceType });

export type TypeDefinitionFilters = {
  search?: string | undefined;
  entityType?: EntityType | undefined;
  key?: string | undefined;
};
export type TypeDefinitionOrder = { column: 'name' | 'key' | 'created_at'; descending: boolean };

type TypeDefinitionSelect = SelectQueryBuilder<Tables, 'type_definitions', object>;

export function listTypeDefinitions(
  tenantId: string,
  filters: TypeDefinitionFilters,
  page: { limit: number; offset: number; order: TypeDefinitionOrder | undefined },
): ReadStatement<TypeDefinitionRow> {
  const { column, descending } = page.order ?? { column: 'name', descending: false };
  const direction = descending ? 'desc' : 'asc';
  let query = filtered(tenantId, filters).select(types.columns);
  if (column === 'name') query = query.orderBy(sql`lower(name)`, direction);
  if (column === 'key') query = query.orderBy('key', direction);
  // Ids are UUIDv7, so their order is the order of creation.
  return toRead(query.orderBy('id', direction).limit(page.limit).offset(page.offset));
}

export function countTypeDefinitions(
  tenantId: string,
  filters: TypeDefinitionFilters,
): ReadStatement<{ total: number }> {
  return countMatches(filtered(tenantId, filters).select('id'));
}

function filtered(tenantId: string, { search, entityType, key }: TypeDefinitionFilters): TypeDefinitionSelect {
  let query: TypeDefinitionSelect = builder.selectFrom('type_definitions').where('tenant_id', '=', tenantId);
  for (const pattern of searchPatterns(search)) {
    const searched = sql`lower(name || ' ' || key || ' ' || coalesce(description, ''))`;
    query = query.where(searched, 'like', sql<string>`lower(${pattern})`);
  }
  if (entityType !== undefined) query = query.where('entity_type', '=', entityType);
  if (key !== undefined) query = query.where('key', '=', key);
  return query;
}
