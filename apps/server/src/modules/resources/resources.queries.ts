import { sql, type GeneratedAlways, type SelectQueryBuilder } from 'kysely';

import { auditOfDone, withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { mergedJson } from '#core/data/db/json';
import {
  auditedWrite,
  lock,
  queryBuilder,
  read,
  toAuditedWrite,
  toRead,
  write,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import { containsWords, prepareSearch, type Search } from '#core/data/db/search';
import { countMatches } from '#core/data/db/totals';

export type ResourceStatus = 'active' | 'maintenance' | 'archived';

export type ResourceRow = {
  tenant_id: string;
  id: string;
  space_id: string | null;
  parent_id: string | null;
  type_id: string | null;
  name: string;
  description: string | null;
  translations_i18n: Record<string, { name?: string | null; description?: string | null }>;
  serial: string | null;
  capacity: number | null;
  address: Record<string, unknown> | null;
  geo: { lat: number; lng: number } | null;
  timezone: string | null;
  status: ResourceStatus;
  properties: Record<string, unknown>;
  created_at: string;
  updated_at: string;
  created_by: string | null;
  updated_by: string | null;
};

type Tables = {
  resources: ResourceRow & { search_text: GeneratedAlways<string> };
  resource_tags: { tenant_id: string; resource_id: string; tag_id: string };
};
type ById = { tenantId: string; id: string };

const builder = queryBuilder<Tables>();

const resourceColumns = [
  'tenant_id',
  'id',
  'space_id',
  'parent_id',
  'type_id',
  'name',
  'description',
  'translations_i18n',
  'serial',
  'capacity',
  'address',
  'geo',
  'timezone',
  'status',
  'properties',
  'created_at',
  'updated_at',
  'created_by',
  'updated_by',
] as const;

export const findResource = read<ById, ResourceRow>((p) =>
  builder.selectFrom('resources').select(resourceColumns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

/** Locks the row until the transaction ends, for a new part. It comes first, so that a concurrent deletion cannot deadlock. */
export const shareResource = lock<ById, { id: string }>((p) =>
  builder.selectFrom('resources').select('id').where('tenant_id', '=', p.tenantId).where('id', '=', p.id).forKeyShare(),
);

/** Locks the row until the transaction ends, and waits for a child that is being added. */
export const lockResource = lock<ById, { id: string }>((p) =>
  builder.selectFrom('resources').select('id').where('tenant_id', '=', p.tenantId).where('id', '=', p.id).forUpdate(),
);

/** Locks the row until the transaction ends, so that the merged and checked properties are the ones that are written. */
export const lockResourceForChange = lock<ById, Pick<ResourceRow, 'id' | 'type_id' | 'properties'>>((p) =>
  builder
    .selectFrom('resources')
    .select(['id', 'type_id', 'properties'])
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .forNoKeyUpdate(),
);

export const insertResource = auditedWrite<ResourceRow & AuditParams, ResourceRow>((p) => {
  const row = Object.fromEntries(resourceColumns.map((name) => [name, p[name]])) as ResourceRow;
  const change = builder.insertInto('resources').values(row).returning(resourceColumns);
  return withAudit<ResourceRow>(
    change,
    { action: 'resource.created', resourceType: 'resource', counts: { table: 'resources', by: 1 } },
    p,
  );
});

/** Translations are merged by language; null removes a language. */
export type ResourceChanges = Partial<
  Omit<ResourceRow, 'tenant_id' | 'id' | 'translations_i18n' | 'created_at' | 'created_by'> & {
    translations_i18n: Record<string, ResourceRow['translations_i18n'][string] | null>;
  }
>;

export function updateResource(id: string, changes: ResourceChanges, audit: AuditParams): WriteStatement<ResourceRow> {
  const { translations_i18n: translations, ...others } = changes;
  const merged = translations === undefined ? {} : { translations_i18n: mergedJson('translations_i18n', translations) };
  const change = builder
    .updateTable('resources')
    .set({ ...others, ...merged })
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .returning(resourceColumns);
  return toAuditedWrite(
    withAudit<ResourceRow>(change, { action: 'resource.updated', resourceType: 'resource' }, audit),
  );
}

export const deleteResource = write<{ tenantId: string; id: string }, never>((p) =>
  builder.deleteFrom('resources').where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

export const recordDeletion = auditOfDone({
  action: 'resource.deleted',
  resourceType: 'resource',
  counts: { table: 'resources', by: -1 },
});

export const findAnyPart = read<ById, { id: string }>((p) =>
  builder
    .selectFrom('resources')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('parent_id', '=', p.id)
    .limit(1),
);

/** Serialises the moves within a tenant: two moves that are each valid can form a cycle together. */
export const lockTree = lock<{ tenantId: string }, never>((p) => ({
  compile: () =>
    sql`select pg_advisory_xact_lock(hashtextextended('resources:' || ${p.tenantId}::text, 0))`.compile(builder),
}));

/** Whether `id` is `ancestorId` or one of its descendants. */
export const isWithin = read<ById & { ancestorId: string }, { id: string }>((p) =>
  builder
    .withRecursive('line(id, parent_id)', (db) =>
      db
        .selectFrom('resources')
        .select(['id', 'parent_id'])
        .where('tenant_id', '=', p.tenantId)
        .where('id', '=', p.id)
        .union(
          db
            .selectFrom('resources')
            .innerJoin('line', 'line.parent_id', 'resources.id')
            .select(['resources.id', 'resources.parent_id'])
            .where('resources.tenant_id', '=', p.tenantId),
        ),
    )
    .selectFrom('line')
    .select('id')
    .where('id', '=', p.ancestorId),
);

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
  let query = filtered(tenantId, filters).select(resourceColumns);
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
