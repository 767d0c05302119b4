import { sql } from 'kysely';

import { lock, queryBuilder, read, write } from '#core/data/db/query';
import type { CategoryTables } from '#modules/categories/categories.queries';

const builder = queryBuilder<CategoryTables>();

type ById = { tenantId: string; id: string };
type Range = { tenantId: string; from: string; before: string };
export type Node = { id: string; parent_id: string | null; level: number; path: string; usage_count: number };

const nodeColumns = ['id', 'parent_id', 'level', 'path', 'usage_count'] as const;

/** Serialises moves and deletions within a tenant: two of them that are each valid can form a cycle together. */
export const lockTree = lock<{ tenantId: string }, never>((p) => ({
  compile: () =>
    sql`select pg_advisory_xact_lock(hashtextextended('categories:' || ${p.tenantId}::text, 0))`.compile(builder),
}));

/** Blocks moves and deletions while the transaction relies on the tree; other transactions may share the lock. */
export const shareTree = lock<{ tenantId: string }, never>((p) => ({
  compile: () =>
    sql`select pg_advisory_xact_lock_shared(hashtextextended('categories:' || ${p.tenantId}::text, 0))`.compile(
      builder,
    ),
}));

export const findNode = read<ById, Node>((p) =>
  builder.selectFrom('categories').select(nodeColumns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

/** Locks in the order of ids to avoid deadlocks, and waits for concurrent links and unlinks. */
export const lockTwoNodes = lock<ById & { otherId: string }, Node>((p) =>
  builder
    .selectFrom('categories')
    .select(nodeColumns)
    .where('tenant_id', '=', p.tenantId)
    .where('id', 'in', [p.id, p.otherId])
    .orderBy('id')
    .forUpdate(),
);

/** Locks a whole subtree in the same order. */
export const lockNodes = lock<Range, Node>((p) =>
  builder
    .selectFrom('categories')
    .select(nodeColumns)
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
