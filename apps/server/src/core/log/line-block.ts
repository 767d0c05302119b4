import type { LogColumns, LogTables } from '#core/log/log-store.queries';

/**
 * A line that waits to be stored. `at`: when it was said, in milliseconds; `level` as pino numbers them; `context` is JSON;
 * `size`: about how many characters it has.
 */
export type WaitingLine = {
  at: number;
  id: string;
  level: number;
  service: string;
  message: string;
  tenantId: string | null;
  userId: string | null;
  requestId: string | null;
  context: string;
  size: number;
};

type Hour = LogTables['log_hours'];

const hourMs = 3_600_000;

/**
 * Lines of one level that are written as one, as the columns that PostgreSQL gets. What is made of texts for a line alone is kept
 * as bytes: thousands of texts that wait would be moved about in memory by each collection of garbage.
 */
export class LineBlock {
  readonly level: number;
  #times: number[] = [];
  #services: string[] = [];
  #tenantIds: (string | null)[] = [];
  #userIds: (string | null)[] = [];
  #sizes: number[] = [];
  #ids = new Column();
  #messages = new Column();
  #requestIds = new Column();
  #contexts = new Column();

  constructor(level: number) {
    this.level = level;
  }

  get length(): number {
    return this.#times.length;
  }

  add(line: WaitingLine): void {
    this.#times.push(line.at);
    this.#services.push(line.service);
    this.#tenantIds.push(line.tenantId);
    this.#userIds.push(line.userId);
    this.#sizes.push(line.size);
    this.#ids.push(line.id);
    this.#messages.push(toItem(line.message));
    this.#requestIds.push(line.requestId ?? 'NULL');
    this.#contexts.push(line.context);
  }

  /** Forgets all lines, and keeps the room that they had for the next. */
  clear(): void {
    for (const items of [this.#times, this.#services, this.#tenantIds, this.#userIds, this.#sizes]) items.length = 0;
    for (const column of this.#texts) column.clear();
  }

  /** Gives up the newest. @returns its size */
  pop(): number {
    for (const column of [this.#times, this.#services, this.#tenantIds, this.#userIds, ...this.#texts]) column.pop();
    return this.#sizes.pop()!;
  }

  size(): number {
    return this.#sizes.reduce((sum, size) => sum + size, 0);
  }

  halves(): LineBlock[] {
    const middle = Math.ceil(this.length / 2);
    return [this.#part(0, middle), this.#part(middle, this.length)];
  }

  columns(): LogColumns {
    const list = (items: readonly unknown[]) => `{${items.join(',')}}`;
    return {
      level: this.level,
      times: list(this.#times),
      services: list(this.#services.map(toItem)),
      tenantIds: list(this.#tenantIds.map((id) => id ?? 'NULL')),
      userIds: list(this.#userIds.map((id) => id ?? 'NULL')),
      ids: this.#ids.toArray(),
      messages: this.#messages.toArray(),
      requestIds: this.#requestIds.toArray(),
      contexts: this.#contexts.toLines(),
    };
  }

  /** How many lines of which kind; in one order, so that processes that add to the same rows never wait in a circle. */
  hours(): Hour[] {
    const hours = new Map<string, Hour>();
    let last: { at: number; sum: Hour } | undefined;
    for (const [index, at] of this.#times.entries()) {
      const service = this.#services[index]!;
      // Most lines are of the kind of the one before.
      if (last === undefined || service !== last.sum.service || hourOf(at) !== last.at)
        last = { at: hourOf(at), sum: this.#hour(hours, hourOf(at), service) };
      last.sum.lines += 1;
      last.sum.bytes += this.#sizes[index]!;
    }
    return [...hours.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, hour]) => hour);
  }

  get #texts(): Column[] {
    return [this.#ids, this.#messages, this.#requestIds, this.#contexts];
  }

  #hour(hours: Map<string, Hour>, at: number, service: string): Hour {
    const key = `${at} ${service}`;
    const hour = hours.get(key) ?? { hour: new Date(at).toISOString(), service, level: this.level, lines: 0, bytes: 0 };
    hours.set(key, hour);
    return hour;
  }

  #part(from: number, to: number): LineBlock {
    const part = new LineBlock(this.level);
    part.#times = this.#times.slice(from, to);
    part.#services = this.#services.slice(from, to);
    part.#tenantIds = this.#tenantIds.slice(from, to);
    part.#userIds = this.#userIds.slice(from, to);
    part.#sizes = this.#sizes.slice(from, to);
    part.#ids = this.#ids.slice(from, to);
    part.#messages = this.#messages.slice(from, to);
    part.#requestIds = this.#requestIds.slice(from, to);
    part.#contexts = this.#contexts.slice(from, to);
    return part;
  }
}

function hourOf(at: number): number {
  return at - (at % hourMs);
}

const special = /["\\\0]/g;

/** A text within an array literal, without NUL, which PostgreSQL keeps in no text. */
function toItem(text: string): string {
  return `"${text.replaceAll(special, (char) => (char === '\0' ? '' : `\\${char}`))}"`;
}

const [comma, lineFeed, opening, closing] = [',', '\n', '{', '}'].map((char) => char.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
];
/** Of UTF-8, for each unit of a text. */
const bytesPerUnit = 3;

const mostKept = 1_000_000;

/** Texts one behind the other, each with a place for what stands between it and the one before. */
class Column {
  #bytes: Buffer = Buffer.alloc(0);
  /** Where each text ends. */
  #ends: number[] = [];
  #end = 0;

  push(text: string): void {
    const most = this.#end + 1 + bytesPerUnit * text.length;
    // One more for what closes a list.
    if (most >= this.#bytes.length) this.#grow(most + 1);
    this.#end += 1 + this.#bytes.write(text, this.#end + 1);
    this.#ends.push(this.#end);
  }

  pop(): void {
    this.#ends.pop();
    this.#end = this.#ends.at(-1) ?? 0;
  }

  clear(): void {
    this.#ends.length = 0;
    this.#end = 0;
    // What unusually long texts needed is not kept for the usual ones.
    if (this.#bytes.length > mostKept) this.#bytes = Buffer.alloc(0);
  }

  slice(from: number, to: number): Column {
    const start = this.#startOf(from);
    const part = new Column();
    part.#bytes = Buffer.concat([this.#bytes.subarray(start, this.#startOf(to)), Buffer.alloc(1)]);
    part.#ends = this.#ends.slice(from, to).map((end) => end - start);
    part.#end = part.#ends.at(-1) ?? 0;
    return part;
  }

  /** As the literal of an array. */
  toArray(): Buffer {
    this.#separate(comma);
    this.#bytes[0] = opening;
    this.#bytes[Math.max(this.#end, 1)] = closing;
    return this.#bytes.subarray(0, Math.max(this.#end, 1) + 1);
  }

  toLines(): Buffer {
    this.#separate(lineFeed);
    return this.#bytes.subarray(1, this.#end);
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : this.#ends[index - 1]!;
  }

  #separate(separator: number): void {
    for (let index = 0; index < this.#ends.length; index++) this.#bytes[this.#startOf(index)] = separator;
  }

  #grow(least: number): void {
    const grown = Buffer.allocUnsafe(Math.max(least, 2 * this.#bytes.length));
    this.#bytes.copy(grown, 0, 0, this.#end);
    this.#bytes = grown;
  }
}
