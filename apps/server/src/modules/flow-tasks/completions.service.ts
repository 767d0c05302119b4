import type { Actor, Person } from '#core/access/principal';
import { auditEvent } from '#core/audit/audit.queries';
import { newId } from '#core/crypto/ids';
import type { TenantDb, Transaction } from '#core/db/scopes';
import { pageOfMatches } from '#core/db/totals';
import { toPage } from '#core/http/paging';
import type { Services } from '#core/services';
import { findAccountProofs } from '#modules/auth/index';
import {
  countCompletions,
  findPerson,
  insertCompletion,
  listCompletions,
  listLatest,
  listStandings,
  type PersonFacts,
  type Standing,
} from '#modules/flow-tasks/completions.queries';
import {
  FactMissing,
  FlowTaskNotFound,
  TaskIsMandatory,
  TextChanged,
  VersionChanged,
} from '#modules/flow-tasks/flow-tasks.errors';
import { findTask, listActiveTasks, shareTasks } from '#modules/flow-tasks/flow-tasks.queries';
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
import type { CompletionRow, FlowTaskRow, Outcome } from '#modules/flow-tasks/flow-tasks.tables';

/** Whoever acts for another tenant has nothing to do there: it is what is to be done at home. `languages`: best first. */
type Scope = { services: Services; actor: Actor<Person>; languages: readonly string[] };

/** What is open for the caller, in order. What turns out to be done already is recorded, and left out. */
export async function listPending(scope: Scope) {
  const { services, actor } = scope;
  const db = atHome(scope);
  const whose = { tenantId: db.tenantId, userId: actor.userId };
  const [tasks, [person], standings] = await db.flight([
    listActiveTasks({ tenantId: db.tenantId }),
    findPerson(whose),
    listStandings(whose),
  ]);
  if (person === undefined) return { data: [], total: 0 };
  const now = services.now();
  const shown = tasks.filter((task) => isFor(task.config, memberOf(person), now));
  const open = shown.filter((task) => !standsAt(standings, task, 'completed', now));
  const done = await doneAlready(scope, open, person);
  const recorded = done.length === 0 ? new Set() : await recordFacts(scope, { person, standings }, done);
  // What has become mandatory since it was skipped is open again.
  const isSkipped = (task: FlowTaskRow) => !task.is_mandatory && standsAt(standings, task, 'skipped', now);
  const data = open
    .filter((task) => !recorded.has(task.id) && !isSkipped(task))
    .map((task) => ({ ...presentFlowTask(task), text: toShown(task, languagesFor(scope, person)) }));
  return { data, total: data.length };
}

/**
 * Doing it again answers what was recorded the first time.
 * @throws FlowTaskNotFound, VersionChanged, TextChanged, FactMissing
 */
export async function completeFlowTask(scope: Scope, id: string, body: CompleteFlowTaskBody) {
  const { version, textHash, answers = null } = body ?? {};
  const found = await atHome(scope).first(findTask({ tenantId: scope.actor.homeTenantId, id }));
  if (found === undefined) throw FlowTaskNotFound();
  // Asked before the transaction, which holds a connection: the account is read on another.
  const proofs = isAboutAccount(found.type) ? await proofsOf(scope) : undefined;
  return settle(scope, id, (task, person, latest) => {
    if (version !== undefined && version !== task.version) throw VersionChanged({ details: { version: task.version } });
    if (latest.completed !== undefined) return latest.completed;
    const { hash } = toShown(task, languagesFor(scope, person));
    if (textHash !== undefined && textHash !== hash) throw TextChanged();
    if (isDone(task, factsOf(person, proofs)) === false) throw FactMissing();
    return { outcome: 'completed', answers };
  });
}

/** What is completed stays so. @throws FlowTaskNotFound, TaskIsMandatory */
export async function skipFlowTask(scope: Scope, id: string) {
  return settle(scope, id, (task, _person, { completed, skipped }) => {
    if (task.is_mandatory) throw TaskIsMandatory();
    return completed ?? skipped ?? { outcome: 'skipped', answers: null };
  });
}

export async function listHistory(
  { actor, services, setHeader }: Omit<Scope, 'languages'> & { setHeader(name: string, value: string): void },
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

/** Decides about a task that cannot change meanwhile, and records what comes of it, once. */
async function settle(scope: Scope, id: string, decide: Decide) {
  const { actor, services } = scope;
  const db = atHome(scope);
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
    const text = toShown(task, languagesFor(scope, person));
    const entry = { ...decided, source: 'person' as const, round, at: now.toISOString() };
    const inserted = await tx.first(insertCompletion(toRow(scope, task, { ...entry, ...text })));
    if (inserted === undefined) {
      // Somebody was faster, and has committed: that is why there was a conflict.
      return byOutcome(await tx.all(listLatest({ ...whose, version, resets })))[decided.outcome]!;
    }
    await record(tx, scope, inserted);
    return inserted;
  });
  return { data: presentCompletion(row) };
}

/** @throws FlowTaskNotFound where it is not for the person now, too */
async function shareOpen(tx: Transaction, { actor, services }: Scope, id: string) {
  const tenantId = actor.homeTenantId;
  const task = await tx.first(shareTasks({ tenantId, ids: [id] }));
  const person = await tx.first(findPerson({ tenantId, userId: actor.userId }));
  if (task === undefined || person === undefined || !task.is_active) throw FlowTaskNotFound();
  if (!isFor(task.config, memberOf(person), services.now())) throw FlowTaskNotFound();
  return { task, person };
}

/** Those of the tasks whose facts are there. */
async function doneAlready(scope: Scope, tasks: readonly FlowTaskRow[], person: PersonFacts) {
  const proofs = tasks.some(({ type }) => isAboutAccount(type)) ? await proofsOf(scope) : undefined;
  const facts = factsOf(person, proofs);
  return tasks.filter((task) => isDone(task, facts) === true);
}

type Known = { person: PersonFacts; standings: readonly Standing[] };

/** The ids of what is recorded by now; what changed since it was read is left for the next time. */
async function recordFacts(scope: Scope, { person, standings }: Known, done: readonly FlowTaskRow[]) {
  const db = atHome(scope);
  const seen = new Map(done.map((task) => [task.id, task]));
  const recorded = await db.transaction(async (tx) => {
    const tasks = await tx.all(shareTasks({ tenantId: db.tenantId, ids: [...seen.keys()] }));
    const same = tasks.filter((task) => isUnchanged(seen.get(task.id)!, task));
    const at = scope.services.now().toISOString();
    const inserted: CompletionRow[] = [];
    for (const task of same) {
      const round = (standingOf(standings, task.id, 'completed')?.round ?? -1) + 1;
      const text = toShown(task, languagesFor(scope, person));
      const entry = { outcome: 'completed' as const, source: 'automatic' as const, answers: null, round, at };
      inserted.push(...(await tx.all(insertCompletion(toRow(scope, task, { ...entry, ...text })))));
    }
    for (const row of inserted) await record(tx, scope, row);
    return same;
  });
  return new Set(recorded.map(({ id }) => id));
}

/** Of what it asks for, too. */
function isUnchanged(seen: FlowTaskRow, { version, resets, updated_at: updatedAt }: FlowTaskRow): boolean {
  return seen.version === version && seen.resets === resets && seen.updated_at === updatedAt;
}

function record(tx: Transaction, { actor }: Scope, { task_id: resourceId, outcome, version, ...row }: CompletionRow) {
  const event = { action: `flow_task.${outcome}`, resourceType: 'flow_task', resourceId };
  const who = { ...actor, tenantId: actor.homeTenantId };
  return tx.all(auditEvent(who, row.completed_at, { ...event, details: { version, source: row.source } }));
}

type Entry = New & { source: CompletionRow['source']; round: number; at: string } & ReturnType<typeof toShown>;

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

function atHome({ services, actor }: Scope): TenantDb {
  return services.database.tenant(actor.homeTenantId);
}

function toShown(task: FlowTaskRow, languages: readonly string[]) {
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

/** What is proven of the account, which no tenant sees. */
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

function standsAt(standings: readonly Standing[], { id, config }: FlowTaskRow, outcome: Outcome, now: Date): boolean {
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
