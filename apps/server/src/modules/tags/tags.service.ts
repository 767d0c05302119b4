import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { parseSort, toPage, type SetHeader } from '#core/http/paging';
import { TagNotFound, TooManyTranslations } from '#modules/tags/tags.errors';
import {
  countTags,
  deleteTag as deleteTagRow,
  findTag,
  insertTag,
  listTags as listTagRows,
  recordDeletion,
  updateTag as updateTagRow,
  type TagChanges,
  type TagRow,
} from '#modules/tags/tags.queries';
import { textLimits, type CreateTagBody, type ListTagsQuery, type UpdateTagBody } from '#modules/tags/tags.schemas';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };

export async function listTags({ db, setHeader }: { db: TenantDb; setHeader: SetHeader }, query: ListTagsQuery) {
  const { limit = 50, offset = 0, sort, search, name } = query;
  const filters = {
    search: search === undefined ? undefined : nameKey(search),
    key: name === undefined ? undefined : nameKey(name),
  };
  const { rows, ...total } = await pageOfMatches(
    db,
    listTagRows(db.tenantId, filters, { limit, offset, order: parseSort(sort) }),
    countTags(db.tenantId, filters),
    { limit, offset },
  );
  return toPage(rows.map(presentTag), { limit, offset }, total, setHeader);
}

/** @throws TagNotFound */
export async function getTag(db: TenantDb, id: string) {
  const row = await db.first(findTag({ tenantId: db.tenantId, id }));
  if (row === undefined) throw TagNotFound();
  return { data: presentTag(row) };
}

/** @throws TagNameTaken (through the constraint) */
export async function createTag({ db, actor, now }: Scope, body: CreateTagBody) {
  const at = now().toISOString();
  const row = await db.interactive.first(
    insertTag({
      id: newId(),
      tenant_id: db.tenantId,
      name: body.name,
      name_key: nameKey(body.name),
      color: body.color ?? null,
      translations_i18n: body.translations_i18n ?? {},
      created_at: at,
      updated_at: at,
      ...auditParams(actor, at),
    }),
  );
  return { data: presentTag(row!) };
}

/** An empty patch changes nothing. @throws TagNotFound, TooManyTranslations, TagNameTaken (through the constraint) */
export async function updateTag({ db, actor, now }: Scope, id: string, body: UpdateTagBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getTag(db, id);
  const at = now().toISOString();
  const key = body.name === undefined ? {} : { name_key: nameKey(body.name) };
  const changes = { ...body, ...key, updated_at: at } as TagChanges;
  const row = await db.transaction(async (tx) => {
    const written = await tx.first(updateTagRow(id, changes, auditParams(actor, at, { fields })));
    if (written === undefined) throw TagNotFound();
    if (body.translations_i18n !== undefined) assertTranslationsFit(written.translations_i18n);
    return written;
  });
  return { data: presentTag(row) };
}

/** The request was within the limit, but the merged translations may exceed it. */
function assertTranslationsFit(translations: TagRow['translations_i18n']): void {
  const isTooMany = Object.keys(translations).length > textLimits.languages;
  if (isTooMany || Buffer.byteLength(JSON.stringify(translations)) > textLimits.bytes) throw TooManyTranslations();
}

/** Also removes the tag from all records. @throws TagNotFound */
export async function deleteTag({ db, actor, now }: Scope, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    if ((await tx.first(deleteTagRow({ tenantId: db.tenantId, id }))) === undefined) throw TagNotFound();
    await tx.all(recordDeletion({ id, ...auditParams(actor, now().toISOString()) }));
  });
}

export function presentTag(row: TagRow) {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    name: row.name,
    color: row.color,
    translations_i18n: row.translations_i18n,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** The form in which names are compared: Unicode NFC and lower case. */
function nameKey(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
