import { newId } from '#core/crypto/ids';
import type { Database } from '#core/db/database';
import { isUnavailable } from '#core/db/sql-state';
import { createLineQueue, type LineQueue, type WaitingLine } from '#core/log/line-queue';
import { insertLogLines, type LogRow } from '#core/log/log-store.queries';

/** Keeps lines in PostgreSQL: gathered in memory, written in batches, never awaited by whoever logs. */
export type LogStore = {
  add(waiting: WaitingLine): void;
  /** From now on lines can be written. */
  connect(database: Database): void;
  setPace(pace: Pace): void;
  /** Writes what waits now, as far as the database lets it. */
  flush(): Promise<void>;
  /** Writes what still waits; later lines are not kept. */
  close(): Promise<void>;
};

type Pace = { batchSize: number; flushInterval: number };

/** Where the store speaks of itself: lines about its failures must not wait for what fails. */
export type Report = {
  dropped(count: number): void;
  failed(error: unknown, waiting: number): void;
  refused(error: unknown): void;
};

type Options = { report: Report; queue?: LineQueue; retryMs?: number };

export function createLogStore(options: Options): LogStore {
  return new BatchingStore(options);
}

class BatchingStore implements LogStore {
  readonly #report: Report;
  readonly #queue: LineQueue;
  readonly #retryMs: number;
  #pace: Pace = { batchSize: 500, flushInterval: 1000 };
  #database: Database | undefined;
  #isClosed = false;
  #isFailing = false;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Infinity;
  #running: Promise<void> = Promise.resolve();

  constructor({ report, queue = createLineQueue(), retryMs = 5000 }: Options) {
    this.#report = report;
    this.#queue = queue;
    this.#retryMs = retryMs;
  }

  add(waiting: WaitingLine): void {
    if (this.#isClosed) return;
    this.#queue.add(waiting);
    if (this.#isFailing) return;
    this.#schedule(this.#queue.size() >= this.#pace.batchSize ? 0 : this.#pace.flushInterval);
  }

  connect(database: Database): void {
    this.#database = database;
    if (this.#queue.size() > 0) this.#schedule(this.#pace.flushInterval);
  }

  setPace({ batchSize, flushInterval }: Pace): void {
    this.#pace = { batchSize, flushInterval };
    if (this.#queue.size() > 0 && !this.#isFailing) this.#schedule(flushInterval);
  }

  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#dueAt = Infinity;
    this.#running = this.#running.then(() => this.#writeAll());
    return this.#running;
  }

  async close(): Promise<void> {
    await this.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #schedule(delayMs: number): void {
    const at = performance.now() + delayMs;
    if (this.#database === undefined || this.#isClosed || at >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => void this.flush(), delayMs).unref();
  }

  async #writeAll(): Promise<void> {
    while (this.#queue.size() > 0 && this.#database !== undefined) {
      const batch = this.#queue.take(this.#pace.batchSize);
      if (!(await this.#write(this.#database, batch))) {
        this.#schedule(this.#retryMs);
        return;
      }
    }
    this.#isFailing = false;
    const dropped = this.#queue.takeDropped();
    if (dropped > 0) this.#report.dropped(dropped);
  }

  /** False when the batch has to wait for better times. */
  async #write(database: Database, batch: readonly WaitingLine[]): Promise<boolean> {
    try {
      const rows = JSON.stringify(batch.map(toRow), storable);
      await database.platform().slow.all(insertLogLines({ rows }));
      return true;
    } catch (error) {
      if (isUnavailable(error)) {
        this.#queue.giveBack(batch);
        if (!this.#isFailing) this.#report.failed(error, this.#queue.size());
        this.#isFailing = true;
        return false;
      }
      // What the database refuses now it refuses for ever, and would keep everything beside it from being written.
      if (batch.length > 1) return this.#writeHalves(database, batch);
      this.#report.refused(error);
      return true;
    }
  }

  async #writeHalves(database: Database, batch: readonly WaitingLine[]): Promise<boolean> {
    const middle = Math.ceil(batch.length / 2);
    if (await this.#write(database, batch.slice(0, middle))) return this.#write(database, batch.slice(middle));
    this.#queue.giveBack(batch.slice(middle));
    return false;
  }
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

type Parsed = { time: string; level: string; service: string; msg?: string } & Record<string, unknown>;

function toRow({ level, line }: WaitingLine): LogRow {
  const {
    time,
    level: _label,
    service,
    msg = '',
    requestId = null,
    tenantId = null,
    userId = null,
    ...rest
  } = JSON.parse(line) as Parsed;
  const odd = Object.entries({ requestId, tenantId, userId }).filter(([, id]) => id !== null && !isId(id));
  return {
    logged_at: time,
    id: newId(Date.parse(time)),
    level,
    service,
    message: msg,
    concerned_tenant_id: isId(tenantId) ? tenantId : null,
    user_id: isId(userId) ? userId : null,
    request_id: isId(requestId) ? requestId : null,
    context: odd.length === 0 ? rest : { ...rest, ...Object.fromEntries(odd) },
  };
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && uuid.test(value);
}

// One text that PostgreSQL refuses would cost the whole batch.
function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '') : value;
}
