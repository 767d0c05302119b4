import { coalesce } from '#core/base/concurrency/coalesce';
import { isRefusedForGood, violatedConstraint } from '#core/data/db/sql-state';

/** Rows gathered in memory and written to PostgreSQL in batches, one write at a time. No request waits for it. */
export type BatchWriter<Batch> = {
  /** Something waits: it is written within this time, by default the usual delay. */
  wake(delayMs?: number): void;
  /** Resolves when what waits now was written, or the database did not take it; never rejects. */
  flush(): Promise<void>;
  /** Batches wait because the database did not take them. */
  isFailing(): boolean;
  /** Batches whose first attempt failed. */
  begun(): readonly Batch[];
  /** Writes what waits, then stops. */
  close(): Promise<void>;
};

type Options<Batch> = {
  /** Time in which rows gather before they are written. */
  delayMs: number;
  /** Pause after a failure. */
  retryMs?: number;
  /** Batches that one flush takes; what comes in meanwhile waits for the next, or a flush would not end under load. */
  maxPerFlush?: number;
  /** A batch that fails says nothing about the others: they are written meanwhile. */
  isIndependent?: boolean;
  /** The next batch; undefined when nothing waits. */
  take(): Batch | undefined;
  /** In one transaction, with ids that are the same at every attempt. */
  write(batch: Batch): Promise<unknown>;
  /** The parts of a batch that PostgreSQL refuses, so that one row does not take the others along; empty for a single row. */
  split?(batch: Batch): readonly Batch[];
  /** PostgreSQL never takes this batch: it is given up. */
  onRefused(error: unknown, batch: Batch): void;
  /** Told once until a write succeeds. */
  onFailing(error: unknown): void;
  /** After a flush that left no batch behind. */
  onFlushed?(): void;
};

export function createBatchWriter<Batch>(options: Options<Batch>): BatchWriter<Batch> {
  return new Writer(options);
}

/** Batches that were begun are written first, so that their order and their ids stay. */
class Writer<Batch> implements BatchWriter<Batch> {
  readonly #options: Options<Batch>;
  #begun: Batch[] = [];
  #failed: Batch[] = [];
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Infinity;
  #isFailing = false;
  #isClosed = false;

  constructor(options: Options<Batch>) {
    this.#options = options;
  }

  wake(delayMs = this.#options.delayMs): void {
    const isSooner = this.#dueAt === Infinity || delayMs < this.#options.delayMs;
    if (isSooner && !this.#isFailing) this.#schedule(delayMs);
  }

  readonly flush = coalesce(() => {
    clearTimeout(this.#timer);
    this.#dueAt = Infinity;
    return this.#writeAll();
  });

  isFailing(): boolean {
    return this.#isFailing;
  }

  begun(): readonly Batch[] {
    return [...this.#failed, ...this.#begun];
  }

  async close(): Promise<void> {
    await this.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #schedule(delayMs: number): void {
    const at = performance.now() + delayMs;
    if (this.#isClosed || at >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => void this.flush(), delayMs).unref();
  }

  async #writeAll(): Promise<void> {
    const { maxPerFlush = Infinity, isIndependent = false, retryMs = 5000 } = this.#options;
    for (let taken = 0; ;) {
      let batch = this.#begun.shift();
      if (batch === undefined && taken < maxPerFlush) {
        taken += 1;
        batch = this.#options.take();
      }
      if (batch === undefined) break;
      if (!(await this.#attempt(batch)) && !isIndependent) break;
    }
    this.#begun = [...this.#failed, ...this.#begun];
    this.#failed = [];
    this.#isFailing = this.#begun.length > 0;
    if (this.#isFailing) this.#schedule(retryMs);
    else this.#options.onFlushed?.();
  }

  /** @returns false where the same batch has to be tried again */
  async #attempt(batch: Batch): Promise<boolean> {
    try {
      await this.#options.write(batch);
      return true;
    } catch (error) {
      // An earlier attempt had written it, but its answer was lost.
      if (violatedConstraint(error)?.endsWith('_pkey') === true) return true;
      if (isRefusedForGood(error)) {
        const parts = this.#options.split?.(batch) ?? [];
        if (parts.length === 0) this.#options.onRefused(error, batch);
        this.#begun.unshift(...parts);
        return true;
      }
      this.#failed.push(batch);
      if (!this.#isFailing) this.#options.onFailing(error);
      this.#isFailing = true;
      return false;
    }
  }
}
