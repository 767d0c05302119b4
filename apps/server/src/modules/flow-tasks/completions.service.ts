import type { Actor, Person } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditEvent } from '#core/data/audit/audit.queries';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import { findAccountProofs } from '#modules/auth/index';
import {
  countCompletions,
  findPerson,
  insertCompletion,
  listCompletions,
  listLatest,
  listStandings,
  type CompletionRow,
  type Outcome,
  type PersonFacts,
  type Standing,
} from '#modules/flow-tasks/completions.queries';
import {
  RequirementMissing,
  FlowTaskNotFound,
  TaskMandatory,
  TextChanged,
  VersionChanged,
} from '#modules/flow-tasks/flow-tasks.errors';
import { findTask, listActiveTasks, shareTasks, type FlowTaskRow } from '#modules/flow-tasks/flow-tasks.queries';
import {
  counts,
  hashOf,
  isAboutAccount,
  isDone,
  isFor,
  localise,
  type Facts,
  type Role,
} from '#modules/flow-tasks/flow-tasks.rules';
import type { CompleteFlowTaskBody, PageQuery } from '#modules/flow-tasks/flow-tasks.schemas';
import { presentFlowTask } from '#modules/flow-tasks/flow-tasks.service';

/** A user who acts for another tenant has the tasks of their home tenant. `languages`: the best one first. */
type Scope = { services: Pick<Services, 'database' | 'now'>; actor: Actor<Person>; languages: readonly string[] };

/** Lists the open tasks of the caller. Tasks whose condition is met are recorded as completed and left out. */
export async function listPending(scope: Scope) {
  const { services, actor } = scope;
  const db = homeDb(scope);
  const whose = { tenantId: db.tenantId, userId: actor.userId };
  const [tasks, [person], standings] = await db.batch([
    listActiveTasks({ tenantId: db.tenantId }),
    findPerson(whose),
    listStandings(whose),
  ]);
  if (person === undefined) return { data: [], total: 0 };
  const now = services.now();
  const shown = tasks.filter((task) => isFor(task.config, memberOf(person), now));
  const open = shown.filter((task) => !hasCounting(standings, task, 'completed', now));
  const done = await findDone(scope, open, person);
  const recorded = done.length === 0 ? new Set() : await recordFacts(scope, { person, standings }, done);
  // A skipped task that has become mandatory is open again.
  const isSkipped = (task: FlowTaskRow) => !task.is_mandatory && hasCounting(standings, task, 'skipped', now);
  const data = open
    .filter((task) => !recorded.has(task.id) && !isSkipped(task))
    .map((task) => ({ ...presentFlowTask(task), text: toDisplayed(task, languagesFor(scope, person)) }));
  return { data, total: data.length };
}

/**
 * Completing a task again returns the first record.
 * @throws FlowTaskNotFound, VersionChanged, TextChanged, RequirementMissing
 */
export async function completeFlowTask(scope: Scope, id: string, body: CompleteFlowTaskBody) {
  const { version, textHash, answers = null } = body ?? {};
  const found = await homeDb(scope).first(findTask({ tenantId: scope.actor.homeTenantId, id }));
  if (found === undefined) throw FlowTaskNotFound();
  // Read before the transaction, because the account needs a second connection.
  const proofs = isAboutAccount(found.type) ? await proofsOf(scope) : undefined;
  return settle(scope, id, (task, person, latest) => {
    if (version !== undefined && version !== task.version) throw VersionChanged({ details: { version: task.version } });
    if (latest.completed !== undefined) return latest.completed;
    const { hash } = toDisplayed(task, languagesFor(scope, person));
    if (textHash !== undefined && textHash !== hash) throw TextChanged();
    if (isDone(task, factsOf(person, proofs)) === false) throw RequirementMissing();
    return { outcome: 'completed', answers };
  });
}

/** Skipping a completed task returns the completion. @throws FlowTaskNotFound, TaskMandatory */
export async function skipFlowTask(scope: Scope, id: string) {
  return settle(scope, id, (task, _person, { completed, skipped }) => {
    if (task.is_mandatory) throw TaskMandatory();
    return completed ?? skipped ?? { outcome: 'skipped', answers: null };
  });
}

export async function listHistory(
  { actor, services, setHeader }: Omit<Scope, 'languages'> & { setHeader: SetHeader },
  { limit = 50, offset = 0 }: PageQuery,
) {
  const db = services.database.tenant(actor.homeTenantId);
  const of = { userId: actor.userId };
  const { rows, ...total } = await pageOfMatches(
    db,
    listCompletions(db.tenantId, of, { limit, offset }),
    countCompletions(db.tenantId, of),
    { limit, offset },
  );
  return toPage(rows.map(presentCompletion), { limit, offset }, total, setHeader);
}

type Latest = { [Each in Outcome]?: CompletionRow };
type New = { outcome: Outcome; answers: Record<string, unknown> | null };
type Decide = (task: FlowTaskRow, person: PersonFacts, latest: Latest) => CompletionRow | New;

/** Locks the task, decides, and records the outcome once. */
async function settle(scope: Scope, id: string, decide: Decide) {
  const { actor, services } = scope;
  const db = homeDb(scope);
  const row = await db.transaction(async (tx) => {
    const { task, person } = await shareOpen(tx, scope, id);
    const now = services.now();
    const whose = { tenantId: db.tenantId, userId: actor.userId, taskId: id };
    const { version, resets } = task;
    const rows = await tx.all(listLatest({ ...whose, version, resets }));
    const counting = rows.filter((each) => counts(task.config, each.completed_at, now));
    const decided = decide(task, person, byOutcome(counting));
    if ('id' in decided) return decided;
    const round = (byOutcome(rows)[decided.outcome]?.round ?? -1) + 1;
    const text = toDisplayed(task, languagesFor(scope, person));
    const entry = { ...decided, source: 'person' as const, round, at: now.toISOString() };
    const inserted = await tx.first(insertCompletion(toRow(scope, task, { ...entry, ...text })));
    if (inserted === undefined) {
      // A concurrent request has committed the same outcome, which caused the conflict.
      return byOutcome(await tx.all(listLatest({ ...whose, version, resets })))[decided.outcome]!;
    }
    await record(tx, scope, inserted);
    return inserted;
  });
  return { data: presentCompletion(row) };
}

/** @throws FlowTaskNotFound also if the task is not available to the user now */
async function shareOpen(tx: Transaction, { actor, services }: Scope, id: string) {
  const tenantId = actor.homeTenantId;
  const task = await tx.first(shareTasks({ tenantId, ids: [id] }));
  const person = await tx.first(findPerson({ tenantId, userId: actor.userId }));
  if (task === undefined || person === undefined || !task.is_active) throw FlowTaskNotFound();
  if (!isFor(task.config, memberOf(person), services.now())) throw FlowTaskNotFound();
  return { task, person };
}

/** Finds the tasks whose condition is met. */
async function findDone(scope: Scope, tasks: readonly FlowTaskRow[], person: PersonFacts) {
  const proofs = tasks.some(({ type }) => isAboutAccount(type)) ? await proofsOf(scope) : undefined;
  const facts = factsOf(person, proofs);
  return tasks.filter((task) => isDone(task, facts) === true);
}

type UserState = { person: PersonFacts; standings: readonly Standing[] };

/** Records the completions and returns their task ids. Tasks that changed since they were read are left for the next request. */
async function recordFacts(scope: Scope, { person, standings }: UserState, done: readonly FlowTaskRow[]) {
  const db = homeDb(scope);
  const seen = new Map(done.map((task) => [task.id, task]));
  const recorded = await db.transaction(async (tx) => {
    const tasks = await tx.all(shareTasks({ tenantId: db.tenantId, ids: [...seen.keys()] }));
    const same = tasks.filter((task) => isUnchanged(seen.get(task.id)!, task));
    const at = scope.services.now().toISOString();
    const inserted: CompletionRow[] = [];
    for (const task of same) {
      const round = (standingOf(standings, task.id, 'completed')?.round ?? -1) + 1;
      const text = toDisplayed(task, languagesFor(scope, person));
      const entry = { outcome: 'completed' as const, source: 'automatic' as const, answers: null, round, at };
      inserted.push(...(await tx.all(insertCompletion(toRow(scope, task, { ...entry, ...text })))));
    }
    for (const row of inserted) await record(tx, scope, row);
    return same;
  });
  return new Set(recorded.map(({ id }) => id));
}

/** `updated_at` also covers changes of the condition. */
function isUnchanged(seen: FlowTaskRow, { version, resets, updated_at: updatedAt }: FlowTaskRow): boolean {
  return seen.version === version && seen.resets === resets && seen.updated_at === updatedAt;
}

function record(tx: Transaction, { actor }: Scope, { task_id: resourceId, outcome, version, ...row }: CompletionRow) {
  const event = { action: `flow_task.${outcome}`, resourceType: 'flow_task', resourceId };
  const who = { ...actor, tenantId: actor.homeTenantId };
  return tx.all(auditEvent(who, row.completed_at, { ...event, details: { version, source: row.source } }));
}

type Entry = New & { source: CompletionRow['source']; round: number; at: string } & ReturnType<typeof toDisplayed>;

function toRow({ actor }: Scope, task: FlowTaskRow, entry: Entry): CompletionRow {
  return {
    tenant_id: task.tenant_id,
    id: newId(),
    task_id: task.id,
    user_id: actor.userId,
    outcome: entry.outcome,
    source: entry.source,
    task_type: task.type,
    task_name: task.name,
    version: task.version,
    resets: task.resets,
    round: entry.round,
    language: entry.language,
    text_hash: entry.hash,
    answers: entry.answers,
    ip_address: actor.request.ip,
    user_agent: actor.request.userAgent,
    session_id: actor.sessionId,
    completed_at: entry.at,
  };
}

function homeDb({ services, actor }: Scope): TenantDb {
  return services.database.tenant(actor.homeTenantId);
}

function toDisplayed(task: FlowTaskRow, languages: readonly string[]) {
  const text = localise(task, languages);
  return { ...text, hash: hashOf(text) };
}

function languagesFor({ languages }: Scope, person: PersonFacts): string[] {
  return [...languages, person.default_language, 'en'];
}

function memberOf(person: PersonFacts) {
  const role: Role = person.is_tenant_admin ? 'admin' : 'member';
  return { createdAt: person.created_at, role, groupIds: person.group_ids };
}

type Proofs = { email: boolean; phone: boolean };

/** Reads the proofs of the account, which no tenant can see. */
async function proofsOf({ services, actor: { accountId } }: Scope): Promise<Proofs | undefined> {
  return services.database.credential().first(findAccountProofs({ accountId }));
}

function factsOf(person: PersonFacts, proofs: Proofs | undefined): Facts {
  return {
    hasAvatar: person.has_avatar,
    hasProvenEmail: proofs?.email ?? false,
    hasProvenPhone: proofs?.phone ?? false,
    profile: {
      displayName: person.display_name,
      fullName: person.full_name,
      locale: person.locale,
      phone: person.phone,
    },
  };
}

function standingOf(standings: readonly Standing[], id: string, outcome: Outcome): Standing | undefined {
  return standings.find((each) => each.task_id === id && each.outcome === outcome);
}

function hasCounting(
  standings: readonly Standing[],
  { id, config }: FlowTaskRow,
  outcome: Outcome,
  now: Date,
): boolean {
  const standing = standingOf(standings, id, outcome);
  return standing !== undefined && counts(config, standing.completed_at, now);
}

function byOutcome(rows: readonly CompletionRow[]): Latest {
  return Object.fromEntries(rows.map((row) => [row.outcome, row]));
}

export function presentCompletion(row: CompletionRow) {
  return {
    id: row.id,
    taskId: row.task_id,
    taskType: row.task_type,
    taskName: row.task_name,
    outcome: row.outcome,
    source: row.source,
    version: row.version,
    language: row.language,
    textHash: row.text_hash,
    answers: row.answers,
    ipAddress: row.ip_address,
    userAgent: row.user_agent,
    sessionId: row.session_id,
    completedAt: row.completed_at,
  };
}
