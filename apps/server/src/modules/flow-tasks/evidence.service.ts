import type { TenantDb } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { toPage, type SetHeader } from '#core/http/paging';
import { countCompletions, countStandings, listCompletions } from '#modules/flow-tasks/completions.queries';
import { presentCompletion } from '#modules/flow-tasks/completions.service';
import { FlowTaskNotFound } from '#modules/flow-tasks/flow-tasks.errors';
import { findTask } from '#modules/flow-tasks/flow-tasks.queries';
import { repeatsAfter } from '#modules/flow-tasks/flow-tasks.rules';
import type { PageQuery } from '#modules/flow-tasks/flow-tasks.schemas';

/** Lists the completions of a task, the newest first, including a deleted task. @throws FlowTaskNotFound */
export async function listEvidence(
  { db, setHeader }: { db: TenantDb; setHeader: SetHeader },
  id: string,
  { limit = 50, offset = 0 }: PageQuery,
) {
  const of = { taskId: id };
  const { rows, ...total } = await pageOfMatches(
    db,
    listCompletions(db.tenantId, of, { limit, offset }),
    countCompletions(db.tenantId, of),
    { limit, offset },
  );
  const isKnown = total.total > 0 || (await db.first(findTask({ tenantId: db.tenantId, id }))) !== undefined;
  if (!isKnown) throw FlowTaskNotFound();
  const data = rows.map((row) => ({ userId: row.user_id, ...presentCompletion(row) }));
  return toPage(data, { limit, offset }, total, setHeader);
}

/** Counts the active users in the audience by state: open, completed, skipped. @throws FlowTaskNotFound */
export async function reportFlowTask({ db, now }: { db: TenantDb; now: () => Date }, id: string) {
  const { tenantId } = db;
  const task = await db.first(findTask({ tenantId, id }));
  if (task === undefined) throw FlowTaskNotFound();
  const { version, resets, config, is_mandatory: isMandatory } = task;
  const { groups = null, roles = null, createdBefore } = config.audience ?? {};
  const counting = { tenantId, taskId: id, version, resets, after: repeatsAfter(config, now()) };
  // PostgreSQL accepts fewer UTC offsets than RFC 3339.
  const before = createdBefore === undefined ? null : new Date(createdBefore).toISOString();
  const audience = { groups, roles, createdBefore: before, isMandatory };
  return { data: await db.interactive.first(countStandings({ ...counting, ...audience })) };
}
