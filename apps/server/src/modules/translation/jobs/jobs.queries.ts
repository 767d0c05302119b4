import { sql } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { databaseNow, fromNow, isUnleased } from '#core/data/db/lease';
import { auditedWrite, queryBuilder, read, toRead, write, type ReadStatement } from '#core/data/db/query';
import { tenantLock, type ById } from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';
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

/** Lease of a job without a heartbeat, in milliseconds. */
export const leaseMs = 30_000;

/** A constant in the statement, because the partial index matches only a constant. */
const isRunning = sql<boolean>`status = 'running'`;

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

/** Serialises the search for an equal job and the check of the limit on running jobs per tenant. */
export const lockJobs = tenantLock('translation-jobs');

export const insertJob = auditedWrite<Asked & AuditParams & { id: string; claim: string; at: string }, JobRow>((p) =>
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
        lease_until: fromNow(leaseMs),
        created_by: p.auditUserId,
        created_at: p.at,
        updated_at: p.at,
        completed_at: null,
      })
      .returning(columns),
    { action: 'translation_job.created', resourceType: 'translation_job' },
    p,
  ),
);

export const findJob = read<ById, JobRow>((p) =>
  builder.selectFrom('translation_jobs').select(columns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

export const findEqualJob = read<{ tenantId: string; fingerprint: string }, JobRow>((p) =>
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
): ReadStatement<JobRow> {
  const query = matching(tenantId, filters).select(columns).orderBy('created_at', 'desc').orderBy('id', 'desc');
  return toRead(query.limit(page.limit).offset(page.offset));
}

export function countJobs(tenantId: string, filters: JobFilters): ReadStatement<{ total: number }> {
  return countMatches(matching(tenantId, filters).select('id'));
}

function matching(tenantId: string, { status, entityType }: JobFilters) {
  return builder
    .selectFrom('translation_jobs')
    .where('tenant_id', '=', tenantId)
    .$if(status !== undefined, (query) => query.where('status', '=', status!))
    .$if(entityType !== undefined, (query) => query.where('entity_type', '=', entityType!));
}

/** Jobs of a suspended or deleted tenant wait until the tenant is active again. */
const isOfActive = (tenantId: string) =>
  sql<boolean>`exists (select from tenants where tenants.id = ${tenantId} and tenants.status = 'active')`;

/** Claims a job without a valid lease; no row if another process was first. */
export const claimJob = write<ById & { claim: string }, JobRow>((p) =>
  builder
    .updateTable('translation_jobs')
    .set({ claim: p.claim, lease_until: fromNow(leaseMs) })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'running')
    .where(isUnleased())
    .where(isOfActive(p.tenantId))
    .returning(columns),
);

/** A running job with a valid lease. */
export const findHeldJob = read<ById, { id: string }>((p) =>
  builder
    .selectFrom('translation_jobs')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'running')
    .where('lease_until', '>', databaseNow),
);

type Claimed = ById & { claim: string };

/** Heartbeat: extends the lease. No row if the claim is lost or the job has ended. */
export const keepJob = write<Claimed, { id: string }>((p) =>
  builder
    .updateTable('translation_jobs')
    .set({ lease_until: fromNow(leaseMs) })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('claim', '=', p.claim)
    .where('status', '=', 'running')
    .where(isOfActive(p.tenantId))
    .returning('id'),
);

/** Gives the claim back, so that another process can continue the job. */
export const releaseJob = write<Claimed, { id: string }>((p) =>
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
  /** Increments of the counts. */
  failed: number;
  batches: number;
};

/** Stores the position to continue from; no row if the claim is lost. */
export const advanceJob = write<Claimed & Progress & { at: string }, JobRow>((p) =>
  builder
    .updateTable('translation_jobs')
    .set({
      language_position: p.language_position,
      last_entity_id: p.last_entity_id,
      texts_failed: sql`texts_failed + ${p.failed}::integer`,
      batches_processed: sql`batches_processed + ${p.batches}::integer`,
      counted_ids: sql`'{}'::uuid[]`,
      failing_since: null,
      lease_until: fromNow(leaseMs),
      updated_at: p.at,
    })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('claim', '=', p.claim)
    .where('status', '=', 'running')
    .returning(columns),
);

/** Stores since when all providers fail; no row if the claim is lost. */
export const noteTrouble = write<Claimed & { at: string }, JobRow>((p) =>
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
  /** Earlier target languages of the job. */
  languagesBefore: readonly string[];
  provider: string;
  at: string;
};

/**
 * Counts written texts in the transaction that writes them. A record counts once: not if it was counted for another text of
 * the batch, nor if the job has already marked it in another language. No row if the claim is lost.
 */
export const countWritten = write<Claimed & Written, { id: string }>(
  (p) => sql`update translation_jobs set
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
      returning id`,
);

export const endJob = write<Claimed & { status: JobStatus; error: string | null; at: string }, JobRow>((p) =>
  builder
    .updateTable('translation_jobs')
    .set({ status: p.status, error: p.error, claim: null, lease_until: null, completed_at: p.at, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('claim', '=', p.claim)
    .where('status', '=', 'running')
    .returning(columns),
);

/** The worker notices it at its next heartbeat. No row unless the job is running. */
export const cancelJob = auditedWrite<{ id: string; at: string } & AuditParams, JobRow>((p) =>
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
export const resumeJob = auditedWrite<{ id: string; at: string } & AuditParams, JobRow>((p) =>
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

/** The next selected records of a job, by id. */
export const listGiven = read<ById & { after: string; max: number }, { id: string }>(
  (p) => sql`select given.id from translation_jobs, unnest(entity_ids) as given (id)
      where translation_jobs.tenant_id = ${p.tenantId} and translation_jobs.id = ${p.id} and given.id > ${p.after}::uuid
      order by given.id limit ${p.max}`,
);

/** Number of running jobs. */
export const countRunning = read<{ tenantId: string }, { total: number }>((p) =>
  builder
    .selectFrom('translation_jobs')
    .select(sql<number>`count(*)::integer`.as('total'))
    .where('tenant_id', '=', p.tenantId)
    .where(isRunning),
);

/** Running jobs of all active tenants that no worker has claimed, or whose lease has expired. */
export const listAbandonedJobs = read<{ max: number }, { tenant_id: string; id: string }>((p) =>
  builder
    .selectFrom('translation_jobs')
    .select(['tenant_id', 'translation_jobs.id'])
    .where('translation_jobs.status', '=', 'running')
    .where(sql<boolean>`exists (select from tenants where tenants.id = tenant_id and tenants.status = 'active')`)
    .where(isUnleased())
    .orderBy('created_at')
    .limit(p.max),
);

/** Deletes jobs of all tenants that ended earlier. */
export const deleteOldJobs = write<{ before: string; max: number }, { id: string }>((p) =>
  builder
    .deleteFrom('translation_jobs')
    .where('id', 'in', (db) =>
      db.selectFrom('translation_jobs').select('id').where('completed_at', '<', p.before).limit(p.max),
    )
    .returning('id'),
);
