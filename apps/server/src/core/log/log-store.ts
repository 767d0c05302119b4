import type { Database } from '#core/db/database';
import { isUnavailable, violatedConstraint } from '#core/db/sql-state';
import { createLineQueue, type LineQueue, type WaitingLine } from '#core/log/line-queue';
import { addLogHours, insertLogLines, type LogColumns, type LogTables } from '#core/log/log-store.queries';

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
  #pace: Pace = { batchSize: 500, flushInterval: 1000 };
  #database: Database | undefined;
  /** Batches that were begun, in the order in which they are to be written. */
  #taken: (readonly WaitingLine[])[] = [];
  #isClosed = false;
  #isFailing = false;
  #kept = 0;
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
    if (this.#queue.size() >= this.#pace.batchSize) this.#schedule(0, this.#pace.batchSize);
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
      if (this.#taken.length === 0 && this.#queue.size() >= least) {
        this.#taken.push(this.#queue.take(this.#pace.batchSize));
      }
      const batch = this.#taken.shift();
      if (batch === undefined) break;
      if (!(await this.#write(this.#database, batch))) {
        this.#schedule(this.#retryMs);
        return;
      }
    }
    this.#isFailing = false;
    // A few lines cost a transaction as many do.
    if (this.#queue.size() > 0) this.#schedule(Math.min(gatherMs, this.#pace.flushInterval));
    const dropped = this.#queue.takeDropped();
    if (dropped > 0) this.#report.dropped(dropped);
  }

  /** False when it has to wait for better times. */
  async #write(database: Database, batch: readonly WaitingLine[]): Promise<boolean> {
    try {
      const statements = [insertLogLines(toColumns(batch)), addLogHours({ rows: toHours(batch) })] as const;
      await database.platform().slow.flight(statements);
      this.#kept += batch.length;
    } catch (error) {
      if (isUnavailable(error)) {
        // The same lines again, so that they cannot be there twice if it had been written after all.
        this.#taken.unshift(batch);
        if (!this.#isFailing) this.#report.failed(error, this.#waiting());
        this.#isFailing = true;
        return false;
      }
      if (violatedConstraint(error)?.endsWith('_pkey') === true) return true;
      // What the database refuses now it refuses for ever, and would keep everything beside it from being written.
      if (batch.length === 1) this.#report.refused(error);
      else this.#taken.unshift(...halves(batch));
    }
    return true;
  }

  #waiting(): number {
    return this.#queue.size() + this.#taken.reduce((sum, { length }) => sum + length, 0);
  }
}

function halves(batch: readonly WaitingLine[]): (readonly WaitingLine[])[] {
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)];
}

function toColumns(batch: readonly WaitingLine[]): LogColumns {
  const column = (item: (line: WaitingLine) => string | number) => `{${batch.map(item).join(',')}}`;
  return {
    times: column(({ at }) => at),
    ids: column(({ id }) => id),
    levels: column(({ level }) => level),
    services: column(({ service }) => toItem(service)),
    messages: column(({ message }) => toItem(message)),
    tenantIds: column(({ tenantId }) => tenantId ?? 'NULL'),
    userIds: column(({ userId }) => userId ?? 'NULL'),
    requestIds: column(({ requestId }) => requestId ?? 'NULL'),
    contexts: batch.map(({ context }) => toStorableJson(context)).join('\n'),
  };
}

const special = /["\\\0]/g;

/** A text within an array literal, without NUL, which PostgreSQL keeps in no text. */
function toItem(text: string): string {
  return `"${text.replaceAll(special, (char) => (char === '\0' ? '' : `\\${char}`))}"`;
}

/** Escapes for NUL and for halves of surrogate pairs, which it does not keep either. */
const unstorable = /\\u(?:0000|d[89a-f])/;

function toStorableJson(json: string): string {
  return unstorable.test(json) ? JSON.stringify(JSON.parse(json, toStorable)) : json;
}

function toStorable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '') : value;
}

type Hour = LogTables['log_hours'];

const hourMs = 3_600_000;

/** How many lines of which kind; in one order, so that processes that add to the same rows never wait in a circle. */
function toHours(batch: readonly WaitingLine[]): string {
  const hours = new Map<string, Hour>();
  let last: { line: WaitingLine; sum: Hour } | undefined;
  for (const line of batch) {
    // Most lines are of the kind of the one before.
    if (last === undefined || !isAlike(line, last.line)) last = { line, sum: sumOf(line, hours) };
    last.sum.lines += 1;
    last.sum.bytes += line.size;
  }
  const inOrder = [...hours.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(inOrder.map(([, hour]) => hour));
}

function isAlike(a: WaitingLine, b: WaitingLine): boolean {
  return a.level === b.level && a.service === b.service && hourOf(a) === hourOf(b);
}

function sumOf(line: WaitingLine, hours: Map<string, Hour>): Hour {
  const { service, level } = line;
  const key = `${hourOf(line)} ${service} ${level}`;
  const known = hours.get(key);
  if (known !== undefined) return known;
  const sum = { hour: new Date(hourOf(line)).toISOString(), service, level, lines: 0, bytes: 0 };
  hours.set(key, sum);
  return sum;
}

function hourOf({ at }: WaitingLine): number {
  return at - (at % hourMs);
}
