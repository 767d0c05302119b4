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
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';

export type EntityType = 'space' | 'resource';

export type TypeDefinitionRow = {
  tenant_id: string;
  id: string;
  entity_type: EntityType;
  key: string;
  name: string;
  description: string | null;
  json_schema: Record<string, unknown>;
  created_by: string | null;
  created_at: string;
  updated_at: string;
};

type Typed = { tenant_id: string; id: string; type_id: string | null };
type Tables = { type_definitions: TypeDefinitionRow; spaces: Typed; resources: Typed };
type ById = { tenantId: string; id: string };

const builder = queryBuilder<Tables>();

const columns = [
  'tenant_id',
  'id',
  'entity_type',
  'key',
  'name',
  'description',
  'json_schema',
  'created_by',
  'created_at',
  'updated_at',
] as const;

export const findTypeDefinition = read<ById, TypeDefinitionRow>((p) =>
  builder.selectFrom('type_definitions').select(columns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

export type TypeVersionRow = Pick<TypeDefinitionRow, 'id' | 'entity_type' | 'updated_at'>;

/** Leaves out the schema, which is large and usually cached. */
export const findTypeVersion = read<ById, TypeVersionRow>((p) =>
  builder
    .selectFrom('type_definitions')
    .select(['id', 'entity_type', 'updated_at'])
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id),
);

/** Locks the type until the transaction ends, for a new reference. It comes first, so that a concurrent deletion cannot deadlock. */
export const shareTypeDefinition = lock<ById, { id: string }>((p) =>
  builder
    .selectFrom('type_definitions')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .forKeyShare(),
);

/** Locks the type until the transaction ends, and waits for records that are being assigned to it. */
export const lockTypeDefinition = lock<ById, { id: string }>((p) =>
  builder
    .selectFrom('type_definitions')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .forUpdate(),
);

export const findAnySpaceOfType = read<ById, { id: string }>((p) =>
  builder.selectFrom('spaces').select('id').where('tenant_id', '=', p.tenantId).where('type_id', '=', p.id).limit(1),
);

export const findAnyResourceOfType = read<ById, { id: string }>((p) =>
  builder.selectFrom('resources').select('id').where('tenant_id', '=', p.tenantId).where('type_id', '=', p.id).limit(1),
);

export const insertTypeDefinition = auditedWrite<TypeDefinitionRow & AuditParams, TypeDefinitionRow>((p) => {
  const row = Object.fromEntries(columns.map((name) => [name, p[name]])) as TypeDefinitionRow;
  const change = builder.insertInto('type_definitions').values(row).returning(columns);
  return withAudit<TypeDefinitionRow>(
    change,
    { action: 'type_definition.created', resourceType: 'type_definition' },
    p,
  );
});

export type TypeDefinitionChanges = Partial<
  Pick<TypeDefinitionRow, 'key' | 'name' | 'description' | 'json_schema' | 'updated_at'>
>;

export function updateTypeDefinition(
  id: string,
  { updated_at: at, ...changes }: TypeDefinitionChanges,
  audit: AuditParams,
): WriteStatement<TypeDefinitionRow> {
  const change = builder
    .updateTable('type_definitions')
    // Two changes within a millisecond must have different versions.
    .set({ ...changes, updated_at: sql<string>`greatest(${at}::timestamptz, updated_at + interval '1 millisecond')` })
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .returning(columns);
  const event = { action: 'type_definition.updated', resourceType: 'type_definition' };
  return toAuditedWrite(withAudit<TypeDefinitionRow>(change, event, audit));
}

export const deleteTypeDefinition = auditedWrite<{ id: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .deleteFrom('type_definitions')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'type_definition.deleted', resourceType: 'type_definition' }, p);
});

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
  let query = filtered(tenantId, filters).select(columns);
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
    const text = sql`lower(name || ' ' || key || ' ' || coalesce(description, ''))`;
    query = query.where(text, 'like', sql<string>`lower(${pattern})`);
  }
  if (entityType !== undefined) query = query.where('entity_type', '=', entityType);
  if (key !== undefined) query = query.where('key', '=', key);
  return query;
}
