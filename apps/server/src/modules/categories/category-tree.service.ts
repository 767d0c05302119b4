import type { Actor } from '#core/base/access/principal';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { addToTotal } from '#core/data/db/totals';
import {
  CascadeReassignConflict,
  CategoryCycle,
  CategoryHasChildren,
  CategoryHasLinks,
  CategoryNotFound,
  CategoryTooDeep,
  ParentNotFound,
  ReassignTargetNotFound,
} from '#modules/categories/categories.errors';
import { deleteCategory as deleteCategoryRow } from '#modules/categories/categories.queries';
import {
  descendantsOf,
  moveChildren,
  isWithin,
  maxLevel,
  moveTo,
  subtreeOf,
  type Relocation,
} from '#modules/categories/categories.rules';
import type { DeleteCategoryQuery } from '#modules/categories/categories.schemas';
import { deleteLinksWithin, dropSharedLinks, reassignLinks } from '#modules/categories/category-links.queries';
import {
  deleteNodes,
  findDeepestLevel,
  findNode,
  lockNodes,
  lockTree,
  lockTwoNodes,
  relocate,
  type Node,
} from '#modules/categories/category-tree.queries';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };
type Change = { tenantId: string; at: string };

/** The caller has locked the tree. @throws ParentNotFound, CategoryCycle, CategoryTooDeep */
export async function moveCategory(
  tx: Transaction,
  change: Change,
  category: Omit<Node, 'usage_count'>,
  parentId: string | null,
): Promise<void> {
  const { tenantId } = change;
  const parent = parentId === null ? undefined : await tx.first(findNode({ tenantId, id: parentId }));
  if (parentId !== null && parent === undefined) throw ParentNotFound();
  if (parent !== undefined && isWithin(parent, category)) throw CategoryCycle();
  if (parentId !== category.parent_id) await applyRelocation(tx, change, moveTo(category, parent));
}

async function applyRelocation(tx: Transaction, { tenantId, at }: Change, relocation: Relocation): Promise<void> {
  const { from, before, levelDelta } = relocation;
  const deepest = await tx.first(findDeepestLevel({ tenantId, from, before }));
  const level = deepest?.level ?? null;
  if (level === null) return;
  if (level + levelDelta > maxLevel) throw CategoryTooDeep();
  await tx.all(relocate({ tenantId, at, ...relocation }));
}

/**
 * Deletes a category without children and links, or with its descendants, or after its children and links moved to a target.
 * @throws CategoryNotFound, CategoryHasChildren, CategoryHasLinks, CascadeReassignConflict, ReassignTargetNotFound,
 * CategoryCycle, CategoryTooDeep
 */
export function deleteCategory({ db, actor, now }: Scope, id: string, query: DeleteCategoryQuery): Promise<void> {
  const { tenantId } = db;
  const { cascade = false, reassign_to: targetId } = query;
  const at = now().toISOString();
  return db.transaction(async (tx) => {
    await tx.all(lockTree({ tenantId }));
    const category = await tx.first(findNode({ tenantId, id }));
    if (category === undefined) throw CategoryNotFound();
    if (cascade && targetId !== undefined) throw CascadeReassignConflict();
    const { details, descendants } = await empty(tx, { tenantId, at }, category, { cascade, targetId });
    const audit = auditParams(actor, at, details);
    await tx.all(deleteCategoryRow({ id, ...audit }));
    // In the slot of the total that the previous statement has locked.
    if (descendants > 0)
      await tx.all(addToTotal({ tenantId, table: 'categories', slot: audit.slot, amount: -descendants }));
  });
}

/** Removes the children and the links, so that only the category itself is left. */
async function empty(
  tx: Transaction,
  change: Change,
  category: Node,
  { cascade, targetId }: { cascade: boolean; targetId: string | undefined },
): Promise<{ /** For the audit trail. */ details: Record<string, unknown>; descendants: number }> {
  if (targetId !== undefined) {
    await reassign(tx, change, category, targetId);
    return { details: { reassignedTo: targetId }, descendants: 0 };
  }
  if (cascade) {
    const deleted = await clear(tx, change.tenantId, category);
    return { details: { cascade, deleted }, descendants: deleted - 1 };
  }
  await assertUnused(tx, change.tenantId, category);
  return { details: {}, descendants: 0 };
}

async function assertUnused(tx: Transaction, tenantId: string, category: Node): Promise<void> {
  const nodes = await tx.all(lockNodes({ tenantId, ...subtreeOf(category) }));
  if (nodes.length > 1) throw CategoryHasChildren();
  if (nodes.some((node) => node.usage_count > 0)) throw CategoryHasLinks();
}

/** Deletes links and descendants; returns the number of categories, including the category itself, which still exists. */
async function clear(tx: Transaction, tenantId: string, category: Node): Promise<number> {
  const nodes = await tx.all(lockNodes({ tenantId, ...subtreeOf(category) }));
  await tx.all(deleteLinksWithin({ tenantId, ...subtreeOf(category) }));
  if (nodes.length === 1) return 1;
  await tx.all(deleteNodes({ tenantId, ...descendantsOf(category) }));
  return nodes.length;
}

async function reassign(tx: Transaction, change: Change, category: Node, targetId: string): Promise<void> {
  const { tenantId } = change;
  const { id } = category;
  const nodes = await tx.all(lockTwoNodes({ tenantId, id, otherId: targetId }));
  const target = nodes.find((node) => node.id === targetId);
  if (target === undefined) throw ReassignTargetNotFound();
  if (isWithin(target, category)) throw CategoryCycle();
  await applyRelocation(tx, change, moveChildren(category, target));
  await tx.all(dropSharedLinks({ tenantId, id, targetId }));
  await tx.all(reassignLinks({ tenantId, id, targetId }));
}
