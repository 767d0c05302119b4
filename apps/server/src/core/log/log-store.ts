import type { Database } from '#core/db/database';
import { isRefusedForGood, violatedConstraint } from '#core/db/sql-state';
import { defaultLogConfig } from '#core/log/log-config';
import type { LineBlock, WaitingLine } from '#core/log/line-block';
import { LineQueue } from '#core/log/line-queue';
import { addLogHours, insertLogBlock } from '#core/log/log-store.queries';

/** Keeps lines in PostgreSQL: gathered in memory, written in batches, never awaited by whoever logs. */
export type LogStore = {
  add(waiting: WaitingLine): void;
  /** From now on lines can be written. */
  connect(database: Database): void;
  setPace(pace: Pace): void;
  /** Writes what waits now, as far as the database lets it. */
  flush(): Promise<void>;
  state(): LogState;
  /** Writes what still waits; later lines are not kept. */
  close(): Promise<void>;
};

/** How keeping lines in the database goes; counts are of this process. */
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

/** How long what is left over of full batches waits for more to come. */
const gatherMs = 100;

type Options = { report: Report; queue?: LineQueue; retryMs?: number };

export function createLogStore(options: Options): LogStore {
  return new BatchingStore(options);
}

class BatchingStore implements LogStore {
  readonly #report: Report;
  readonly #queue: LineQueue;
  readonly #retryMs: number;
  #pace: Pace = defaultLogConfig.database;
  #database: Database | undefined;
  /** Batches that were begun, in the order in which they are to be written. */
  #taken: LineBlock[] = [];
  #isClosed = false;
  #isFailing = false;
  #kept = 0;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Infinity;
  #running: Promise<void> = Promise.resolve();

  constructor({ report, queue = new LineQueue(), retryMs = 5000 }: Options) {
    this.#report = report;
    this.#queue = queue;
    this.#retryMs = retryMs;
  }

  add(waiting: WaitingLine): void {
    if (this.#isClosed) return;
    this.#queue.add(waiting, this.#pace.batchSize);
    if (this.#isFailing) return;
    if (this.#queue.size >= this.#pace.batchSize) this.#schedule(0, this.#pace.batchSize);
    else if (this.#dueAt === Infinity) this.#schedule(this.#pace.flushInterval);
  }

  connect(database: Database): void {
    this.#database = database;
    if (this.#waiting() > 0) this.#schedule(this.#pace.flushInterval);
  }

  setPace({ batchSize, flushInterval }: Pace): void {
    this.#pace = { batchSize, flushInterval };
    if (this.#waiting() > 0 && !this.#isFailing) this.#schedule(flushInterval);
  }

  flush(): Promise<void> {
    return this.#flush(1);
  }

  state(): LogState {
    const { count, lastAt } = this.#queue.drops();
    return {
      isWaiting: this.#isFailing,
      waiting: this.#waiting(),
      kept: this.#kept,
      dropped: count,
      lastDropAt: lastAt,
    };
  }

  async close(): Promise<void> {
    await this.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #flush(least: number): Promise<void> {
    clearTimeout(this.#timer);
    this.#dueAt = Infinity;
    this.#running = this.#running.then(() => this.#writeAll(least));
    return this.#running;
  }

  #schedule(delayMs: number, least = 1): void {
    const at = performance.now() + delayMs;
    if (this.#database === undefined || this.#isClosed || at >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => void this.#flush(least), delayMs).unref();
  }

  /** Until fewer lines wait than `least`. */
  async #writeAll(least: number): Promise<void> {
    while (this.#database !== undefined) {
      const batch = this.#taken.shift() ?? (this.#queue.size >= least ? this.#queue.take() : undefined);
      if (batch === undefined) break;
      if (!(await this.#write(this.#database, batch))) {
        this.#schedule(this.#retryMs);
        return;
      }
    }
    this.#isFailing = false;
    // A few lines cost a transaction as many do.
    if (this.#queue.size > 0) this.#schedule(Math.min(gatherMs, this.#pace.flushInterval));
    const dropped = this.#queue.takeDropped();
    if (dropped > 0) this.#report.dropped(dropped);
  }

  /** False when it has to wait for better times. */
  async #write(database: Database, batch: LineBlock): Promise<boolean> {
    try {
      const hours = addLogHours({ rows: JSON.stringify(batch.hours()) });
      const statements = [insertLogBlock(batch.toRow()), hours] as const;
      await database.platform().slow.flight(statements);
      this.#kept += batch.length;
      this.#queue.giveBack(batch);
    } catch (error) {
      // Also while another version of the service has made the table another one.
      if (!isRefusedForGood(error)) {
        // The same lines again, so that they cannot be there twice if it had been written after all.
        this.#taken.unshift(batch);
        if (!this.#isFailing) this.#report.failed(error, this.#waiting());
        this.#isFailing = true;
        return false;
      }
      if (violatedConstraint(error)?.endsWith('_pkey') === true) return true;
      // What the database refuses now it refuses for ever, and would keep everything beside it from being written.
      if (batch.length === 1) this.#report.refused(error);
      else this.#taken.unshift(...batch.halves());
    }
    return true;
  }

  #waiting(): number {
    return this.#queue.size + this.#taken.reduce((sum, { length }) => sum + length, 0);
  }
}
