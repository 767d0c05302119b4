import { type SelectQueryBuilder } from 'kysely';

import { auditOfDone, withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { updateRow, type Update } from '#core/data/audit/audited-rows.queries';
import { auditedWrite, queryBuilder, searchPatterns, toRead, write, type ReadStatement } from '#core/data/db/query';
import { typed, rowById, tenantTable, text, time, uuid, type RowOf } from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';
import { mergingTranslations, translatableTexts } from '#core/data/db/translatable-texts';

type Texts = { name?: string | null };

const tags = tenantTable('tags', {
  tenant_id: uuid,
  id: uuid,
  name: text,
  color: text.orNull,
  translations_i18n: typed<Record<string, Texts>>(),
  created_at: time,
  updated_at: time,
});
export type TagRow = RowOf<typeof tags>;
export const tagColumns = tags.columns;

type Tables = { tags: TagRow & { name_key: string } };

const builder = queryBuilder<Tables>();

export const findTag = rowById(tags);
export const tagTexts = translatableTexts(tags);

export const insertTag = auditedWrite<TagRow & { name_key: string } & AuditParams, TagRow>((p) => {
  const row = Object.fromEntries([...tags.columns, 'name_key' as const].map((name) => [name, p[name]]));
  const change = builder
    .insertInto('tags')
    .values(row as Tables['tags'])
    .returning(tags.columns);
  return withAudit<TagRow>(change, { action: 'tag.created', resourceType: 'tag' }, p);
});

/** Translations are merged by language; null removes a language. */
export type TagChanges = Partial<
  Omit<Tables['tags'], 'tenant_id' | 'id' | 'translations_i18n' | 'created_at'> & {
    translations_i18n: Record<string, Texts | null>;
  }
>;

const update = updateRow(tags, { action: 'tag.updated', resourceType: 'tag' });
export const updateTag: Update<TagChanges, TagRow> = (id, changes, audit) =>
  update(id, mergingTranslations(changes), audit);

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
  let query = matching(tenantId, filters).select(tags.columns);
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
