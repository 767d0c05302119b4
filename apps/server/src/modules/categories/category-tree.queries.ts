import { sql } from 'kysely';

import { lock, queryBuilder, read, write } from '#core/data/db/query';
import {
  integer,
  rowById,
  sharedTenantLock,
  tenantLock,
  tenantTable,
  text,
  uuid,
  type ById,
  type RowOf,
} from '#core/data/db/rows';
import type { CategoryTables } from '#modules/categories/categories.queries';

const builder = queryBuilder<CategoryTables>();

type Range = { tenantId: string; from: string; before: string };

const nodes = tenantTable('categories', {
  id: uuid,
  parent_id: uuid.orNull,
  level: integer,
  path: text,
  usage_count: integer,
});
export type Node = RowOf<typeof nodes>;

/** Serialises moves and deletions within a tenant: two of them that are each valid can form a cycle together. */
export const lockTree = tenantLock('categories');

/** Blocks moves and deletions while the transaction relies on the tree. */
export const shareTree = sharedTenantLock('categories');

export const findNode = rowById(nodes);

/** Locks in the order of ids to avoid deadlocks, and waits for concurrent links and unlinks. */
export const lockTwoNodes = lock<ById & { otherId: string }, Node>((p) =>
  builder
    .selectFrom('categories')
    .select(nodes.columns)
    .where('tenant_id', '=', p.tenantId)
    .where('id', 'in', [p.id, p.otherId])
    .orderBy('id')
    .forUpdate(),
);

/** Locks a whole subtree in the same order. */
export const lockNodes = lock<Range, Node>((p) =>
  builder
    .selectFrom('categories')
    .select(nodes.columns)
    .where('tenant_id', '=', p.tenantId)
    .where('path', '>=', p.from)
    .where('path', '<', p.before)
    .orderBy('id')
    .forUpdate(),
);

/** Null if the range is empty. */
export const findDeepestLevel = read<Range, { level: number | null }>((p) =>
  builder
    .selectFrom('categories')
    .select(sql<number | null>`max(level)`.as('level'))
    .where('tenant_id', '=', p.tenantId)
    .where('path', '>=', p.from)
    .where('path', '<', p.before),
);

type Relocation = Range & {
  at: string;
  parentId: string | null;
  topLevel: number;
  levelDelta: number;
  prefix: string;
  keepFrom: number;
};

/** One statement, for a subtree of any size. */
export const relocate = write<Relocation, never>((p) =>
  builder
    .updateTable('categories')
    .set({
      parent_id: sql`case when level = ${p.topLevel}::integer then ${p.parentId}::uuid else parent_id end`,
      level: sql`level + ${p.levelDelta}::integer`,
      path: sql`${p.prefix}::text || substr(path, ${p.keepFrom}::integer)`,
      updated_at: p.at,
    })
    .where('tenant_id', '=', p.tenantId)
    .where('path', '>=', p.from)
    .where('path', '<', p.before),
);

export const deleteNodes = write<Range, never>((p) =>
  builder
    .deleteFrom('categories')
    .where('tenant_id', '=', p.tenantId)
    .where('path', '>=', p.from)
    .where('path', '<', p.before),
);
