import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { pageOfMatches, pageOfTable } from '#core/data/db/totals';
import { parseSort, type SetHeader } from '#core/http/paging';
import {
  CategoryNotFound,
  CategoryTooDeep,
  TranslationRequired,
  ParentNotFound,
  TooManyTranslations,
} from '#modules/categories/categories.errors';
import {
  countCategories,
  findCategory,
  insertCategory,
  listCategories as listCategoryRows,
  lockCategory,
  updateCategory as updateCategoryRow,
  type CategoryChanges,
  type CategoryRow,
  type LockedCategory,
} from '#modules/categories/categories.queries';
import {
  localise,
  maxLevel,
  mergeTranslations,
  pathOf,
  searchText,
  searchTextOf,
  textLimits,
  toTranslations,
  maxListed,
} from '#modules/categories/categories.rules';
import type {
  CreateCategoryBody,
  ListCategoriesQuery,
  UpdateCategoryBody,
} from '#modules/categories/categories.schemas';
import { findNode, lockTree, shareTree, type Node } from '#modules/categories/category-tree.queries';
import { moveCategory } from '#modules/categories/category-tree.service';

/** `languages` are the preferred languages of the reader, the best one first. */
export type Reader = { db: TenantDb; languages: readonly string[] };
type Scope = Reader & { actor: Actor; now: () => Date };

export async function listCategories(
  { db, languages, setHeader }: Reader & { setHeader: SetHeader },
  query: ListCategoriesQuery,
) {
  const { tenantId } = db;
  const { limit = maxListed, offset = 0, sort, search, level, key, filter_id: filterId, parent_id: parentId } = query;
  const filters = {
    search: search === undefined ? undefined : searchText(search),
    parentId: parentId === 'null' ? null : parentId,
    level,
    key,
    filterId,
  };
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const page = listCategoryRows(tenantId, filters, { limit, offset, order: parseSort(sort) });
  const { rows, total, isCapped } =
    isFiltered || query.limit === undefined
      ? await pageOfMatches(db, page, countCategories(tenantId, filters), { limit, offset })
      : await pageOfTable(db, page, 'categories', offset);
  if (isCapped) setHeader('x-total-capped', 'true');
  return { data: rows.map((row) => presentCategory(row, languages)), total };
}

/** @throws CategoryNotFound */
export async function getCategory({ db, languages }: Reader, id: string) {
  return { data: presentCategory(await findExisting(db, id), languages) };
}

/** Returns the names and descriptions in all languages, for editing. @throws CategoryNotFound */
export async function getTranslations(db: TenantDb, id: string) {
  return { data: (await findExisting(db, id)).translations };
}

/** @throws ParentNotFound, CategoryTooDeep, CategoryKeyTaken (through the constraint) */
export async function createCategory({ db, actor, languages, now }: Scope, body: CreateCategoryBody) {
  const { tenantId } = db;
  const at = now().toISOString();
  const { key, parent_id: parentId = null, filter_id: filterId = null } = body;
  const translations = toTranslations(body.translations);
  const id = newId();
  const row = await db.transaction(async (tx) => {
    const parent = parentId === null ? undefined : await shareParent(tx, tenantId, parentId);
    return tx.first(
      insertCategory({
        tenant_id: tenantId,
        id,
        parent_id: parentId,
        key,
        filter_id: filterId,
        level: parent === undefined ? 0 : parent.level + 1,
        path: pathOf(parent, id),
        translations,
        search_text: searchTextOf(key, translations),
        usage_count: 0,
        created_by: actor.userId,
        created_at: at,
        updated_at: at,
        ...auditParams(actor, at),
      }),
    );
  });
  return { data: presentCategory(row!, languages) };
}

/** Locks the tree, so that the parent does not change until the transaction ends. */
async function shareParent(tx: Transaction, tenantId: string, id: string): Promise<Node> {
  await tx.all(shareTree({ tenantId }));
  const parent = await tx.first(findNode({ tenantId, id }));
  if (parent === undefined) throw ParentNotFound();
  if (parent.level >= maxLevel) throw CategoryTooDeep();
  return parent;
}

/**
 * An empty patch changes nothing. A new parent moves the category with its descendants.
 * @throws CategoryNotFound, ParentNotFound, CategoryCycle, CategoryTooDeep, TranslationRequired, TooManyTranslations,
 * CategoryKeyTaken (through the constraint)
 */
export async function updateCategory({ db, actor, languages, now }: Scope, id: string, body: UpdateCategoryBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getCategory({ db, languages }, id);
  const { tenantId } = db;
  const at = now().toISOString();
  const { parent_id: parentId, ...rest } = body;
  const row = await db.transaction(async (tx) => {
    // Locked before any row, because deletions and moves hold this lock while they wait for rows.
    if (parentId !== undefined) await tx.all(lockTree({ tenantId }));
    const category = await tx.first(lockCategory({ tenantId, id }));
    if (category === undefined) throw CategoryNotFound();
    const changes = toChanges(category, rest);
    if (parentId !== undefined) await moveCategory(tx, { tenantId, at }, category, parentId);
    return tx.first(updateCategoryRow(id, { ...changes, updated_at: at }, auditParams(actor, at, { fields })));
  });
  return { data: presentCategory(row!, languages) };
}

function toChanges(category: LockedCategory, body: Omit<UpdateCategoryBody, 'parent_id'>): CategoryChanges {
  const { key = category.key, translations: given, ...rest } = body;
  const translations = given === undefined ? category.translations : mergeTranslations(category.translations, given);
  if (Object.keys(translations).length === 0) throw TranslationRequired();
  // The request was within the limit, but the merged value may exceed it.
  if (Buffer.byteLength(JSON.stringify(translations)) > textLimits.bytes) throw TooManyTranslations();
  return { ...(rest as CategoryChanges), key, translations, search_text: searchTextOf(key, translations) };
}

async function findExisting(db: TenantDb, id: string): Promise<CategoryRow> {
  const row = await db.first(findCategory({ tenantId: db.tenantId, id }));
  if (row === undefined) throw CategoryNotFound();
  return row;
}

export function presentCategory(row: CategoryRow, languages: readonly string[]) {
  const { name, description, language } = localise(row.translations, [...languages, row.default_language, 'en']);
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    parent_id: row.parent_id,
    key: row.key,
    filter_id: row.filter_id,
    level: row.level,
    name,
    description,
    language,
    usage_count: row.usage_count,
    created_by: row.created_by,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
