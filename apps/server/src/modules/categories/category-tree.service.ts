import type { Actor } from '#core/access/principal';
import { auditParams } from '#core/audit/audit.queries';
import type { TenantDb, Transaction } from '#core/db/scopes';
import { addToTotal } from '#core/db/totals';
import {
  CascadeOrReassign,
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
  handOver,
  isWithin,
  maxLevel,
  moveTo,
  subtreeOf,
  type Relocation,
} from '#modules/categories/categories.rules';
import type { DeleteCategoryQuery } from '#modules/categories/categories.schemas';
import { deleteLinksWithin, dropSharedLinks, handOverLinks } from '#modules/categories/category-links.queries';
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

/** With the tree locked. @throws ParentNotFound, CategoryCycle, CategoryTooDeep */
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
 * Alone, with all below it, or after another category has taken over its parts and links.
 * @throws CategoryNotFound, CategoryHasChildren, CategoryHasLinks, CascadeOrReassign, ReassignTargetNotFound,
 * CategoryCycle, CategoryTooDeep
 */
export function deleteCategory({ db, actor, now }: Scope, id: string, query: DeleteCategoryQuery): Promise<void> {
  const { tenantId } = db;
  const { cascade = false, reassign_to: heirId } = query;
  const at = now().toISOString();
  return db.transaction(async (tx) => {
    await tx.all(lockTree({ tenantId }));
    const category = await tx.first(findNode({ tenantId, id }));
    if (category === undefined) throw CategoryNotFound();
    if (cascade && heirId !== undefined) throw CascadeOrReassign();
    const { details, descendants } = await empty(tx, { tenantId, at }, category, { cascade, heirId });
    const audit = auditParams(actor, at, details);
    await tx.all(deleteCategoryRow({ id, ...audit }));
    // In the slot whose count the statement before has locked.
    if (descendants > 0)
      await tx.all(addToTotal({ tenantId, table: 'categories', slot: audit.slot, amount: -descendants }));
  });
}

type Emptied = { /** What the trail has to know of it. */ details: Record<string, unknown>; descendants: number };

/** Until nothing is left but the category itself. */
async function empty(
  tx: Transaction,
  change: Change,
  category: Node,
  { cascade, heirId }: { cascade: boolean; heirId: string | undefined },
): Promise<Emptied> {
  if (heirId !== undefined) {
    await bequeath(tx, change, category, heirId);
    return { details: { reassignedTo: heirId }, descendants: 0 };
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

/** Answers how many categories go, itself included, which alone is there still. */
async function clear(tx: Transaction, tenantId: string, category: Node): Promise<number> {
  const nodes = await tx.all(lockNodes({ tenantId, ...subtreeOf(category) }));
  await tx.all(deleteLinksWithin({ tenantId, ...subtreeOf(category) }));
  if (nodes.length === 1) return 1;
  await tx.all(deleteNodes({ tenantId, ...descendantsOf(category) }));
  return nodes.length;
}

async function bequeath(tx: Transaction, change: Change, category: Node, heirId: string): Promise<void> {
  const { tenantId } = change;
  const { id } = category;
  const nodes = await tx.all(lockTwoNodes({ tenantId, id, otherId: heirId }));
  const heir = nodes.find((node) => node.id === heirId);
  if (heir === undefined) throw ReassignTargetNotFound();
  if (isWithin(heir, category)) throw CategoryCycle();
  await applyRelocation(tx, change, handOver(category, heir));
  await tx.all(dropSharedLinks({ tenantId, id, heirId }));
  await tx.all(handOverLinks({ tenantId, id, heirId }));
}
