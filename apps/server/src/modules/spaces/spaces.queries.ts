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

export type SpaceStatus = 'active' | 'maintenance' | 'archived';

export type SpaceRow = {
  tenant_id: string;
  id: string;
  parent_id: string | null;
  type_id: string | null;
  name: string;
  description: string | null;
  translations_i18n: Record<string, { name?: string | null; description?: string | null }>;
  capacity: number | null;
  address: Record<string, unknown> | null;
  geo: { lat: number; lng: number } | null;
  timezone: string | null;
  status: SpaceStatus;
  properties: Record<string, unknown>;
  created_at: string;
  updated_at: string;
  created_by: string | null;
  updated_by: string | null;
};

type Tables = {
  spaces: SpaceRow & { search_text: GeneratedAlways<string> };
  space_tags: { tenant_id: string; space_id: string; tag_id: string };
  resources: { tenant_id: string; id: string; space_id: string | null };
};

const builder = queryBuilder<Tables>();

const spaceColumns = [
  'tenant_id',
  'id',
  'parent_id',
  'type_id',
  'name',
  'description',
  'translations_i18n',
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

export const findSpace = read<{ tenantId: string; id: string }, SpaceRow>((p) =>
  builder.selectFrom('spaces').select(spaceColumns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

/** Locks the row until the transaction ends, for a new reference. It comes first, so that a concurrent deletion cannot deadlock. */
export const shareSpace = lock<{ tenantId: string; id: string }, { id: string }>((p) =>
  builder.selectFrom('spaces').select('id').where('tenant_id', '=', p.tenantId).where('id', '=', p.id).forKeyShare(),
);

/** Locks the row until the transaction ends, and waits for a child that is being added. */
export const lockSpace = lock<{ tenantId: string; id: string }, { id: string }>((p) =>
  builder.selectFrom('spaces').select('id').where('tenant_id', '=', p.tenantId).where('id', '=', p.id).forUpdate(),
);

/** Locks the row until the transaction ends, so that the properties that were checked are the ones that are written. */
export const lockSpaceForChange = lock<
  { tenantId: string; id: string },
  Pick<SpaceRow, 'id' | 'type_id' | 'properties'>
>((p) =>
  builder
    .selectFrom('spaces')
    .select(['id', 'type_id', 'properties'])
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .forNoKeyUpdate(),
);

export const insertSpace = auditedWrite<SpaceRow & AuditParams, SpaceRow>((p) => {
  const row = Object.fromEntries(spaceColumns.map((name) => [name, p[name]])) as SpaceRow;
  const change = builder.insertInto('spaces').values(row).returning(spaceColumns);
  return withAudit<SpaceRow>(
    change,
    { action: 'space.created', resourceType: 'space', counts: { table: 'spaces', by: 1 } },
    p,
  );
});

/** Translations are merged by language; null removes a language. */
export type SpaceChanges = Partial<
  Omit<SpaceRow, 'tenant_id' | 'id' | 'translations_i18n' | 'created_at' | 'created_by'> & {
    translations_i18n: Record<string, SpaceRow['translations_i18n'][string] | null>;
  }
>;

export function updateSpace(id: string, changes: SpaceChanges, audit: AuditParams): WriteStatement<SpaceRow> {
  const { translations_i18n: translations, ...others } = changes;
  const merged = translations === undefined ? {} : { translations_i18n: mergedJson('translations_i18n', translations) };
  const change = builder
    .updateTable('spaces')
    .set({ ...others, ...merged })
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .returning(spaceColumns);
  return toAuditedWrite(withAudit<SpaceRow>(change, { action: 'space.updated', resourceType: 'space' }, audit));
}

export const deleteSpace = write<{ tenantId: string; id: string }, never>((p) =>
  builder.deleteFrom('spaces').where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

export const recordDeletion = auditOfDone({
  action: 'space.deleted',
  resourceType: 'space',
  counts: { table: 'spaces', by: -1 },
});

export const findAnyChild = read<{ tenantId: string; id: string }, { id: string }>((p) =>
  builder.selectFrom('spaces').select('id').where('tenant_id', '=', p.tenantId).where('parent_id', '=', p.id).limit(1),
);

export const findAnyResourceWithin = read<{ tenantId: string; id: string }, { id: string }>((p) =>
  builder
    .selectFrom('resources')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('space_id', '=', p.id)
    .limit(1),
);

/** Serialises the moves within a tenant: two moves that are each valid can form a cycle together. */
export const lockTree = lock<{ tenantId: string }, never>((p) => ({
  compile: () =>
    sql`select pg_advisory_xact_lock(hashtextextended('spaces:' || ${p.tenantId}::text, 0))`.compile(builder),
}));

/** Whether `id` is `ancestorId` or one of its descendants. */
export const isWithin = read<{ tenantId: string; id: string; ancestorId: string }, { id: string }>((p) =>
  builder
    .withRecursive('line(id, parent_id)', (db) =>
      db
        .selectFrom('spaces')
        .select(['id', 'parent_id'])
        .where('tenant_id', '=', p.tenantId)
        .where('id', '=', p.id)
        .union(
          db
            .selectFrom('spaces')
            .innerJoin('line', 'line.parent_id', 'spaces.id')
            .select(['spaces.id', 'spaces.parent_id'])
            .where('spaces.tenant_id', '=', p.tenantId),
        ),
    )
    .selectFrom('line')
    .select('id')
    .where('id', '=', p.ancestorId),
);

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
  let query = filtered(tenantId, filters).select(spaceColumns);
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
