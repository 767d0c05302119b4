import { sql, type SelectQueryBuilder } from 'kysely';

import { queryBuilder, read, toRead, write, type ReadStatement } from '#core/data/db/query';
import { typed, integer, json, tenantTable, text, time, uuid, type RowOf } from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';
import type { FlowTaskRow } from '#modules/flow-tasks/flow-tasks.queries';

export type Outcome = 'completed' | 'skipped';

const completions = tenantTable('flow_task_completions', {
  tenant_id: uuid,
  id: uuid,
  task_id: uuid,
  user_id: uuid,
  outcome: typed<Outcome>(),
  source: typed<'person' | 'automatic'>(),
  task_type: typed<FlowTaskRow['type']>(),
  task_name: text,
  version: text.orNull,
  resets: integer,
  round: integer,
  language: text.orNull,
  text_hash: text,
  answers: json.orNull,
  ip_address: text.orNull,
  user_agent: text.orNull,
  session_id: uuid,
  completed_at: time,
});
export type CompletionRow = RowOf<typeof completions>;

type PersonRow = {
  tenant_id: string;
  id: string;
  display_name: string;
  full_name: string;
  locale: string;
  phone: string | null;
  is_tenant_admin: boolean;
  status: string;
  created_at: string;
};

type Tables = {
  flow_tasks: FlowTaskRow;
  flow_task_completions: CompletionRow;
  users: PersonRow;
  tenants: { id: string; default_language: string };
};

const builder = queryBuilder<Tables>();

type ByUser = { tenantId: string; userId: string };

export type PersonFacts = Omit<PersonRow, 'tenant_id' | 'status'> & {
  default_language: string;
  group_ids: string[];
  has_avatar: boolean;
};

/** The facts about a user within the tenant. */
export const findPerson = read<ByUser, PersonFacts>((p) =>
  builder
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select(['users.id', 'display_name', 'full_name', 'locale', 'phone', 'is_tenant_admin', 'users.created_at'])
    .select('default_language')
    .select([
      sql<string[]>`array(select m.group_id::text from group_members m
        where m.tenant_id = ${p.tenantId} and m.user_id = users.id)`.as('group_ids'),
      sql<boolean>`exists (select 1 from files f
        where f.tenant_id = ${p.tenantId} and f.avatar_of = users.id and f.status = 'stored')`.as('has_avatar'),
    ])
    .where('users.tenant_id', '=', p.tenantId)
    .where('users.id', '=', p.userId)
    .where('users.status', '<>', 'deleted'),
);

export type Standing = { task_id: string; outcome: Outcome; completed_at: string; round: number };

/** The latest completion and skip of a user for each task, in its present version and since its last reset. */
export const listStandings = read<ByUser, Standing>((p) =>
  builder
    .selectFrom('flow_task_completions as done')
    .innerJoin('flow_tasks as task', (join) =>
      join.onRef('task.tenant_id', '=', 'done.tenant_id').onRef('task.id', '=', 'done.task_id'),
    )
    .select(['done.task_id', 'done.outcome'])
    .select((db) => [db.fn.max('done.completed_at').as('completed_at'), db.fn.max('done.round').as('round')])
    .where('done.tenant_id', '=', p.tenantId)
    .where('task.tenant_id', '=', p.tenantId)
    .where('done.user_id', '=', p.userId)
    .whereRef('done.version', 'is not distinct from', 'task.version')
    .whereRef('done.resets', '=', 'task.resets')
    .groupBy(['done.task_id', 'done.outcome']),
);

type Latest = ByUser & { taskId: string; version: string | null; resets: number };

/** The latest completion and skip of a user for one version of a task. */
export const listLatest = read<Latest, CompletionRow>((p) =>
  builder
    .selectFrom('flow_task_completions')
    .select(completions.columns)
    .distinctOn('outcome')
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', '=', p.userId)
    .where('task_id', '=', p.taskId)
    .where('version', 'is not distinct from', sql<string | null>`${p.version}::text`)
    .where('resets', '=', p.resets)
    .orderBy('outcome')
    .orderBy('round', 'desc'),
);

/** Returns no row if a concurrent request has recorded the same outcome. */
export const insertCompletion = write<CompletionRow, CompletionRow>((p) => {
  const row = Object.fromEntries(completions.columns.map((name) => [name, p[name]]));
  return builder
    .insertInto('flow_task_completions')
    .values(row as CompletionRow)
    .onConflict((conflict) => conflict.constraint('flow_task_completions_once').doNothing())
    .returning(completions.columns);
});

type Counting = { tenantId: string; taskId: string; version: string | null; resets: number; after: string | null };

/** Counts the users whose completion still counts; `after` is null if completions count forever. */
export const countPeople = read<Counting, { people: number }>((p) =>
  builder
    .selectFrom('flow_task_completions as done')
    .innerJoin('users', (join) =>
      join.onRef('users.tenant_id', '=', 'done.tenant_id').onRef('users.id', '=', 'done.user_id'),
    )
    .select(sql<number>`count(distinct done.user_id)`.as('people'))
    .where('done.tenant_id', '=', p.tenantId)
    .where('users.tenant_id', '=', p.tenantId)
    .where('users.status', '<>', 'deleted')
    .where('done.task_id', '=', p.taskId)
    .where('done.outcome', '=', 'completed')
    .where('done.version', 'is not distinct from', sql<string | null>`${p.version}::text`)
    .where('done.resets', '=', p.resets)
    .where(sql<boolean>`(${p.after}::timestamptz is null or done.completed_at > ${p.after}::timestamptz)`),
);

type Reported = Counting & {
  groups: readonly string[] | null;
  roles: readonly ('admin' | 'member')[] | null;
  createdBefore: string | null;
  /** Whether the task is mandatory; earlier skips then do not count. */
  isMandatory: boolean;
};

/** Counts the users in the audience by state; null groups and null roles mean all users. */
export const countStandings = read<Reported, { open: number; completed: number; skipped: number }>((p) => {
  const has = (outcome: Outcome) => sql<boolean>`exists (select 1 from flow_task_completions done
    where done.tenant_id = ${p.tenantId} and done.user_id = users.id and done.task_id = ${p.taskId}
      and done.outcome = ${outcome} and done.version is not distinct from ${p.version}::text
      and done.resets = ${p.resets}
      and (${p.after}::timestamptz is null or done.completed_at > ${p.after}::timestamptz))`;
  const people = builder
    .selectFrom('users')
    .select([
      has('completed').as('completed'),
      sql<boolean>`(not ${p.isMandatory}::boolean and ${has('skipped')})`.as('skipped'),
    ])
    .where('tenant_id', '=', p.tenantId)
    .where('status', '=', 'active')
    .where(sql<boolean>`(${p.createdBefore}::timestamptz is null or created_at < ${p.createdBefore}::timestamptz)`)
    .where(
      sql<boolean>`(${p.roles}::text[] is null
        or case when is_tenant_admin then 'admin' else 'member' end = any(${p.roles}::text[]))`,
    )
    .where(
      sql<boolean>`(${p.groups}::uuid[] is null or exists (select 1 from group_members m
        where m.tenant_id = ${p.tenantId} and m.user_id = users.id and m.group_id = any(${p.groups}::uuid[])))`,
    );
  return builder
    .selectFrom(people.as('person'))
    .select([
      sql<number>`count(*) filter (where not completed and not skipped)`.as('open'),
      sql<number>`count(*) filter (where completed)`.as('completed'),
      sql<number>`count(*) filter (where skipped and not completed)`.as('skipped'),
    ]);
});

/** Selects the completions of a user or of a task. */
type Selection = { userId: string } | { taskId: string };

/** Lists the newest first. */
export function listCompletions(
  tenantId: string,
  selection: Selection,
  { limit, offset }: { limit: number; offset: number },
): ReadStatement<CompletionRow> {
  const rows = filtered(tenantId, selection).select(completions.columns).orderBy('id', 'desc');
  return toRead(rows.limit(limit).offset(offset));
}

export function countCompletions(tenantId: string, selection: Selection): ReadStatement<{ total: number }> {
  return countMatches(filtered(tenantId, selection).select('id'));
}

function filtered(tenantId: string, selection: Selection): SelectQueryBuilder<Tables, 'flow_task_completions', object> {
  const rows = builder.selectFrom('flow_task_completions').where('tenant_id', '=', tenantId);
  return 'userId' in selection
    ? rows.where('user_id', '=', selection.userId)
    : rows.where('task_id', '=', selection.taskId);
}
