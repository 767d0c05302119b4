import { sql } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { insertRow } from '#core/data/audit/audited-rows.queries';
import { auditedWrite, lock, queryBuilder, read, write } from '#core/data/db/query';
import { typed, lockById, rowById, tenantTable, time, uuid, type ById, type RowOf } from '#core/data/db/rows';
import {
  categories,
  defaultLanguage,
  type CategoryRow,
  type CategoryTables,
} from '#modules/categories/categories.queries';

export type EntityType = 'space' | 'resource' | 'tenant' | 'group';

const links = tenantTable('category_links', {
  tenant_id: uuid,
  id: uuid,
  category_id: uuid,
  entity_type: typed<EntityType>(),
  entity_id: uuid,
  created_by: uuid.orNull,
  created_at: time,
});
export type CategoryLinkRow = RowOf<typeof links>;

type ByEntity = { tenantId: string; entityType: EntityType; entityId: string };
type Page = { limit: number; offset: number };

const builder = queryBuilder<CategoryTables & { category_links: CategoryLinkRow }>();

const spaces = tenantTable('spaces');
const resources = tenantTable('resources');
const groups = tenantTable('groups');

export const findEntity = { space: rowById(spaces), resource: rowById(resources), group: rowById(groups) };

/** The record is not deleted before the link exists. */
export const lockEntity = {
  space: lockById(spaces, 'for key share'),
  resource: lockById(resources, 'for key share'),
  group: lockById(groups, 'for key share'),
};

export const findLink = read<ByEntity & { categoryId: string }, CategoryLinkRow>((p) =>
  builder
    .selectFrom('category_links')
    .select(links.columns)
    .where('tenant_id', '=', p.tenantId)
    .where('category_id', '=', p.categoryId)
    .where('entity_type', '=', p.entityType)
    .where('entity_id', '=', p.entityId),
);

export const insertLink = insertRow(links, { action: 'category.linked', resourceType: 'category_link' });

export const deleteLink = auditedWrite<ByEntity & { categoryId: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .deleteFrom('category_links')
    .where('tenant_id', '=', p.tenantId)
    .where('category_id', '=', p.categoryId)
    .where('entity_type', '=', p.entityType)
    .where('entity_id', '=', p.entityId)
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'category.unlinked', resourceType: 'category_link' }, p);
});

export const listLinks = read<{ tenantId: string; categoryId: string } & Page, CategoryLinkRow>((p) =>
  builder
    .selectFrom('category_links')
    .select(links.columns)
    .where('tenant_id', '=', p.tenantId)
    .where('category_id', '=', p.categoryId)
    .orderBy('id')
    .limit(p.limit)
    .offset(p.offset),
);

export const listCategoriesOf = read<ByEntity & Page, CategoryRow>((p) =>
  builder
    .selectFrom('category_links')
    .innerJoin('categories', (join) =>
      join
        .onRef('categories.tenant_id', '=', 'category_links.tenant_id')
        .onRef('categories.id', '=', 'category_links.category_id'),
    )
    .select([...categories.columns.map((name) => `categories.${name}` as const), defaultLanguage(p.tenantId)])
    .where('category_links.tenant_id', '=', p.tenantId)
    .where('categories.tenant_id', '=', p.tenantId)
    .where('category_links.entity_type', '=', p.entityType)
    .where('category_links.entity_id', '=', p.entityId)
    .orderBy('categories.level')
    .orderBy('categories.key')
    .limit(p.limit)
    .offset(p.offset),
);

export const countLinksOf = read<ByEntity, { total: number }>((p) =>
  builder
    .selectFrom('category_links')
    .select(sql<number>`count(*)`.as('total'))
    .where('tenant_id', '=', p.tenantId)
    .where('entity_type', '=', p.entityType)
    .where('entity_id', '=', p.entityId),
);

/** Locks in the order of ids, so that two deletions that share categories cannot deadlock. */
export const lockCategoriesOf = lock<ByEntity, { id: string }>((p) =>
  builder
    .selectFrom('categories')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where(
      'id',
      'in',
      builder
        .selectFrom('category_links')
        .select('category_id')
        .where('tenant_id', '=', p.tenantId)
        .where('entity_type', '=', p.entityType)
        .where('entity_id', '=', p.entityId),
    )
    .orderBy('id')
    .forNoKeyUpdate(),
);

/** A category has at most one link to a record, so each count decreases by one. */
export const deleteLinksOf = write<ByEntity, never>((p) =>
  builder
    .with('gone', (db) =>
      db
        .deleteFrom('category_links')
        .where('tenant_id', '=', p.tenantId)
        .where('entity_type', '=', p.entityType)
        .where('entity_id', '=', p.entityId)
        .returning('category_id'),
    )
    .updateTable('categories')
    .set({ usage_count: sql`usage_count - 1` })
    .where('tenant_id', '=', p.tenantId)
    .where('id', 'in', (db) => db.selectFrom('gone').select('category_id')),
);

/** Deletes the links of a whole subtree. */
export const deleteLinksWithin = write<{ tenantId: string; from: string; before: string }, never>((p) =>
  builder
    .deleteFrom('category_links')
    .where('tenant_id', '=', p.tenantId)
    .where(
      'category_id',
      'in',
      builder
        .selectFrom('categories')
        .select('id')
        .where('tenant_id', '=', p.tenantId)
        .where('path', '>=', p.from)
        .where('path', '<', p.before),
    ),
);

type Reassignment = ById & { targetId: string };

/** Deletes the links to records that the target is linked to already. */
export const dropSharedLinks = write<Reassignment, never>((p) =>
  builder
    .deleteFrom('category_links')
    .where('tenant_id', '=', p.tenantId)
    .where('category_id', '=', p.id)
    .where('entity_id', 'in', (db) =>
      db
        .selectFrom('category_links as own')
        .select('own.entity_id')
        .where('own.tenant_id', '=', p.tenantId)
        .where('own.category_id', '=', p.targetId),
    ),
);

export const reassignLinks = write<Reassignment, never>((p) =>
  builder
    .with('moved', (db) =>
      db
        .updateTable('category_links')
        .set({ category_id: p.targetId })
        .where('tenant_id', '=', p.tenantId)
        .where('category_id', '=', p.id)
        .returning('id'),
    )
    .updateTable('categories')
    .set((set) => ({
      usage_count: sql`usage_count + ${set.selectFrom('moved').select(sql<number>`count(*)::integer`.as('count'))}`,
    }))
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.targetId),
);
