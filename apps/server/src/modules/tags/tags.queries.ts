import { type SelectQueryBuilder } from 'kysely';

import { auditOfDone, withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { mergedJson } from '#core/data/db/json';
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
import { countMatches } from '#core/data/db/totals';

export type TagRow = {
  tenant_id: string;
  id: string;
  name: string;
  color: string | null;
  translations_i18n: Record<string, { name?: string | null }>;
  created_at: string;
  updated_at: string;
};

type Tables = { tags: TagRow & { name_key: string } };

const builder = queryBuilder<Tables>();

export const tagColumns = [
  'tenant_id',
  'id',
  'name',
  'color',
  'translations_i18n',
  'created_at',
  'updated_at',
] as const;

export const findTag = read<{ tenantId: string; id: string }, TagRow>((p) =>
  builder.selectFrom('tags').select(tagColumns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

export const insertTag = auditedWrite<TagRow & { name_key: string } & AuditParams, TagRow>((p) => {
  const row = Object.fromEntries([...tagColumns, 'name_key' as const].map((name) => [name, p[name]]));
  const change = builder
    .insertInto('tags')
    .values(row as Tables['tags'])
    .returning(tagColumns);
  return withAudit<TagRow>(change, { action: 'tag.created', resourceType: 'tag' }, p);
});

/** Translations are merged by language; null removes a language. */
export type TagChanges = Partial<
  Omit<Tables['tags'], 'tenant_id' | 'id' | 'translations_i18n' | 'created_at'> & {
    translations_i18n: Record<string, TagRow['translations_i18n'][string] | null>;
  }
>;

export function updateTag(id: string, changes: TagChanges, audit: AuditParams): WriteStatement<TagRow> {
  const { translations_i18n: translations, ...others } = changes;
  const merged = translations === undefined ? {} : { translations_i18n: mergedJson('translations_i18n', translations) };
  const change = builder
    .updateTable('tags')
    .set({ ...others, ...merged })
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .returning(tagColumns);
  return toAuditedWrite(withAudit<TagRow>(change, { action: 'tag.updated', resourceType: 'tag' }, audit));
}

export const deleteTag = write<{ tenantId: string; id: string }, { id: string }>((p) =>
  builder.deleteFrom('tags').where('tenant_id', '=', p.tenantId).where('id', '=', p.id).returning('id'),
);

export const recordDeletion = auditOfDone({ action: 'tag.deleted', resourceType: 'tag' });

/** `key` is a complete name in the form in which names are compared. */
export type TagFilters = { search: string | undefined; key: string | undefined };
export type TagOrder = { column: 'name' | 'created_at'; descending: boolean };

export function listTags(
  tenantId: string,
  filters: TagFilters,
  page: { limit: number; offset: number; order: TagOrder | undefined },
): ReadStatement<TagRow> {
  const { column, descending } = page.order ?? { column: 'name', descending: false };
  const direction = descending ? 'desc' : 'asc';
  let query = matching(tenantId, filters).select(tagColumns);
  if (column === 'name') query = query.orderBy('name_key', direction);
  // Ids are UUIDv7, so their order is the order of creation.
  return toRead(query.orderBy('id', direction).limit(page.limit).offset(page.offset));
}

export function countTags(tenantId: string, filters: TagFilters): ReadStatement<{ total: number }> {
  return countMatches(matching(tenantId, filters).select('id'));
}

/** The search text has the same form as the column `name_key`. */
function matching(tenantId: string, { search, key }: TagFilters): SelectQueryBuilder<Tables, 'tags', object> {
  let query: SelectQueryBuilder<Tables, 'tags', object> = builder.selectFrom('tags').where('tenant_id', '=', tenantId);
  for (const pattern of searchPatterns(search)) query = query.where('name_key', 'like', pattern);
  return key === undefined ? query : query.where('name_key', '=', key);
}
