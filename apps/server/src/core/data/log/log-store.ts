import { createBatchWriter, type BatchWriter } from '#core/data/background/batch-writer';
import type { Database } from '#core/data/db/database';
import type { LineBatch, WaitingLine } from '#core/data/log/line-batch';
import { LineQueue } from '#core/data/log/line-queue';
import { defaultLogConfig } from '#core/data/log/log-config';
import { addLogHours, insertLines } from '#core/data/log/log-store.queries';

/** Stores lines in PostgreSQL: gathered in memory, written in batches, never awaited by the logging code. */
export type LogStore = {
  add(waiting: WaitingLine): void;
  /** Begins to write lines. */
  connect(database: Database): void;
  setPace(pace: Pace): void;
  /** Writes what waits now, if the database accepts it. */
  flush(): Promise<void>;
  state(): LogState;
  /** Writes what still waits; later lines are not kept. */
  close(): Promise<void>;
};

/** State of the log store; counts are of this process. */
export type LogState = {
  /** Lines wait because the database did not take them when it was last tried. */
  isWaiting: boolean;
  waiting: number;
  kept: number;
  dropped: number;
  /** Milliseconds since 1970; undefined while none was dropped. */
  lastDropAt: number | undefined;
};

type Pace = { batchSize: number; flushInterval: number };

/** Where the store speaks of itself: lines about its failures must not wait for what fails. */
export type Report = {
  dropped(count: number): void;
  failed(error: unknown, waiting: number): void;
  refused(error: unknown): void;
};

/** Time in which an incomplete batch waits for more lines. */
const gatherMs = 100;

type Options = { report: Report; queue?: LineQueue; retryMs?: number };

export function createLogStore(options: Options): LogStore {
  return new BatchingStore(options);
}

class BatchingStore implements LogStore {
  readonly #report: Report;
  readonly #queue: LineQueue;
  readonly #writer: BatchWriter<LineBatch>;
  #pace: Pace = defaultLogConfig.database;
  #database: Database | undefined;
  #isClosed = false;
  #kept = 0;
  /** From this time (`performance.now`), lines that do not fill a batch are written too. */
  #allDueAt = Infinity;

  constructor({ report, queue = new LineQueue(), retryMs = 5000 }: Options) {
    this.#report = report;
    this.#queue = queue;
    this.#writer = createBatchWriter<LineBatch>({
      delayMs: Infinity,
      retryMs,
      take: () => this.#take(),
      write: (batch) => this.#write(batch),
      split: (batch) => (batch.length === 1 ? [] : batch.halves()),
      onRefused: report.refused,
      onFailing: (error) => report.failed(error, this.#waiting()),
      onFlushed: () => this.#afterFlush(),
    });
  }

  add(waiting: WaitingLine): void {
    if (this.#isClosed) return;
    this.#queue.add(waiting, this.#pace.batchSize);
    if (this.#queue.size >= this.#pace.batchSize) this.#wake(0);
    else if (this.#allDueAt === Infinity) this.#writeAllWithin(this.#pace.flushInterval);
  }

  connect(database: Database): void {
    this.#database = database;
    if (this.#waiting() > 0) this.#writeAllWithin(this.#pace.flushInterval);
  }

  setPace({ batchSize, flushInterval }: Pace): void {
    this.#pace = { batchSize, flushInterval };
    if (this.#waiting() > 0) this.#writeAllWithin(flushInterval);
  }

  flush(): Promise<void> {
    this.#allDueAt = 0;
    return this.#writer.flush();
  }

  state(): LogState {
    const { count, lastAt } = this.#queue.drops();
    return {
      isWaiting: this.#writer.isFailing(),
      waiting: this.#waiting(),
      kept: this.#kept,
      dropped: count,
      lastDropAt: lastAt,
    };
  }

  async close(): Promise<void> {
    this.#allDueAt = 0;
    await this.#writer.close();
    this.#isClosed = true;
  }

  #writeAllWithin(delayMs: number): void {
    this.#allDueAt = Math.min(this.#allDueAt, performance.now() + delayMs);
    this.#wake(delayMs);
  }

  #wake(delayMs: number): void {
    if (this.#database !== undefined) this.#writer.wake(delayMs);
  }

  /** A timer may end a moment early. */
  #take(): LineBatch | undefined {
    const isDue = performance.now() + 2 >= this.#allDueAt;
    const hasBatch = this.#queue.size >= this.#pace.batchSize || (isDue && this.#queue.size > 0);
    return this.#database !== undefined && hasBatch ? this.#queue.take() : undefined;
  }

  async #write(batch: LineBatch): Promise<void> {
    const hours = addLogHours({ rows: JSON.stringify(batch.hours()) });
    await this.#database!.platform().interactive.batch([insertLines(batch.toColumns()), hours]);
    this.#kept += batch.length;
    this.#queue.giveBack(batch);
  }

  #afterFlush(): void {
    this.#allDueAt = Infinity;
    // A few lines cost a transaction as many do.
    if (this.#queue.size > 0) this.#writeAllWithin(Math.min(gatherMs, this.#pace.flushInterval));
    const dropped = this.#queue.takeDropped();
    if (dropped > 0) this.#report.dropped(dropped);
  }

  #waiting(): number {
    return this.#queue.size + this.#writer.begun().reduce((sum, { length }) => sum + length, 0);
  }
}
