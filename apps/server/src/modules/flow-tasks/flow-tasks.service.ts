import type { TSchema } from 'typebox';

import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditEvent, auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import { createCheck } from '#core/http/validation';
import { countPeople } from '#modules/flow-tasks/completions.queries';
import {
  FlowTaskNotFound,
  GroupNotFound,
  InvalidFlowTaskConfig,
  DuplicateTaskId,
  TooManyFlowTasks,
} from '#modules/flow-tasks/flow-tasks.errors';
import {
  countTasks,
  deleteTask,
  findGroups,
  findTask,
  insertTask,
  listTasks,
  lockOrder,
  lockTask,
  lockTasks,
  resetTask,
  setOrder,
  updateTask,
  type FlowTaskChanges,
  type FlowTaskRow,
} from '#modules/flow-tasks/flow-tasks.queries';
import {
  groupsOf,
  isEverShown,
  maxTasks,
  reordered,
  repeatsAfter,
  type TaskType,
} from '#modules/flow-tasks/flow-tasks.rules';
import {
  ProfileConfig,
  TaskConfig,
  type CreateFlowTaskBody,
  type ListFlowTasksQuery,
  type ReorderBody,
  type UpdateFlowTaskBody,
} from '#modules/flow-tasks/flow-tasks.schemas';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };

/** Lists the tasks of the tenant by priority; all of them unless the client sets a limit. */
export async function listFlowTasks(db: TenantDb, { limit = maxTasks, offset = 0 }: ListFlowTasksQuery) {
  const { tenantId } = db;
  const [rows, [counted]] = await db.interactive.batch([
    listTasks({ tenantId, limit, offset }),
    countTasks({ tenantId }),
  ]);
  return { data: rows.map(presentFlowTask), total: counted!.total };
}

/** @throws InvalidFlowTaskConfig, GroupNotFound, TooManyFlowTasks */
export async function createFlowTask({ db, actor, now }: Scope, body: CreateFlowTaskBody) {
  await assertConfig(db, body.type, body.config);
  const { tenantId } = db;
  const at = now().toISOString();
  const row: FlowTaskRow = {
    tenant_id: tenantId,
    id: newId(),
    type: body.type,
    name: body.name,
    target_route: body.targetRoute,
    priority: body.priority ?? 0,
    is_mandatory: body.isMandatory ?? false,
    is_active: body.isActive ?? true,
    version: body.version ?? null,
    config: body.config ?? {},
    i18n: body.i18n ?? {},
    resets: 0,
    created_at: at,
    updated_at: at,
  };
  const created = await db.transaction(async (tx) => {
    await tx.all(lockOrder({ tenantId }));
    if ((await tx.first(countTasks({ tenantId })))!.total >= maxTasks) throw TooManyFlowTasks();
    return tx.first(insertTask({ ...row, ...auditParams(actor, at) }));
  });
  return presentFlowTask(created!);
}

/** @throws FlowTaskNotFound, InvalidFlowTaskConfig, GroupNotFound */
export async function updateFlowTask({ db, actor, now }: Scope, id: string, body: UpdateFlowTaskBody) {
  if (body.config !== undefined) {
    // The type never changes, so the check stays valid after this read.
    const task = await db.first(findTask({ tenantId: db.tenantId, id }));
    if (task === undefined) throw FlowTaskNotFound();
    await assertConfig(db, task.type, body.config);
  }
  const at = now().toISOString();
  const audit = auditParams(actor, at, { fields: Object.keys(body) });
  const row = await db.interactive.first(updateTask(id, { ...toColumns(body), updated_at: at }, audit));
  if (row === undefined) throw FlowTaskNotFound();
  return presentFlowTask(row);
}

/** Keeps the evidence of its completions. @throws FlowTaskNotFound */
export async function deleteFlowTask({ db, actor, now }: Scope, id: string): Promise<void> {
  const deleted = await db.interactive.first(deleteTask({ id, ...auditParams(actor, now().toISOString()) }));
  if (deleted === undefined) throw FlowTaskNotFound();
}

/** Reopens a task for all users. Completions are kept, but no longer count. @throws FlowTaskNotFound */
export async function resetFlowTask({ db, actor, now }: Scope, id: string) {
  const { tenantId } = db;
  const resetCount = await db.transaction(async (tx) => {
    // A concurrent completion holds a shared lock on the task, so this waits for it.
    const task = await tx.first(lockTask({ tenantId, id }));
    if (task === undefined) throw FlowTaskNotFound();
    const at = now();
    const { version, resets } = task;
    const counting = { tenantId, taskId: id, version, resets, after: repeatsAfter(task.config, at) };
    const { people } = (await tx.first(countPeople(counting)))!;
    await tx.all(resetTask({ id, at: at.toISOString(), ...auditParams(actor, at.toISOString(), { people }) }));
    return people;
  });
  return { success: true, resetCount };
}

/** Assigns all priorities from the new order, or none. @throws DuplicateTaskId, FlowTaskNotFound */
export async function reorderFlowTasks({ db, actor, now }: Scope, { taskIds }: ReorderBody) {
  const { tenantId } = db;
  const at = now().toISOString();
  // Checked here, because the schema would treat an upper-case id as a different one.
  if (new Set(taskIds).size < taskIds.length) throw DuplicateTaskId();
  await db.transaction(async (tx) => {
    await tx.all(lockOrder({ tenantId }));
    const tasks = await tx.all(lockTasks({ tenantId }));
    const known = new Set(tasks.map(({ id }) => id));
    if (!taskIds.every((id) => known.has(id))) throw FlowTaskNotFound();
    await tx.all(setOrder({ tenantId, ids: reordered(tasks, taskIds), at }));
    const details = { fields: ['priority'], taskIds };
    await tx.all(auditEvent(actor, at, { action: 'flow_task.reordered', resourceType: 'flow_task', details }));
  });
  return { success: true };
}

const checks = { profile: createConfigCheck(ProfileConfig), others: createConfigCheck(TaskConfig) };

function createConfigCheck(schema: TSchema) {
  const check = createCheck(schema);
  return (config: unknown): string | undefined => {
    const found = check(config);
    return found && `config${found.path} ${found.message}`;
  };
}

/** @throws InvalidFlowTaskConfig, GroupNotFound */
async function assertConfig(db: TenantDb, type: TaskType, config: FlowTaskRow['config'] | undefined): Promise<void> {
  if (config === undefined) return;
  const problem =
    (type === 'profile' ? checks.profile : checks.others)(config) ??
    (isEverShown(config) ? undefined : 'config.until must be after config.from');
  if (problem !== undefined) throw InvalidFlowTaskConfig({ details: { problem } });
  await assertGroups(db, groupsOf(config));
}

/** A group that is deleted later stays in the audience: without it, the task might be for all users. */
async function assertGroups(db: TenantDb, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const known = await db.all(findGroups({ tenantId: db.tenantId, ids }));
  const groups = ids.filter((id) => !known.some((group) => group.id === id));
  if (groups.length > 0) throw GroupNotFound({ details: { groups } });
}

function toColumns(body: UpdateFlowTaskBody): FlowTaskChanges {
  const { targetRoute, isMandatory, isActive, ...same } = body;
  const columns = { ...same, target_route: targetRoute, is_mandatory: isMandatory, is_active: isActive };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined)) as FlowTaskChanges;
}

export function presentFlowTask(row: FlowTaskRow) {
  return {
    id: row.id,
    type: row.type,
    name: row.name,
    targetRoute: row.target_route,
    priority: row.priority,
    isMandatory: row.is_mandatory,
    isActive: row.is_active,
    version: row.version,
    config: row.config,
    i18n: row.i18n,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
