import { setTimeout as pause } from 'node:timers/promises';

import type { AppError } from '#core/errors/app-error';
import { translateEntities, type Outcome } from '#modules/translation/entities/entities.service';
import { entityTypes } from '#modules/translation/entities/entity-types';
import type { TranslatedUnit } from '#modules/translation/entities/entities.rules';
import {
  advanceJob,
  countWritten,
  endJob,
  findJob,
  keepJob,
  leaseMs,
  listGiven,
  releaseJob,
  type JobRow,
  type JobStatus,
} from '#modules/translation/jobs/jobs.queries';
import { batchSize } from '#modules/translation/jobs/jobs.rules';
import { distinct } from '#modules/translation/languages/languages.rules';
import type { TranslationScope } from '#modules/translation/scope';

/** A job that this process has taken on. */
export type Taken = {
  scope: Omit<TranslationScope, 'begin'>;
  /** Ends the work. */
  signal: AbortSignal;
  job: JobRow;
  claim: string;
  /** How many batches at most. */
  batches: number;
  /** The pauses between attempts at a batch that providers failed at, in milliseconds; there are none where somebody waits. */
  pausesMs: readonly number[];
};

/** `status` is running where something is left to do; `failure`: why the job has failed. */
export type Left = { job: JobRow; failure: AppError | undefined };

/** So many batches in a row that no provider does are a provider that is away, and no texts that cannot be translated. */
const mostFailedInRow = 3;
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
    return { job: (await db.first(findJob(own)))!, failure: undefined };
  } finally {
    clearInterval(keeping);
    await db.slow.first(releaseJob(own));
  }
}

/** One language of some records. */
type Batch = { language: string; position: number; ids: readonly string[] };

class Run {
  readonly #taken: Taken;
  #job: JobRow;
  /** Where the next batch begins: behind those that failed, too, of which the row does not know yet. */
  #at: Pick<JobRow, 'language_position' | 'last_entity_id'>;
  #failedInRow = { batches: 0, texts: 0 };
  #hasSucceeded: boolean;

  constructor(taken: Taken) {
    this.#taken = taken;
    this.#job = taken.job;
    this.#at = taken.job;
    this.#hasSucceeded = taken.job.batches_processed > 0;
  }

  async all(): Promise<Left> {
    const { signal, batches, pausesMs } = this.#taken;
    let failure: AppError | undefined;
    for (let count = 0; count < batches && !signal.aborted; count++) {
      const batch = await this.#next();
      if (batch === undefined) return this.#finish(failure);
      const outcome = await this.#attempt(batch);
      if (outcome === undefined) break;
      failure = outcome.failure;
      if (isFinal(failure)) return this.#end('failed', failure);
      if (!isOfProviders(failure)) await this.#advance(batch, outcome.failed);
      // Whoever waits for it gets what there is; what is left is tried again with pauses.
      else if (pausesMs.length === 0) break;
      else if (this.#skip(batch, outcome.failed) >= mostFailedInRow) return this.#end('failed', failure);
    }
    return { job: this.#job, failure: undefined };
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
    for (let tries = 0; ; tries++) {
      const outcome = await this.#translate(batch);
      const pauseMs = pausesMs[tries];
      if (outcome === undefined || !isOfProviders(outcome.failure) || pauseMs === undefined) return outcome;
      await pause(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return undefined;
    }
  }

  async #translate({ language, position, ids }: Batch): Promise<Outcome | undefined> {
    const { scope, signal } = this.#taken;
    const { id, entity_type: entityType, languages, protect_human: protects } = this.#job;
    const source = this.#job.source_language ?? undefined;
    const overwrites = this.#job.target_languages !== null;
    const count = (written: readonly TranslatedUnit[], at: string) => [
      countWritten({
        tenantId: scope.db.tenantId,
        id,
        entityIds: distinct(written.map(({ entityId }) => entityId)),
        language,
        languagesBefore: languages.slice(0, position),
        provider: written.at(-1)!.provider,
        at,
      }),
    ];
    try {
      const wish = { entityType, ids, source, targets: [language], overwrites, protects };
      const outcome = await translateEntities({ ...scope, begin: () => Promise.resolve(signal) }, wish, count);
      return signal.aborted && outcome.failure !== undefined ? undefined : outcome;
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  async #advance({ position, ids }: Batch, failed: number): Promise<void> {
    await this.#move({ language_position: position, last_entity_id: ids.at(-1)! }, { batches: 1, texts: failed });
    this.#hasSucceeded = true;
  }

  async #move(at: Pick<JobRow, 'language_position' | 'last_entity_id'>, more: { batches: number; texts: number }) {
    const { scope, claim } = this.#taken;
    const before = this.#failedInRow;
    const job = await scope.db.slow.first(
      advanceJob({
        tenantId: scope.db.tenantId,
        id: this.#job.id,
        claim,
        ...at,
        batches: before.batches + more.batches,
        failed: before.texts + more.texts,
        at: scope.services.now().toISOString(),
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

  async #finish(failure: AppError | undefined): Promise<Left> {
    if (this.#failedInRow.batches === 0) return this.#end('completed', undefined);
    if (!this.#hasSucceeded) return this.#end('failed', failure);
    await this.#move(this.#at, { batches: 0, texts: 0 });
    return this.#end('completed', undefined);
  }

  async #end(status: JobStatus, failure: AppError | undefined): Promise<Left> {
    const { scope, claim } = this.#taken;
    const at = scope.services.now().toISOString();
    const error = failure?.message ?? null;
    const end = endJob({ tenantId: scope.db.tenantId, id: this.#job.id, claim, status, error, at });
    const job = await scope.db.slow.first(end);
    if (job === undefined) throw new JobLost();
    return { job, failure };
  }
}

/** Another attempt may do better. */
function isOfProviders(failure: AppError | undefined): boolean {
  return failure?.code === 'UPSTREAM_ERROR';
}

/** Nobody is there to try, or nobody may: the same for all batches. */
function isFinal(failure: AppError | undefined): boolean {
  return failure !== undefined && [403, 429, 503].includes(failure.status);
}
