import { setTimeout as pause } from 'node:timers/promises';

import { auditEvent } from '#core/audit/audit.queries';
import type { AppError } from '#core/errors/app-error';
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
import { batchSize, halvesOf, pauseOfTrouble, pauseUntilCeiling } from '#modules/translation/jobs/jobs.rules';
import { distinct } from '#modules/translation/languages/languages.rules';
import type { TranslationScope } from '#modules/translation/scope';

/** A job that this process has taken on. */
export type Taken = {
  scope: Omit<TranslationScope, 'begin'> & { /** Asked before texts leave. */ begin(): Promise<unknown> };
  /** Ends the work. */
  signal: AbortSignal;
  job: JobRow;
  claim: string;
  /** How many batches at most, and for how long new ones are begun. */
  batches: number;
  mostMs: number;
  /** The pauses between attempts at a batch that providers failed at, in milliseconds; there are none where somebody waits. */
  pausesMs: readonly number[];
};

/**
 * `status` is running where something is left to do, after `pauseMs` at the soonest; `failure`: why the job has failed.
 */
export type Left = { job: JobRow; failure: AppError | undefined; pauseMs: number };

/** So many batches in a row that no provider does are a provider that is away, and no texts that cannot be translated. */
const mostFailedInRow = 3;
/** So are so many parts of a batch, halves and quarters, of which none is done. */
const mostFailedParts = 6;
const mostWaitMs = 30_000;
const firstId = '00000000-0000-0000-0000-000000000000';

/** Somebody else works on the job, or it was cancelled: what happens to it is not ours to say. */
class JobLost extends Error {
  override name = 'JobLost';
}

/** Works through the batches, each counting as soon as it is written, and gives the job back where something is left. */
export async function workOn(taken: Taken): Promise<Left> {
  const { scope, job, claim } = taken;
  const { db } = scope;
  const lost = new AbortController();
  const own = { tenantId: db.tenantId, id: job.id, claim };
  const keeping = setInterval(() => {
    // Unanswered, it is tried again before the lease is over.
    db.slow.first(keepJob(own)).then(
      (row) => row === undefined && lost.abort(new JobLost()),
      () => undefined,
    );
  }, leaseMs / 3);
  try {
    return await new Run({ ...taken, signal: AbortSignal.any([taken.signal, lost.signal]) }).all();
  } catch (error) {
    if (!(error instanceof JobLost)) throw error;
    return { job: (await db.first(findJob(own)))!, failure: undefined, pauseMs: 0 };
  } finally {
    clearInterval(keeping);
    await db.slow.first(releaseJob(own));
  }
}

/** One language of some records. */
type Batch = { language: string; position: number; ids: readonly string[] };

/** What came of the parts of a batch so far: texts that stay as they are, parts that nobody was there for. */
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
  /** Where the next batch begins: behind those that failed, too, of which the row does not know yet. */
  #at: Pick<JobRow, 'language_position' | 'last_entity_id'>;
  #failedInRow = { batches: 0, texts: 0 };
  /** The place of the language of which a whole batch was refused, each record by itself. */
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
      // Whoever waits for it gets what there is; what is left is tried again with pauses.
      else if (pausesMs.length === 0) break;
      else if (this.#skip(batch, outcome.failed) >= mostFailedInRow) return this.#waitOut(failure!);
    }
    return this.#leave(0);
  }

  #now(): Date {
    return this.#taken.scope.services.now();
  }

  #isTimeOver(): boolean {
    return this.#now().getTime() - this.#startedAt >= this.#taken.mostMs;
  }

  async #next(): Promise<Batch | undefined> {
    const { languages } = this.#job;
    for (;;) {
      const { language_position: position, last_entity_id: after } = this.#at;
      const language = languages[position];
      if (language === undefined) return undefined;
      const rows = await this.#page(after ?? firstId);
      if (rows.length > 0) return { language, position, ids: rows.map(({ id }) => id) };
      this.#at = { language_position: position + 1, last_entity_id: null };
    }
  }

  #page(after: string): Promise<{ id: string }[]> {
    const { db } = this.#taken.scope;
    const { id, entity_type: type, is_selection: isSelection } = this.#job;
    const page = { tenantId: db.tenantId, after, most: batchSize };
    return db.slow.all<{ id: string }>(isSelection ? listGiven({ ...page, id }) : entityTypes[type].texts.list(page));
  }

  /** Undefined where it was stopped. */
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
      await pause(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return undefined;
    }
  }

  /** Where each of a whole batch was refused by itself it is the language, and no other batch of it is taken apart. */
  async #attemptRefused(batch: Batch, whole: Outcome): Promise<Outcome | undefined> {
    if (this.#refusedAt === batch.position) return whole;
    const outcome = await this.#attemptParts(batch, whole);
    if (isRefused(outcome?.failure)) this.#refusedAt = batch.position;
    return outcome;
  }

  /** One text that nobody can translate does not keep the others from being translated. */
  async #attemptParts(batch: Batch, whole: Outcome): Promise<Outcome | undefined> {
    const waiting = halvesOf(batch.ids);
    const tally: Tally = { texts: 0, away: 0, failure: whole.failure, hasSucceeded: false };
    for (let ids = waiting.shift(); ids !== undefined; ids = waiting.shift()) {
      const outcome = await this.#attemptPart({ ...batch, ids });
      if (outcome === undefined || isFinal(outcome.failure)) return outcome;
      const parts = isOfProviders(outcome.failure) || isRefused(outcome.failure) ? halvesOf(ids) : [];
      waiting.push(...parts);
      add(tally, outcome);
      // What is left of others is counted by their parts.
      if (parts.length === 0) tally.texts += outcome.failed;
      if (tally.away === mostFailedParts && !tally.hasSucceeded) break;
    }
    const { texts, failure, hasSucceeded } = tally;
    return hasSucceeded ? { ...whole, failed: texts, failure: undefined } : { ...whole, failure };
  }

  /** Providers that are left alone for their failures, which may be those of the whole, are waited for once. */
  async #attemptPart(part: Batch): Promise<Outcome | undefined> {
    const { signal } = this.#taken;
    const outcome = await this.#translate(part);
    const { retryAfterSeconds } = outcome?.failure ?? {};
    if (!isOfProviders(outcome?.failure) || retryAfterSeconds === undefined || isRefusal(outcome?.failure))
      return outcome;
    await pause(Math.min(retryAfterSeconds * 1000, mostWaitMs), undefined, { signal }).catch(() => undefined);
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

  /** Whoever has lost the job writes nothing any more. */
  #countIn(language: string, languagesBefore: readonly string[]): Accompany {
    const { scope, claim } = this.#taken;
    const { db, caller } = scope;
    const { id } = this.#job;
    return async (tx, written, at) => {
      const ids = distinct(written.map(({ entityId }) => entityId));
      const own = { tenantId: db.tenantId, id, claim };
      const facts = { language, languagesBefore, provider: written.at(-1)!.provider, at };
      if ((await tx.first(countWritten({ ...own, ...facts, entityIds: ids }))) === undefined) throw new JobLost();
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
    const job = await scope.db.slow.first(
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

  /** @returns how many in a row have failed. */
  #skip({ position, ids }: Batch, texts: number): number {
    this.#at = { language_position: position, last_entity_id: ids.at(-1)! };
    const { batches, texts: before } = this.#failedInRow;
    this.#failedInRow = { batches: batches + 1, texts: before + texts };
    return this.#failedInRow.batches;
  }

  /** A ceiling that soon begins anew is waited for, unless somebody is to be told at once that nothing can be done. */
  #refused(failure: AppError): Promise<Left> | Left {
    const { details, retryAfterSeconds } = failure;
    const isOfCeiling = details?.['code'] === QuotaExceeded.reason && retryAfterSeconds !== undefined;
    const pauseMs = isOfCeiling ? pauseUntilCeiling(retryAfterSeconds) : undefined;
    const isTold = this.#taken.pausesMs.length === 0 && this.#job.batches_processed === 0;
    return pauseMs === undefined || isTold ? this.#end('failed', failure) : this.#leave(pauseMs);
  }

  async #finish(failure: AppError | undefined): Promise<Left> {
    return this.#failedInRow.batches === 0 ? this.#end('completed', undefined) : this.#waitOut(failure!);
  }

  /** It goes on behind the last batch that was done, later each time, and fails when it has done nothing else for long. */
  async #waitOut(failure: AppError): Promise<Left> {
    const { scope, claim } = this.#taken;
    const now = this.#now();
    const own = { tenantId: scope.db.tenantId, id: this.#job.id, claim };
    const job = await scope.db.slow.first(noteTrouble({ ...own, at: now.toISOString() }));
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
    const job = await scope.db.slow.first(end);
    if (job === undefined) throw new JobLost();
    return { job, failure, pauseMs: 0 };
  }
}

/** Another attempt may do better. */
function isOfProviders(failure: AppError | undefined): boolean {
  return failure?.code === 'UPSTREAM_ERROR' || (isRefusal(failure) && !isRefused(failure));
}

/** Nobody takes it, now or later. */
function isRefused(failure: AppError | undefined): boolean {
  return isRefusal(failure) && failure?.retryAfterSeconds === undefined;
}

/** Whoever was asked does not take it; where others are away, these may. */
function isRefusal(failure: AppError | undefined): boolean {
  return failure?.details?.['code'] === ProvidersRefused.reason;
}

/** Nobody is there to try, or nobody may: the same for all batches. */
function isFinal(failure: AppError | undefined): boolean {
  return failure !== undefined && [403, 429, 503].includes(failure.status);
}
