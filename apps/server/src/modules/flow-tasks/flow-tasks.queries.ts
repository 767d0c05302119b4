import { sql } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { deleteRow, insertRow, updateRow, type Update } from '#core/data/audit/audited-rows.queries';
import { auditedWrite, lock, queryBuilder, read, write } from '#core/data/db/query';
import {
  typed,
  flag,
  integer,
  lockById,
  lockByIds,
  rowById,
  rowsByIds,
  tenantLock,
  tenantTable,
  text,
  time,
  uuid,
  type RowOf,
} from '#core/data/db/rows';

type Config = Record<string, unknown> & {
  audience?: { groups?: string[]; roles?: ('admin' | 'member')[]; createdBefore?: string };
  from?: string;
  until?: string;
  repeatEveryDays?: number;
};

const tasks = tenantTable('flow_tasks', {
  tenant_id: uuid,
  id: uuid,
  type: typed<'agb' | 'profile' | 'kyc' | 'avatar' | 'phone_verification' | 'email_verification' | 'custom'>(),
  name: text,
  target_route: text,
  priority: integer,
  is_mandatory: flag,
  is_active: flag,
  version: text.orNull,
  config: typed<Config>(),
  i18n: typed<Record<string, { title?: string; description?: string; buttonText?: string }>>(),
  resets: integer,
  created_at: time,
  updated_at: time,
});
export type FlowTaskRow = RowOf<typeof tasks>;

const builder = queryBuilder<{ flow_tasks: FlowTaskRow }>();

const resourceType = 'flow_task';

const inOrder = (p: { tenantId: string }) =>
  builder
    .selectFrom('flow_tasks')
    .select(tasks.columns)
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

export const findTask = rowById(tasks);

/** Finds the existing groups. */
export const findGroups = rowsByIds(tenantTable('groups'));

/** Locks the tasks against changes; other transactions may share the lock. */
export const shareTasks = lockByIds(tasks, 'for share');

export const lockTask = lockById(tasks, 'for no key update');

/** Serialises creations and reorderings within a tenant. */
export const lockOrder = tenantLock('flow-tasks');

/** Locks all tasks of the tenant until the transaction ends. */
export const lockTasks = lock<{ tenantId: string }, Pick<FlowTaskRow, 'id' | 'priority' | 'created_at'>>((p) =>
  builder
    .selectFrom('flow_tasks')
    .select(['id', 'priority', 'created_at'])
    .where('tenant_id', '=', p.tenantId)
    .orderBy('id')
    .forNoKeyUpdate(),
);

export const insertTask = insertRow(tasks, { action: 'flow_task.created', resourceType });

export type FlowTaskChanges = Partial<Omit<FlowTaskRow, 'tenant_id' | 'id' | 'type' | 'resets' | 'created_at'>>;

export const updateTask: Update<FlowTaskChanges, FlowTaskRow> = updateRow(tasks, {
  action: 'flow_task.updated',
  resourceType,
});

export const deleteTask = deleteRow(tasks, { action: 'flow_task.deleted', resourceType });

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
export const setOrder = write<{ tenantId: string; ids: readonly string[]; at: string }, never>(
  (p) => sql`update flow_tasks set priority = listed.place - 1, updated_at = ${p.at}
        from unnest(${p.ids}::uuid[]) with ordinality as listed (id, place)
        where flow_tasks.tenant_id = ${p.tenantId} and flow_tasks.id = listed.id
          and flow_tasks.priority <> listed.place - 1`,
);
