import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import type { ById } from '#core/data/db/rows';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { CategoryLinkNotFound, CategoryNotFound, EntityNotFound } from '#modules/categories/categories.errors';
import { addUsage, findCategory, lockCategory } from '#modules/categories/categories.queries';
import { maxListed } from '#modules/categories/categories.rules';
import type {
  EntityBody,
  ListCategoryLinksQuery,
  ListEntityCategoriesQuery,
} from '#modules/categories/categories.schemas';
import { presentCategory, type Reader } from '#modules/categories/categories.service';
import {
  countLinksOf,
  deleteLink,
  deleteLinksOf,
  findEntity,
  findLink,
  insertLink,
  listCategoriesOf,
  listLinks,
  lockCategoriesOf,
  lockEntity,
  type CategoryLinkRow,
} from '#modules/categories/category-links.queries';
import { shareTree } from '#modules/categories/category-tree.queries';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };

/** @throws EntityNotFound */
export async function listEntityCategories({ db, languages }: Reader, query: ListEntityCategoriesQuery) {
  const { tenantId } = db;
  const { entity_type: entityType, entity_id: entityId, limit = maxListed, offset = 0 } = query;
  const [rows, [counted]] = await db.interactive.batch([
    listCategoriesOf({ tenantId, entityType, entityId, limit, offset }),
    countLinksOf({ tenantId, entityType, entityId }),
  ]);
  // A link proves that the record exists.
  if (counted!.total === 0 && !(await exists(db, { tenantId, ...query }, findEntity))) throw EntityNotFound();
  return { data: rows.map((row) => presentCategory(row, languages)), total: counted!.total };
}

/** @throws CategoryNotFound */
export async function listCategoryLinks(db: TenantDb, categoryId: string, query: ListCategoryLinksQuery) {
  const { tenantId } = db;
  const { limit = maxListed, offset = 0 } = query;
  const [categories, links] = await db.interactive.batch([
    findCategory({ tenantId, id: categoryId }),
    listLinks({ tenantId, categoryId, limit, offset }),
  ]);
  if (categories.length === 0) throw CategoryNotFound();
  return { data: links.map(presentLink) };
}

/** Linking again returns the existing link. @throws CategoryNotFound, EntityNotFound */
export function linkCategory({ db, actor, now }: Scope, categoryId: string, body: EntityBody) {
  const { tenantId } = db;
  const { entity_type: entityType, entity_id: entityId } = body;
  const at = now().toISOString();
  return db.transaction(async (tx) => {
    // Locks the record before the category, in the same order as a deletion of the record.
    const isLinkable = await exists(tx, { tenantId, ...body }, lockEntity);
    const category = await tx.first(lockCategory({ tenantId, id: categoryId }));
    if (category === undefined) throw CategoryNotFound();
    if (!isLinkable) throw EntityNotFound();
    const existing = await tx.first(findLink({ tenantId, categoryId, entityType, entityId }));
    if (existing !== undefined) return { data: presentLink(existing) };
    const row = await tx.first(
      insertLink({
        id: newId(),
        category_id: categoryId,
        entity_type: entityType,
        entity_id: entityId,
        created_by: actor.userId,
        created_at: at,
        ...auditParams(actor, at, { categoryId, entityType, entityId }),
      }),
    );
    await tx.all(addUsage({ tenantId, id: categoryId, amount: 1 }));
    return { data: presentLink(row!) };
  });
}

/** @throws CategoryNotFound, CategoryLinkNotFound */
export function unlinkCategory({ db, actor, now }: Scope, categoryId: string, body: EntityBody): Promise<void> {
  const { tenantId } = db;
  const { entity_type: entityType, entity_id: entityId } = body;
  const audit = auditParams(actor, now().toISOString(), { categoryId, entityType, entityId });
  return db.transaction(async (tx) => {
    if ((await tx.first(lockCategory({ tenantId, id: categoryId }))) === undefined) throw CategoryNotFound();
    const row = await tx.first(deleteLink({ categoryId, entityType, entityId, ...audit }));
    if (row === undefined) throw CategoryLinkNotFound();
    await tx.all(addUsage({ tenantId, id: categoryId, amount: -1 }));
  });
}

/**
 * Deletes the links of a space, resource or group and corrects the counts. The caller deletes the record in the same transaction
 * and has locked its row for update.
 */
export async function removeCategoryLinksOf(
  tx: Transaction,
  entity: { tenantId: string; entityType: 'space' | 'resource' | 'group'; entityId: string },
): Promise<void> {
  const { total } = (await tx.first(countLinksOf(entity)))!;
  if (total === 0) return;
  // Otherwise a reassignment could move links to a category that is not locked.
  await tx.all(shareTree({ tenantId: entity.tenantId }));
  await tx.all(lockCategoriesOf(entity));
  await tx.all(deleteLinksOf(entity));
}

async function exists<Found>(
  db: { readonly first: (query: Found) => Promise<unknown> },
  { tenantId, entity_type: entityType, entity_id: id }: EntityBody & { tenantId: string },
  statements: Record<keyof typeof findEntity, (p: ById) => Found>,
): Promise<boolean> {
  if (entityType === 'tenant') return id === tenantId;
  return (await db.first(statements[entityType]({ tenantId, id }))) !== undefined;
}

function presentLink(row: CategoryLinkRow) {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    category_id: row.category_id,
    entity_type: row.entity_type,
    entity_id: row.entity_id,
    created_by: row.created_by,
    created_at: row.created_at,
  };
}
