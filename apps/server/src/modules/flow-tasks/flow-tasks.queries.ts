import { sql } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import {
  auditedWrite,
  lock,
  queryBuilder,
  read,
  toAuditedWrite,
  write,
  type WriteStatement,
} from '#core/data/db/query';
import type { FlowTaskRow, FlowTaskTables } from '#modules/flow-tasks/flow-tasks.tables';

type ById = { tenantId: string; id: string };

const builder = queryBuilder<FlowTaskTables>();

const taskColumns = [
  'tenant_id',
  'id',
  'type',
  'name',
  'target_route',
  'priority',
  'is_mandatory',
  'is_active',
  'version',
  'config',
  'i18n',
  'resets',
  'created_at',
  'updated_at',
] as const;

const resourceType = 'flow_task';

const inOrder = (p: { tenantId: string }) =>
  builder
    .selectFrom('flow_tasks')
    .select(taskColumns)
    .where('tenant_id', '=', p.tenantId)
    .orderBy('priority')
    .orderBy('created_at')
    .orderBy('id');

export const listTasks = read<{ tenantId: string; limit: number; offset: number }, FlowTaskRow>((p) =>
  inOrder(p).limit(p.limit).offset(p.offset),
);

export const listActiveTasks = read<{ tenantId: string }, FlowTaskRow>((p) => inOrder(p).where('is_active', '=', true));

export const countTasks = read<{ tenantId: string }, { total: number }>((p) =>
  builder
    .selectFrom('flow_tasks')
    .select(sql<number>`count(*)`.as('total'))
    .where('tenant_id', '=', p.tenantId),
);

export const findTask = read<ById, FlowTaskRow>((p) =>
  builder.selectFrom('flow_tasks').select(taskColumns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

/** Finds the existing groups. */
export const findGroups = read<{ tenantId: string; ids: readonly string[] }, { id: string }>((p) =>
  builder
    .selectFrom('groups')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`id = any(${p.ids}::uuid[])`),
);

/** Locks the tasks against changes until the transaction ends; other transactions may share the lock. */
export const shareTasks = lock<{ tenantId: string; ids: readonly string[] }, FlowTaskRow>((p) =>
  builder
    .selectFrom('flow_tasks')
    .select(taskColumns)
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`id = any(${p.ids}::uuid[])`)
    .orderBy('id')
    .forShare(),
);

export const lockTask = lock<ById, FlowTaskRow>((p) =>
  builder
    .selectFrom('flow_tasks')
    .select(taskColumns)
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .forNoKeyUpdate(),
);

/** Serialises creations and reorderings within a tenant. */
export const lockOrder = lock<{ tenantId: string }, never>((p) => ({
  compile: () =>
    sql`select pg_advisory_xact_lock(hashtextextended('flow-tasks:' || ${p.tenantId}::text, 0))`.compile(builder),
}));

/** Locks all tasks of the tenant until the transaction ends. */
export const lockTasks = lock<{ tenantId: string }, Pick<FlowTaskRow, 'id' | 'priority' | 'created_at'>>((p) =>
  builder
    .selectFrom('flow_tasks')
    .select(['id', 'priority', 'created_at'])
    .where('tenant_id', '=', p.tenantId)
    .orderBy('id')
    .forNoKeyUpdate(),
);

export const insertTask = auditedWrite<FlowTaskRow & AuditParams, FlowTaskRow>((p) => {
  const row = Object.fromEntries(taskColumns.map((name) => [name, p[name]]));
  const change = builder
    .insertInto('flow_tasks')
    .values(row as FlowTaskRow)
    .returning(taskColumns);
  return withAudit<FlowTaskRow>(change, { action: 'flow_task.created', resourceType }, p);
});

export type FlowTaskChanges = Partial<Omit<FlowTaskRow, 'tenant_id' | 'id' | 'type' | 'resets' | 'created_at'>>;

export function updateTask(id: string, changes: FlowTaskChanges, audit: AuditParams): WriteStatement<FlowTaskRow> {
  const change = builder
    .updateTable('flow_tasks')
    .set(changes)
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .returning(taskColumns);
  return toAuditedWrite(withAudit<FlowTaskRow>(change, { action: 'flow_task.updated', resourceType }, audit));
}

export const deleteTask = auditedWrite<{ id: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .deleteFrom('flow_tasks')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'flow_task.deleted', resourceType }, p);
});

export const resetTask = auditedWrite<{ id: string; at: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .updateTable('flow_tasks')
    .set((db) => ({ resets: db('resets', '+', 1), updated_at: p.at }))
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'flow_task.reset', resourceType }, p);
});

/** The priority of a task becomes its position in the list, from 0. */
export const setOrder = write<{ tenantId: string; ids: readonly string[]; at: string }, never>((p) => ({
  compile: () =>
    sql`update flow_tasks set priority = listed.place - 1, updated_at = ${p.at}
        from unnest(${p.ids}::uuid[]) with ordinality as listed (id, place)
        where flow_tasks.tenant_id = ${p.tenantId} and flow_tasks.id = listed.id
          and flow_tasks.priority <> listed.place - 1`.compile(builder),
}));
