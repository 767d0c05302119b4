import { sql } from 'kysely';

import { queryBuilder, statement } from '#core/db/query';
import type { CategoryTables } from '#modules/categories/categories.queries';

const builder = queryBuilder<CategoryTables>();

type ById = { tenantId: string; id: string };
type Range = { tenantId: string; from: string; before: string };
export type Node = { id: string; parent_id: string | null; level: number; path: string; usage_count: number };

const nodeColumns = ['id', 'parent_id', 'level', 'path', 'usage_count'] as const;

/** Moves and deletions one at a time within a tenant: two, each harmless alone, can close a cycle together. */
export const lockTree = statement<{ tenantId: string }, never>((p) => ({
  compile: () =>
    sql`select pg_advisory_xact_lock(hashtextextended('categories:' || ${p.tenantId}::text, 0))`.compile(builder),
}));

/** Keeps moves and deletions away from what relies on the tree as it is; others may share it. */
export const shareTree = statement<{ tenantId: string }, never>((p) => ({
  compile: () =>
    sql`select pg_advisory_xact_lock_shared(hashtextextended('categories:' || ${p.tenantId}::text, 0))`.compile(
      builder,
    ),
}));

export const findNode = statement<ById, Node>((p) =>
  builder.selectFrom('categories').select(nodeColumns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

/** In the order of ids, as all who lock several: whoever links or unlinks meanwhile has finished. */
export const lockTwoNodes = statement<ById & { otherId: string }, Node>((p) =>
  builder
    .selectFrom('categories')
    .select(nodeColumns)
    .where('tenant_id', '=', p.tenantId)
    .where('id', 'in', [p.id, p.otherId])
    .orderBy('id')
    .forUpdate(),
);

/** The same for a whole subtree. */
export const lockNodes = statement<Range, Node>((p) =>
  builder
    .selectFrom('categories')
    .select(nodeColumns)
    .where('tenant_id', '=', p.tenantId)
    .where('path', '>=', p.from)
    .where('path', '<', p.before)
    .orderBy('id')
    .forUpdate(),
);

/** Null where there is nothing. */
export const findDeepestLevel = statement<Range, { level: number | null }>((p) =>
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

/** However large the subtree is, one statement. */
export const relocate = statement<Relocation, never>((p) =>
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

export const deleteNodes = statement<Range, never>((p) =>
  builder
    .deleteFrom('categories')
    .where('tenant_id', '=', p.tenantId)
    .where('path', '>=', p.from)
    .where('path', '<', p.before),
);
