import { setTimeout as sleep } from 'node:timers/promises';

import type { AppError } from '#core/base/errors/app-error';
import { auditEvent } from '#core/data/audit/audit.queries';
import { nilId } from '#core/data/db/nil-id';
import { ProvidersRefused, QuotaExceeded } from '#modules/connectors/index';
import { translateEntities, type Accompany, type Outcome } from '#modules/translation/entities/entities.service';
import { entityTypes } from '#modules/translation/entities/entity-types';
import {
  advanceJob,
  countWritten,
  endJob,
  findJob,
  keepJob,
  leaseMs,
  listGiven,
  noteTrouble,
  releaseJob,
  type JobRow,
  type JobStatus,
} from '#modules/translation/jobs/jobs.queries';
import { batchSize, halvesOf, pauseOfTrouble, pauseUntilReset } from '#modules/translation/jobs/jobs.rules';
import { distinct } from '#modules/translation/languages/languages.rules';
import type { TranslationScope } from '#modules/translation/scope';

/** A job that this process has claimed. */
export type Taken = {
  scope: Omit<TranslationScope, 'begin'> & { /** Called before texts are sent. */ begin(): Promise<unknown> };
  /** Ends the work. */
  signal: AbortSignal;
  job: JobRow;
  claim: string;
  /** Maximum number of batches, and the time in which new ones start. */
  batches: number;
  maxMs: number;
  /** Backoff in milliseconds between attempts at a failed batch; empty while a client waits. */
  pausesMs: readonly number[];
};

/**
 * `status` is running if work is left, to continue after `pauseMs`; `failure`: why the job has failed.
 */
export type Left = { job: JobRow; failure: AppError | undefined; pauseMs: number };

/** Consecutive failed batches that indicate an unavailable provider instead of untranslatable texts. */
const maxFailedInRow = 3;
/** Consecutive failed parts of a batch that indicate the same. */
const maxFailedParts = 6;
const maxWaitMs = 30_000;

/** Another process has claimed the job, or it was cancelled. */
class JobLost extends Error {
  override name = 'JobLost';
}

/** Processes batches, records each at once, and releases the job if work is left. */
export async function workOn(taken: Taken): Promise<Left> {
  const { scope, job, claim } = taken;
  const { db } = scope;
  const lost = new AbortController();
  const key = { tenantId: db.tenantId, id: job.id, claim };
  const keeping = setInterval(() => {
    // A failed heartbeat is retried before the lease expires.
    db.interactive.first(keepJob(key)).then(
      (row) => row === undefined && lost.abort(new JobLost()),
      () => undefined,
    );
  }, leaseMs / 3);
  try {
    return await new Run({ ...taken, signal: AbortSignal.any([taken.signal, lost.signal]) }).all();
  } catch (error) {
    if (!(error instanceof JobLost)) throw error;
    return { job: (await db.first(findJob(key)))!, failure: undefined, pauseMs: 0 };
  } finally {
    clearInterval(keeping);
    await db.interactive.first(releaseJob(key));
  }
}

/** One language of some records. */
type Batch = { language: string; position: number; ids: readonly string[] };

/** Results of the parts of a batch so far: failed texts, and parts without an available provider. */
type Tally = { texts: number; away: number; failure: AppError | undefined; hasSucceeded: boolean };

function add(tally: Tally, { failure }: Outcome): void {
  if (isOfProviders(failure)) {
    tally.away += 1;
    tally.failure = failure;
  } else if (!isRefused(failure)) tally.hasSucceeded = true;
}

class Run {
  readonly #taken: Taken;
  readonly #startedAt: number;
  #job: JobRow;
  /** Start of the next batch, after failed ones that are not recorded yet. */
  #at: Pick<JobRow, 'language_position' | 'last_entity_id'>;
  #failedInRow = { batches: 0, texts: 0 };
  /** Position of a language for which every record of a batch was refused. */
  #refusedAt: number | undefined;

  constructor(taken: Taken) {
    this.#taken = taken;
    this.#startedAt = this.#now().getTime();
    this.#job = taken.job;
    this.#at = taken.job;
  }

  async all(): Promise<Left> {
    const { signal, batches, pausesMs } = this.#taken;
    let failure: AppError | undefined;
    for (let count = 0; count < batches && !signal.aborted && !this.#isTimeOver(); count++) {
      const batch = await this.#next();
      if (batch === undefined) return this.#finish(failure);
      const outcome = await this.#attempt(batch);
      if (outcome === undefined) break;
      failure = outcome.failure;
      if (isFinal(failure)) return this.#refused(failure!);
      if (!isOfProviders(failure)) await this.#advance(batch, outcome.failed);
      // A waiting client gets the partial result; the rest is retried with backoff.
      else if (pausesMs.length === 0) break;
      else if (this.#skip(batch, outcome.failed) >= maxFailedInRow) return this.#waitOut(failure!);
    }
    return this.#leave(0);
  }

  #now(): Date {
    return this.#taken.scope.services.now();
  }

  #isTimeOver(): boolean {
    return this.#now().getTime() - this.#startedAt >= this.#taken.maxMs;
  }

  async #next(): Promise<Batch | undefined> {
    const { languages } = this.#job;
    for (;;) {
      const { language_position: position, last_entity_id: after } = this.#at;
      const language = languages[position];
      if (language === undefined) return undefined;
      const rows = await this.#page(after ?? nilId);
      if (rows.length > 0) return { language, position, ids: rows.map(({ id }) => id) };
      this.#at = { language_position: position + 1, last_entity_id: null };
    }
  }

  #page(after: string): Promise<{ id: string }[]> {
    const { db } = this.#taken.scope;
    const { id, entity_type: type, is_selection: isSelection } = this.#job;
    const page = { tenantId: db.tenantId, after, max: batchSize };
    return db.interactive.all<{ id: string }>(
      isSelection ? listGiven({ ...page, id }) : entityTypes[type].texts.list(page),
    );
  }

  /** Undefined if it was stopped. */
  async #attempt(batch: Batch): Promise<Outcome | undefined> {
    const { signal, pausesMs } = this.#taken;
    let isAsked = false;
    for (let tries = 0; ; tries++) {
      const outcome = await this.#translate(batch);
      const pauseMs = pausesMs[tries];
      if (outcome === undefined) return undefined;
      if (isRefused(outcome.failure)) return this.#attemptRefused(batch, outcome);
      if (!isOfProviders(outcome.failure)) return outcome;
      isAsked ||= outcome.failure?.retryAfterSeconds === undefined || isRefusal(outcome.failure);
      if (pauseMs === undefined) return isAsked && tries > 0 ? this.#attemptParts(batch, outcome) : outcome;
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return undefined;
    }
  }

  /** If every record of a batch was refused, the language is unsupported, and its other batches are not split. */
  async #attemptRefused(batch: Batch, whole: Outcome): Promise<Outcome | undefined> {
    if (this.#refusedAt === batch.position) return whole;
    const outcome = await this.#attemptParts(batch, whole);
    if (isRefused(outcome?.failure)) this.#refusedAt = batch.position;
    return outcome;
  }

  /** Splits a batch, so that one untranslatable text does not block the others. */
  async #attemptParts(batch: Batch, whole: Outcome): Promise<Outcome | undefined> {
    const waiting = halvesOf(batch.ids);
    const tally: Tally = { texts: 0, away: 0, failure: whole.failure, hasSucceeded: false };
    for (let ids = waiting.shift(); ids !== undefined; ids = waiting.shift()) {
      const outcome = await this.#attemptPart({ ...batch, ids });
      if (outcome === undefined || isFinal(outcome.failure)) return outcome;
      const parts = isOfProviders(outcome.failure) || isRefused(outcome.failure) ? halvesOf(ids) : [];
      waiting.push(...parts);
      add(tally, outcome);
      // Failures of larger parts are counted by their halves.
      if (parts.length === 0) tally.texts += outcome.failed;
      if (tally.away === maxFailedParts && !tally.hasSucceeded) break;
    }
    const { texts, failure, hasSucceeded } = tally;
    return hasSucceeded ? { ...whole, failed: texts, failure: undefined } : { ...whole, failure };
  }

  /** Waits once for paused providers, because the batch may have caused the pause. */
  async #attemptPart(part: Batch): Promise<Outcome | undefined> {
    const { signal } = this.#taken;
    const outcome = await this.#translate(part);
    const { retryAfterSeconds } = outcome?.failure ?? {};
    if (!isOfProviders(outcome?.failure) || retryAfterSeconds === undefined || isRefusal(outcome?.failure))
      return outcome;
    await sleep(Math.min(retryAfterSeconds * 1000, maxWaitMs), undefined, { signal }).catch(() => undefined);
    return signal.aborted ? undefined : this.#translate(part);
  }

  async #translate({ language, position, ids }: Batch): Promise<Outcome | undefined> {
    const { scope, signal } = this.#taken;
    const { entity_type: entityType, languages, protect_human: protects } = this.#job;
    const source = this.#job.source_language ?? undefined;
    const overwrites = this.#job.target_languages !== null;
    const begin = async () => {
      await scope.begin();
      return signal;
    };
    try {
      const wish = { entityType, ids, source, targets: [language], overwrites, protects };
      const count = this.#countIn(language, languages.slice(0, position));
      const outcome = await translateEntities({ ...scope, begin }, wish, count);
      return signal.aborted && outcome.failure !== undefined ? undefined : outcome;
    } catch (error) {
      if (signal.aborted && !(error instanceof JobLost)) return undefined;
      throw error;
    }
  }

  /** Writes nothing if the claim was lost. */
  #countIn(language: string, languagesBefore: readonly string[]): Accompany {
    const { scope, claim } = this.#taken;
    const { db, caller } = scope;
    const { id } = this.#job;
    return async (tx, written, at) => {
      const ids = distinct(written.map(({ entityId }) => entityId));
      const key = { tenantId: db.tenantId, id, claim };
      const facts = { language, languagesBefore, provider: written.at(-1)!.provider, at };
      if ((await tx.first(countWritten({ ...key, ...facts, entityIds: ids }))) === undefined) throw new JobLost();
      const request = { id: caller.requestId ?? id, ip: 'internal', userAgent: null, receivedAt: Date.parse(at) };
      const fields = distinct(written.map(({ field }) => field));
      const event = { action: 'translation_job.batch_written', resourceType: 'translation_job', resourceId: id };
      const who = { tenantId: db.tenantId, userId: caller.userId, request };
      await tx.all(auditEvent(who, at, { ...event, details: { language, ids, fields } }));
    };
  }

  async #advance({ position, ids }: Batch, failed: number): Promise<void> {
    const { scope, claim } = this.#taken;
    const at = { language_position: position, last_entity_id: ids.at(-1)! };
    const before = this.#failedInRow;
    const job = await scope.db.interactive.first(
      advanceJob({
        tenantId: scope.db.tenantId,
        id: this.#job.id,
        claim,
        ...at,
        batches: before.batches + 1,
        failed: before.texts + failed,
        at: this.#now().toISOString(),
      }),
    );
    if (job === undefined) throw new JobLost();
    this.#job = job;
    this.#at = at;
    this.#failedInRow = { batches: 0, texts: 0 };
  }

  /** @returns the number of consecutive failures. */
  #skip({ position, ids }: Batch, texts: number): number {
    this.#at = { language_position: position, last_entity_id: ids.at(-1)! };
    const { batches, texts: before } = this.#failedInRow;
    this.#failedInRow = { batches: batches + 1, texts: before + texts };
    return this.#failedInRow.batches;
  }

  /** Waits for a quota that resets soon, unless a client waits for the error. */
  #refused(failure: AppError): Promise<Left> | Left {
    const { details, retryAfterSeconds } = failure;
    const isQuotaExceeded = details?.['code'] === QuotaExceeded.reason && retryAfterSeconds !== undefined;
    const pauseMs = isQuotaExceeded ? pauseUntilReset(retryAfterSeconds) : undefined;
    const isTold = this.#taken.pausesMs.length === 0 && this.#job.batches_processed === 0;
    return pauseMs === undefined || isTold ? this.#end('failed', failure) : this.#leave(pauseMs);
  }

  async #finish(failure: AppError | undefined): Promise<Left> {
    return this.#failedInRow.batches === 0 ? this.#end('completed', undefined) : this.#waitOut(failure!);
  }

  /** Continues after the last completed batch with growing backoff, and fails after too long without success. */
  async #waitOut(failure: AppError): Promise<Left> {
    const { scope, claim } = this.#taken;
    const now = this.#now();
    const key = { tenantId: scope.db.tenantId, id: this.#job.id, claim };
    const job = await scope.db.interactive.first(noteTrouble({ ...key, at: now.toISOString() }));
    if (job === undefined) throw new JobLost();
    this.#job = job;
    const pauseMs = pauseOfTrouble(now.getTime() - Date.parse(job.failing_since!));
    return pauseMs === undefined ? this.#end('failed', failure) : this.#leave(pauseMs);
  }

  #leave(pauseMs: number): Left {
    return { job: this.#job, failure: undefined, pauseMs };
  }

  async #end(status: JobStatus, failure: AppError | undefined): Promise<Left> {
    const { scope, claim } = this.#taken;
    const at = this.#now().toISOString();
    const error = failure?.message ?? null;
    const end = endJob({ tenantId: scope.db.tenantId, id: this.#job.id, claim, status, error, at });
    const job = await scope.db.interactive.first(end);
    if (job === undefined) throw new JobLost();
    return { job, failure, pauseMs: 0 };
  }
}

/** Whether a retry can succeed. */
function isOfProviders(failure: AppError | undefined): boolean {
  return failure?.code === 'UPSTREAM_ERROR' || (isRefusal(failure) && !isRefused(failure));
}

/** Whether all providers refuse permanently. */
function isRefused(failure: AppError | undefined): boolean {
  return isRefusal(failure) && failure?.retryAfterSeconds === undefined;
}

/** Whether the called providers refuse; paused ones may accept. */
function isRefusal(failure: AppError | undefined): boolean {
  return failure?.details?.['code'] === ProvidersRefused.reason;
}

/** Whether no provider can be called, which applies to all batches. */
function isFinal(failure: AppError | undefined): boolean {
  return failure !== undefined && [403, 429, 503].includes(failure.status);
}
