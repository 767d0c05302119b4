import { setTimeout as pause } from 'node:timers/promises';

import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import {
  NoProvider,
  OperationDisabled,
  ProvidersFailed,
  ProvidersRefused,
  QuotaExceeded,
} from '#modules/connectors/index';
import { sendJob } from '#modules/translation/jobs/background';
import {
  JobNotFailed,
  JobNotFound,
  JobNotRunning,
  SomeEntityNotFound,
  TooManyJobs,
} from '#modules/translation/jobs/jobs.errors';
import {
  cancelJob,
  countJobs,
  countRunning,
  findEqualJob,
  findJob,
  insertJob,
  listJobs,
  lockJobs,
  resumeJob,
  type JobRow,
} from '#modules/translation/jobs/jobs.queries';
import { batchesWithinRequest, fingerprintOf, languagesOf, type Asked } from '#modules/translation/jobs/jobs.rules';
import type { ListJobsQuery, TranslateEntityTypeBody } from '#modules/translation/jobs/jobs.schemas';
import { countEntities, countGiven } from '#modules/translation/jobs/records.queries';
import { workOn, type Taken } from '#modules/translation/jobs/worker';
import { findLanguages } from '#modules/translation/languages/languages.queries';
import { distinct, isLanguage } from '#modules/translation/languages/languages.rules';
import type { TranslationScope } from '#modules/translation/scope';
import { toLanguage } from '#modules/translation/texts/texts.service';

type Request = { scope: TranslationScope; actor: Actor; setHeader: SetHeader; untilAbandoned(): AbortSignal };

const collection = '/api/v1/secure/ai/translate/jobs';
/** Time that a request works, or waits for an equal job; the rest continues in the background. */
const timeoutMs = 12_000;
const lookMs = 250;
/** Maximum number of running jobs of a tenant. */
const maxRunning = 20;

/**
 * Translates all or given records of a type, language by language: few within the request, many in the background. An equal
 * running job is returned instead of a new one.
 * @throws UnknownLanguage, SomeEntityNotFound, TooManyJobs, and the errors of `translate` if nothing was translated
 */
export async function translateEntityType(
  { scope, actor, setHeader, untilAbandoned }: Request,
  body: TranslateEntityTypeBody,
  { protectsHuman }: { protectsHuman: boolean },
) {
  const { services, db } = scope;
  const asked = toAsked(body, protectsHuman);
  const { languages, total } = await survey(db, asked);
  const signal = AbortSignal.any([untilAbandoned(), AbortSignal.timeout(timeoutMs)]);
  const begun = await begin({ services, db, actor }, asked, { languages, total });
  const { job, failure } =
    begun.claim === undefined
      ? { job: await waitForEnd(db, begun.job, signal), failure: undefined }
      : await workWithin(scope, { job: begun.job, claim: begun.claim, signal });
  if (job.status === 'failed' && job.batches_processed === 0) throw failure ?? failureOf(job);
  const isDone = job.status === 'completed' && job.texts_failed === 0;
  if (!isDone) setHeader('location', `${collection}/${job.id}`);
  return { data: { entity_type: job.entity_type, ...presentAmounts(job) } };
}

function toAsked(body: TranslateEntityTypeBody, protectHuman: boolean): Asked {
  const ids = body.entity_ids?.map((id) => id.toLowerCase());
  return {
    entityType: body.entity_type,
    entityIds: ids === undefined ? undefined : distinct(ids).toSorted(),
    source: body.source_language === undefined ? undefined : toLanguage(body.source_language),
    targets: body.target_languages === undefined ? undefined : distinct(body.target_languages.map(toLanguage)),
    protectHuman,
  };
}

async function survey(db: TenantDb, asked: Asked): Promise<{ languages: string[]; total: number }> {
  const { tenantId } = db;
  const { entityType, entityIds } = asked;
  const [[tenant], [counted]] = await db.interactive.batch([
    findLanguages({ tenantId }),
    entityIds === undefined
      ? countEntities[entityType]({ tenantId })
      : countGiven[entityType]({ tenantId, ids: entityIds }),
  ]);
  const { total } = counted!;
  if (entityIds !== undefined && total < entityIds.length) throw SomeEntityNotFound();
  const { default_language: base, languages } = tenant!;
  return { total, languages: languagesOf(asked, { base, languages: languages.filter(isLanguage) }) };
}

type Changer = { services: Pick<Services, 'now' | 'queue'>; db: TenantDb; actor: Actor };
type Begun = { job: JobRow; /** Undefined if an equal job was already running. */ claim: string | undefined };

async function begin({ services, db, actor }: Changer, asked: Asked, found: { languages: string[]; total: number }) {
  const { entityType, source, targets, protectHuman, entityIds } = asked;
  const { tenantId } = db;
  const fingerprint = fingerprintOf(asked);
  const details = { entityType, languages: found.languages, records: found.total };
  const claim = newId();
  const at = services.now().toISOString();
  const insert = insertJob({
    id: newId(),
    entity_type: entityType,
    entity_ids: entityIds === undefined ? null : [...entityIds],
    source_language: source ?? null,
    target_languages: targets === undefined ? null : [...targets],
    protect_human: protectHuman,
    fingerprint,
    languages: found.languages,
    entities_total: found.total,
    claim,
    at,
    ...auditParams(actor, at, details),
  });
  return db.transaction(async (tx): Promise<Begun> => {
    await tx.all(lockJobs({ tenantId }));
    const equal = await tx.first(findEqualJob({ tenantId, fingerprint }));
    if (equal !== undefined) return { job: equal, claim: undefined };
    await assertRoom(tx, tenantId);
    return { job: (await tx.first(insert))!, claim };
  });
}

async function assertRoom(tx: Transaction, tenantId: string): Promise<void> {
  const { total } = (await tx.first(countRunning({ tenantId })))!;
  if (total >= maxRunning) throw TooManyJobs();
}

async function workWithin(scope: TranslationScope, taken: Pick<Taken, 'job' | 'claim' | 'signal'>) {
  const { services, db } = scope;
  const { job } = taken;
  const batches = batchesWithinRequest(job.entities_total);
  const rest = { tenantId: db.tenantId, jobId: job.id };
  try {
    const left = await workOn({ ...taken, scope, batches, maxMs: timeoutMs, pausesMs: [] });
    if (left.failure !== undefined) return left;
    const now = (await db.first(findJob({ tenantId: db.tenantId, id: job.id })))!;
    if (now.status === 'running') await sendJob(services, rest, left.pauseMs);
    return { job: now, failure: undefined };
  } catch (error) {
    // An accepted job continues independent of its request.
    await sendJob(services, rest);
    throw error;
  }
}

async function waitForEnd(db: TenantDb, job: JobRow, signal: AbortSignal): Promise<JobRow> {
  let current = job;
  while (current.status === 'running' && !signal.aborted) {
    await pause(lookMs, undefined, { signal }).catch(() => undefined);
    current = (await db.first(findJob({ tenantId: db.tenantId, id: job.id }))) ?? current;
  }
  return current;
}

/** The error of an equal job that failed. */
function failureOf({ error }: JobRow) {
  const known = [NoProvider, OperationDisabled, ProvidersRefused, QuotaExceeded].find(
    ({ message }) => message === error,
  );
  return (known ?? ProvidersFailed)();
}

export async function listTranslationJobs(
  { db, setHeader }: { db: TenantDb; setHeader: SetHeader },
  { limit = 50, offset = 0, status, entity_type: entityType }: ListJobsQuery,
) {
  const filters = { status, entityType };
  const { rows, ...total } = await pageOfMatches(
    db,
    listJobs(db.tenantId, filters, { limit, offset }),
    countJobs(db.tenantId, filters),
    { limit, offset },
  );
  return toPage(rows.map(presentJob), { limit, offset }, total, setHeader);
}

/** @throws JobNotFound */
export async function getTranslationJob(db: TenantDb, id: string) {
  return { data: presentJob(await getJob(db, id)) };
}

/** Stored translations stay. @throws JobNotFound, JobNotRunning */
export async function cancelTranslationJob({ services, db, actor }: Changer, id: string) {
  const at = services.now().toISOString();
  const job = await db.interactive.first(cancelJob({ id, at, ...auditParams(actor, at) }));
  if (job !== undefined) return { data: presentJob(job) };
  await getJob(db, id);
  throw JobNotRunning();
}

/** Continues where it failed. @throws JobNotFound, JobNotFailed, TooManyJobs, EqualJobRunning (through the constraint) */
export async function resumeTranslationJob({ services, db, actor }: Changer, id: string) {
  const at = services.now().toISOString();
  const { tenantId } = db;
  const job = await db.transaction(async (tx) => {
    await tx.all(lockJobs({ tenantId }));
    await assertRoom(tx, tenantId);
    return tx.first(resumeJob({ id, at, ...auditParams(actor, at) }));
  });
  if (job === undefined) {
    await getJob(db, id);
    throw JobNotFailed();
  }
  await sendJob(services, { tenantId: db.tenantId, jobId: id });
  return { data: presentJob(job) };
}

async function getJob(db: TenantDb, id: string): Promise<JobRow> {
  const job = await db.first(findJob({ tenantId: db.tenantId, id }));
  if (job === undefined) throw JobNotFound();
  return job;
}

function presentAmounts(job: JobRow) {
  return {
    entities_total: job.entities_total,
    entities_translated: job.entities_translated,
    languages_translated: job.languages_translated,
    provider_used: job.providers.at(-1) ?? 'none',
    batches_processed: job.batches_processed,
  };
}

function presentJob(job: JobRow) {
  const isRunning = job.status === 'running';
  return {
    id: job.id,
    entity_type: job.entity_type,
    source_language: job.source_language,
    target_languages: job.target_languages,
    protect_human: job.protect_human,
    status: job.status,
    languages: job.languages,
    language: isRunning ? (job.languages[job.language_position] ?? null) : null,
    ...presentAmounts(job),
    texts_failed: job.texts_failed,
    error: job.error,
    created_by: job.created_by,
    created_at: job.created_at,
    updated_at: job.updated_at,
    completed_at: job.completed_at,
  };
}
