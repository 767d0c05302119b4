import { sql } from 'kysely';

import { withAudit, type AuditParams } from '#core/audit/audit.queries';
import { queryBuilder, statement, toQuery, type Query } from '#core/db/query';
import { countMatches } from '#core/db/totals';
import type { EntityType } from '#modules/translation/translation.types';

export type JobStatus = 'running' | 'completed' | 'failed' | 'cancelled';

export type JobRow = {
  tenant_id: string;
  id: string;
  entity_type: EntityType;
  source_language: string | null;
  /** Null fills what is missing in the languages of the tenant. */
  target_languages: string[] | null;
  protect_human: boolean;
  /** Of given records, not of all. */
  is_selection: boolean;
  status: JobStatus;
  /** Into these, one after the other. */
  languages: string[];
  languages_translated: string[];
  language_position: number;
  last_entity_id: string | null;
  entities_total: number;
  entities_translated: number;
  texts_failed: number;
  batches_processed: number;
  /** Those used, the last one at the end. */
  providers: string[];
  error: string | null;
  /** Providers have done nothing but fail since. */
  failing_since: string | null;
  created_by: string | null;
  created_at: string;
  updated_at: string;
  completed_at: string | null;
};

type Tables = {
  translation_jobs: Omit<JobRow, 'is_selection'> & {
    entity_ids: string[] | null;
    fingerprint: Buffer;
    claim: string | null;
    lease_until: string | null;
    counted_ids: string[];
  };
  tenants: { id: string; status: string };
};

const builder = queryBuilder<Tables>();

const columns = [
  'tenant_id',
  'id',
  'entity_type',
  'source_language',
  'target_languages',
  'protect_human',
  'status',
  'languages',
  'languages_translated',
  'language_position',
  'last_entity_id',
  'entities_total',
  'entities_translated',
  'texts_failed',
  'batches_processed',
  'providers',
  'error',
  'failing_since',
  'created_by',
  'created_at',
  'updated_at',
  'completed_at',
  sql<boolean>`entity_ids is not null`.as('is_selection'),
] as const;

/** How long who works on a job may give no sign of life. */
export const leaseMs = 30_000;

/** The clocks of processes differ, and whoever is ahead would take jobs from the living: leases go by the database's. */
const databaseNow = sql<string>`now()`;
const leaseEnd = sql<string>`${databaseNow} + ${leaseMs}::float8 * interval '1 millisecond'`;

/** Written out, as the index is chosen by it. */
const isRunning = sql<boolean>`status = 'running'`;

type ById = { tenantId: string; id: string };
type Asked = {
  entity_type: JobRow['entity_type'];
  entity_ids: string[] | null;
  source_language: string | null;
  target_languages: string[] | null;
  protect_human: boolean;
  /** As PostgreSQL writes bytes. */
  fingerprint: string;
  languages: string[];
  entities_total: number;
};

/** Whether one more may be under way is decided by one transaction at a time. */
export const lockJobs = statement<{ tenantId: string }, never>((p) => ({
  compile: () =>
    sql`select pg_advisory_xact_lock(hashtextextended('translation-jobs:' || ${p.tenantId}::text, 0))`.compile(builder),
}));

/** No row where an equal job is under way. */
export const insertJob = statement<Asked & AuditParams & { id: string; claim: string; at: string }, JobRow>((p) =>
  withAudit<JobRow>(
    builder
      .insertInto('translation_jobs')
      .values({
        tenant_id: p.tenantId,
        id: p.id,
        entity_type: p.entity_type,
        entity_ids: p.entity_ids,
        source_language: p.source_language,
        target_languages: p.target_languages,
        protect_human: p.protect_human,
        fingerprint: sql`${p.fingerprint}::bytea`,
        status: 'running',
        languages: p.languages,
        languages_translated: sql`'{}'::text[]`,
        language_position: 0,
        last_entity_id: null,
        entities_total: p.entities_total,
        entities_translated: 0,
        counted_ids: sql`'{}'::uuid[]`,
        texts_failed: 0,
        batches_processed: 0,
        providers: sql`'{}'::text[]`,
        error: null,
        failing_since: null,
        claim: p.claim,
        lease_until: leaseEnd,
        created_by: p.auditUserId,
        created_at: p.at,
        updated_at: p.at,
        completed_at: null,
      })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'fingerprint']).where(isRunning).doNothing())
      .returning(columns),
    { action: 'translation_job.created', resourceType: 'translation_job' },
    p,
  ),
);

export const findJob = statement<ById, JobRow>((p) =>
  builder.selectFrom('translation_jobs').select(columns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

export const findEqualJob = statement<{ tenantId: string; fingerprint: string }, JobRow>((p) =>
  builder
    .selectFrom('translation_jobs')
    .select(columns)
    .where('tenant_id', '=', p.tenantId)
    .where('fingerprint', '=', sql<Buffer>`${p.fingerprint}::bytea`)
    .where(isRunning),
);

export type JobFilters = { status: JobStatus | undefined; entityType: JobRow['entity_type'] | undefined };

export function listJobs(
  tenantId: string,
  filters: JobFilters,
  page: { limit: number; offset: number },
): Query<JobRow> {
  const query = matching(tenantId, filters).select(columns).orderBy('created_at', 'desc').orderBy('id', 'desc');
  return toQuery(query.limit(page.limit).offset(page.offset));
}

export function countJobs(tenantId: string, filters: JobFilters): Query<{ total: number }> {
  return countMatches(matching(tenantId, filters).select('id'));
}

function matching(tenantId: string, { status, entityType }: JobFilters) {
  return builder
    .selectFrom('translation_jobs')
    .where('tenant_id', '=', tenantId)
    .$if(status !== undefined, (query) => query.where('status', '=', status!))
    .$if(entityType !== undefined, (query) => query.where('entity_type', '=', entityType!));
}

/** Nothing is done for a tenant that is suspended or to be deleted; it goes on once the tenant is active again. */
const isOfActive = (tenantId: string) =>
  sql<boolean>`exists (select from tenants where tenants.id = ${tenantId} and tenants.status = 'active')`;

/** Takes on a job that nobody works on; whoever comes second gets no row. */
export const claimJob = statement<ById & { claim: string }, JobRow>((p) =>
  builder
    .updateTable('translation_jobs')
    .set({ claim: p.claim, lease_until: leaseEnd })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'running')
    .where((is) => is.or([is('lease_until', 'is', null), is('lease_until', '<', databaseNow)]))
    .where(isOfActive(p.tenantId))
    .returning(columns),
);

/** A job that somebody works on, as far as is known. */
export const findHeldJob = statement<ById, { id: string }>((p) =>
  builder
    .selectFrom('translation_jobs')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'running')
    .where('lease_until', '>=', databaseNow),
);

type Claimed = ById & { claim: string };

/** No row where it is no more one's own, or is to run no more. */
export const keepJob = statement<Claimed, { id: string }>((p) =>
  builder
    .updateTable('translation_jobs')
    .set({ lease_until: leaseEnd })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('claim', '=', p.claim)
    .where('status', '=', 'running')
    .where(isOfActive(p.tenantId))
    .returning('id'),
);

/** Leaves the rest to whoever comes next. */
export const releaseJob = statement<Claimed, { id: string }>((p) =>
  builder
    .updateTable('translation_jobs')
    .set({ claim: null, lease_until: null })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('claim', '=', p.claim)
    .returning('id'),
);

export type Progress = {
  language_position: number;
  last_entity_id: string | null;
  /** How much more there is of each. */
  failed: number;
  batches: number;
};

/** Where it goes on from; no row where the job is no more one's own. */
export const advanceJob = statement<Claimed & Progress & { at: string }, JobRow>((p) =>
  builder
    .updateTable('translation_jobs')
    .set({
      language_position: p.language_position,
      last_entity_id: p.last_entity_id,
      texts_failed: sql`texts_failed + ${p.failed}::integer`,
      batches_processed: sql`batches_processed + ${p.batches}::integer`,
      counted_ids: sql`'{}'::uuid[]`,
      failing_since: null,
      lease_until: leaseEnd,
      updated_at: p.at,
    })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('claim', '=', p.claim)
    .where('status', '=', 'running')
    .returning(columns),
);

/** Providers do nothing but fail; no row where the job is no more one's own. */
export const noteTrouble = statement<Claimed & { at: string }, JobRow>((p) =>
  builder
    .updateTable('translation_jobs')
    .set({ failing_since: sql`coalesce(failing_since, ${p.at}::timestamptz(3))` })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('claim', '=', p.claim)
    .where('status', '=', 'running')
    .returning(columns),
);

type Written = {
  entityIds: readonly string[];
  language: string;
  /** Into these the job has translated before. */
  languagesBefore: readonly string[];
  provider: string;
  at: string;
};

/**
 * Adds up what was written at a time, in the transaction that writes it. A record counts once: not where it was counted for
 * another text of the batch, nor where the job has left a mark on it in another language. No row where the job is no more one's
 * own.
 */
export const countWritten = statement<Claimed & Written, { id: string }>((p) => ({
  compile: () =>
    sql`update translation_jobs set
        entities_translated = entities_translated + (
          select count(*)::integer from unnest(${p.entityIds}::uuid[]) as done (id)
          where done.id <> all (counted_ids) and not exists (
            select from translation_marks as mark
            where mark.tenant_id = ${p.tenantId} and mark.entity_type = translation_jobs.entity_type
              and mark.entity_id = done.id and mark.language = any (${p.languagesBefore}::text[])
              and mark.translated_at >= translation_jobs.created_at
          )
        ),
        counted_ids = counted_ids || ${p.entityIds}::uuid[],
        languages_translated = case when ${p.language}::text = any (languages_translated)
          then languages_translated else languages_translated || ${p.language}::text end,
        providers = array_remove(providers, ${p.provider}::text) || ${p.provider}::text,
        updated_at = ${p.at}::timestamptz
      where tenant_id = ${p.tenantId} and id = ${p.id} and claim = ${p.claim} and status = 'running'
        and ${isOfActive(p.tenantId)}
      returning id`.compile(builder),
  execute: () => Promise.resolve([]),
}));

export const endJob = statement<Claimed & { status: JobStatus; error: string | null; at: string }, JobRow>((p) =>
  builder
    .updateTable('translation_jobs')
    .set({ status: p.status, error: p.error, claim: null, lease_until: null, completed_at: p.at, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('claim', '=', p.claim)
    .where('status', '=', 'running')
    .returning(columns),
);

/** Whoever works on it notices with its next step. No row unless it is running. */
export const cancelJob = statement<{ id: string; at: string } & AuditParams, JobRow>((p) =>
  withAudit<JobRow>(
    builder
      .updateTable('translation_jobs')
      .set({ status: 'cancelled', claim: null, lease_until: null, completed_at: p.at, updated_at: p.at })
      .where('tenant_id', '=', p.tenantId)
      .where('id', '=', p.id)
      .where('status', '=', 'running')
      .returning(columns),
    { action: 'translation_job.cancelled', resourceType: 'translation_job' },
    p,
  ),
);

/** No row unless it has failed. */
export const resumeJob = statement<{ id: string; at: string } & AuditParams, JobRow>((p) =>
  withAudit<JobRow>(
    builder
      .updateTable('translation_jobs')
      .set({ status: 'running', error: null, failing_since: null, completed_at: null, updated_at: p.at })
      .where('tenant_id', '=', p.tenantId)
      .where('id', '=', p.id)
      .where('status', '=', 'failed')
      .returning(columns),
    { action: 'translation_job.resumed', resourceType: 'translation_job' },
    p,
  ),
);

/** The next of the records that a job was given, by id. */
export const listGiven = statement<{ tenantId: string; id: string; after: string; most: number }, { id: string }>(
  (p) => ({
    compile: () =>
      sql`select given.id from translation_jobs, unnest(entity_ids) as given (id)
      where translation_jobs.tenant_id = ${p.tenantId} and translation_jobs.id = ${p.id} and given.id > ${p.after}::uuid
      order by given.id limit ${p.most}`.compile(builder),
    execute: () => Promise.resolve([]),
  }),
);

/** How many are under way. */
export const countRunning = statement<{ tenantId: string }, { total: number }>((p) =>
  builder
    .selectFrom('translation_jobs')
    .select(sql<number>`count(*)::integer`.as('total'))
    .where('tenant_id', '=', p.tenantId)
    .where(isRunning),
);

/** Over all active tenants: jobs whose worker has given no sign of life for a while, or that nobody has begun. */
export const listAbandonedJobs = statement<{ most: number }, { tenant_id: string; id: string }>((p) =>
  builder
    .selectFrom('translation_jobs')
    .select(['tenant_id', 'translation_jobs.id'])
    .where('translation_jobs.status', '=', 'running')
    .where(sql<boolean>`exists (select from tenants where tenants.id = tenant_id and tenants.status = 'active')`)
    .where((is) => is.or([is('lease_until', 'is', null), is('lease_until', '<', databaseNow)]))
    .orderBy('created_at')
    .limit(p.most),
);

/** Over all tenants: those that ended before. */
export const deleteOldJobs = statement<{ before: string; most: number }, { id: string }>((p) =>
  builder
    .deleteFrom('translation_jobs')
    .where('id', 'in', (db) =>
      db.selectFrom('translation_jobs').select('id').where('completed_at', '<', p.before).limit(p.most),
    )
    .returning('id'),
);
