import { newId } from '#core/crypto/ids';
import { TextArray, TimeArray, UuidArray } from '#core/db/binary-array';
import { isoTime } from '#core/iso-time';
import type { LogBlockRow, LogTables } from '#core/log/log-store.queries';

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
 * How far apart lines of a block are at most, in milliseconds, as a check of the table says too: who looks for a time looks at
 * blocks from so long before.
 */
export const blockSpanMs = 60_000;
/** Who reads one line of a block has PostgreSQL take all of it apart. */
const mostCharacters = 1_000_000;

/**
 * What a block says of its lines, so that those without any that are wanted need not be taken apart. It may say too much, as of
 * lines that were given up, but nothing too little.
 */
type Summary = {
  firstAt: number;
  lastAt: number;
  /** Tenants and users. */
  concerned: Set<string>;
  firstRequest: string | null;
  lastRequest: string | null;
};

const nothing = (): Summary => ({
  firstAt: Infinity,
  lastAt: -Infinity,
  concerned: new Set(),
  firstRequest: null,
  lastRequest: null,
});

/** Lines of one level that are written as one, as the columns that PostgreSQL gets. */
export class LineBlock {
  readonly level: number;
  #id = newId();
  #summary = nothing();
  #characters = 0;
  /** Of these also what `hours` adds up. */
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

  /** How many characters its lines have. */
  get size(): number {
    return this.#characters;
  }

  /** Whether there is room for a line of that time. @param most lines that are written as one */
  takes(at: number, most: number): boolean {
    const { firstAt, lastAt } = this.#summary;
    const isNear = at > lastAt - blockSpanMs && at < firstAt + blockSpanMs;
    return this.length < most && isNear && this.#characters < mostCharacters;
  }

  add(line: WaitingLine): void {
    this.#summarise(line);
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
    this.#id = newId();
    this.#summary = nothing();
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

  halves(): LineBlock[] {
    const middle = Math.ceil(this.length / 2);
    return [this.#part(0, middle), this.#part(middle, this.length)];
  }

  toRow(): LogBlockRow {
    const { firstAt, lastAt, concerned, firstRequest, lastRequest } = this.#summary;
    const { times, ids, services, messages, tenantIds, userIds, requestIds, contexts } = this.#columns;
    const named = new UuidArray();
    for (const id of concerned) named.push(id);
    const parts = new TextArray();
    for (const service of new Set(this.#services)) parts.push(service);
    return {
      id: this.#id,
      level: this.level,
      lines: this.length,
      firstAt: isoTime(firstAt),
      lastAt: isoTime(lastAt),
      concerned: named.toBuffer(),
      parts: parts.toBuffer(),
      firstRequest,
      lastRequest,
      times: times.toBuffer(),
      ids: ids.toBuffer(),
      services: services.toBuffer(),
      messages: messages.toBuffer(),
      tenantIds: tenantIds.toBuffer(),
      userIds: userIds.toBuffer(),
      requestIds: requestIds.toBuffer(),
      contexts: contexts.toBuffer(),
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

  #summarise({ at, tenantId, userId, requestId }: WaitingLine): void {
    const summary = this.#summary;
    if (at < summary.firstAt) summary.firstAt = at;
    if (at > summary.lastAt) summary.lastAt = at;
    if (tenantId !== null) summary.concerned.add(tenantId);
    if (userId !== null) summary.concerned.add(userId);
    if (requestId === null) return;
    if (summary.firstRequest === null || requestId < summary.firstRequest) summary.firstRequest = requestId;
    if (summary.lastRequest === null || requestId > summary.lastRequest) summary.lastRequest = requestId;
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

  #part(from: number, to: number): LineBlock {
    const part = new LineBlock(this.level);
    part.#summary = { ...this.#summary, concerned: new Set(this.#summary.concerned) };
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
