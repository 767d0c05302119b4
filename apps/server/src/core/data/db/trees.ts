import { queryBuilder, read, type LockStatement, type ReadStatement } from '#core/data/db/query';
import { anyReferrer, tenantLock, type ById, type TenantTable } from '#core/data/db/rows';

type Node = { id: string; parent_id: string | null };

type Tree = {
  /** Serialises the moves within a tenant: two moves that are each valid can form a cycle together. */
  lock(p: { tenantId: string }): LockStatement<never>;
  /** Whether `id` is `ancestorId` or one of its descendants. */
  isWithin(p: ById & { ancestorId: string }): ReadStatement<{ id: string }>;
  findAnyChild(p: ById): ReadStatement<{ id: string }>;
};

const builder = queryBuilder<Record<string, Node & { tenant_id: string }>>();

/** The statements of a table whose rows have parents in the same table. */
export function treeOf<Row extends Node>(table: TenantTable<Row>): Tree {
  const { name } = table;
  return {
    lock: tenantLock(name),
    isWithin: read((p) =>
      builder
        .withRecursive('line(id, parent_id)', (db) =>
          db
            .selectFrom(name)
            .select(['id', 'parent_id'])
            .where('tenant_id', '=', p.tenantId)
            .where('id', '=', p.id)
            .union(
              db
                .selectFrom(name)
                .innerJoin('line', 'line.parent_id', `${name}.id`)
                .select([`${name}.id`, `${name}.parent_id`])
                .where(`${name}.tenant_id`, '=', p.tenantId),
            ),
        )
        .selectFrom('line')
        .select('id')
        .where('id', '=', p.ancestorId),
    ),
    findAnyChild: anyReferrer(table, 'parent_id'),
  };
}
