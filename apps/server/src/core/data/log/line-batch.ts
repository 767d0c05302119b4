import { TextArray, TimeArray, UuidArray } from '#core/data/db/binary-array';
import type { LineColumns, LogTables } from '#core/data/log/log-store.queries';

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

/** More text in one statement would delay the statements after it. */
const maxCharacters = 1_000_000;

/** Lines of one level that are written by one statement, as the columns that PostgreSQL gets. */
export class LineBatch {
  readonly level: number;
  #characters = 0;
  /** The part of these counts that `hours` adds up. */
  #times: number[] = [];
  #services: string[] = [];
  #sizes: number[] = [];
  readonly #columns = {
    times: new TimeArray(),
    ids: new UuidArray(),
    services: new TextArray(),
    messages: new TextArray(),
    tenantIds: new UuidArray(),
    userIds: new UuidArray(),
    requestIds: new TextArray(),
    contexts: new TextArray(),
  };

  constructor(level: number) {
    this.level = level;
  }

  get length(): number {
    return this.#times.length;
  }

  /** Number of characters of its lines. */
  get size(): number {
    return this.#characters;
  }

  /** @param max lines of one statement */
  hasRoom(max: number): boolean {
    return this.length < max && this.#characters < maxCharacters;
  }

  add(line: WaitingLine): void {
    this.#characters += line.size;
    this.#times.push(line.at);
    this.#services.push(line.service);
    this.#sizes.push(line.size);
    const columns = this.#columns;
    columns.times.push(line.at);
    columns.ids.push(line.id);
    columns.services.push(line.service);
    columns.messages.push(line.message);
    columns.tenantIds.push(line.tenantId);
    columns.userIds.push(line.userId);
    columns.requestIds.push(line.requestId);
    columns.contexts.push(line.context);
  }

  /** Forgets all lines, and keeps the room that they had for the next. */
  clear(): void {
    this.#characters = 0;
    for (const items of [this.#times, this.#services, this.#sizes]) items.length = 0;
    for (const column of this.#all) column.clear();
  }

  /** Gives up the newest. @returns its size */
  pop(): number {
    for (const column of [this.#times, this.#services, ...this.#all]) column.pop();
    const size = this.#sizes.pop()!;
    this.#characters -= size;
    return size;
  }

  halves(): LineBatch[] {
    const middle = Math.ceil(this.length / 2);
    return [this.#part(0, middle), this.#part(middle, this.length)];
  }

  toColumns(): LineColumns {
    const columns = Object.entries(this.#columns).map(([name, column]) => [name, column.toBuffer()] as const);
    return { level: this.level, ...(Object.fromEntries(columns) as Omit<LineColumns, 'level'>) };
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

  get #all() {
    return Object.values(this.#columns);
  }

  #hour(hours: Map<string, Hour>, at: number, service: string): Hour {
    const key = `${at} ${service}`;
    const hour = hours.get(key) ?? { hour: new Date(at).toISOString(), service, level: this.level, lines: 0, bytes: 0 };
    hours.set(key, hour);
    return hour;
  }

  #part(from: number, to: number): LineBatch {
    const part = new LineBatch(this.level);
    part.#times = this.#times.slice(from, to);
    part.#services = this.#services.slice(from, to);
    part.#sizes = this.#sizes.slice(from, to);
    part.#characters = part.#sizes.reduce((sum, size) => sum + size, 0);
    const { times, ids, services, messages, tenantIds, userIds, requestIds, contexts } = this.#columns;
    times.copy(from, to, part.#columns.times);
    ids.copy(from, to, part.#columns.ids);
    services.copy(from, to, part.#columns.services);
    messages.copy(from, to, part.#columns.messages);
    tenantIds.copy(from, to, part.#columns.tenantIds);
    userIds.copy(from, to, part.#columns.userIds);
    requestIds.copy(from, to, part.#columns.requestIds);
    contexts.copy(from, to, part.#columns.contexts);
    return part;
  }
}

function hourOf(at: number): number {
  return at - (at % hourMs);
}
