import { createBatchWriter } from '#core/data/background/batch-writer';
import type { Database } from '#core/data/db/database';
import type { Log } from '#core/data/log/log';
import { redactText } from '#core/data/log/redaction';
import { addErrorHours, addRequestMinutes, addTenantHours } from '#core/data/log/request-counts.queries';

/** Counted facts of an answered request. */
export type AnsweredRequest = {
  ms: number;
  isError: boolean;
  /** Of refused requests: what they were told. */
  message: string | undefined;
  tenantId: string | null;
};

/** Counts requests, durations and errors in memory, and adds them to rows in PostgreSQL. */
export type RequestCounts = {
  record(request: AnsweredRequest): void;
  /** Requests that this process answered in this second and the previous one; background work pauses while there are many. */
  lately(): number;
  /** Writes what was counted so far, if the database lets it. */
  flush(): Promise<void>;
  close(): Promise<void>;
};

type Options = { database: Database; log: Log; now(): Date; delayMs?: number };

type Count = { requests: number; errors: number };
type Message = { errors: number; lastAt: number };
type Counted = {
  /** By the beginning of the minute, then by bucket. */
  minutes: Map<number, Map<number, Count>>;
  /** By the beginning of the hour, then by tenant. */
  tenants: Map<number, Map<string, Count>>;
  /** By the beginning of the hour, then by message. */
  messages: Map<number, Map<string, Message>>;
};

/** Beyond so many different ones in an hour, what else comes is counted in the totals only. */
const limits = { tenants: 20_000, messages: 500 };
const growth = Math.log(1.1);
const lastBucket = 145;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The step of a scale on which each is a tenth longer than the one before; the first ends at a tenth of a millisecond. */
export function bucketOf(ms: number): number {
  return ms <= 0.1 ? 0 : Math.min(lastBucket, Math.ceil(Math.log(ms / 0.1) / growth));
}

/** The middle of a step, in milliseconds. */
export function middleOf(bucket: number): number {
  return bucket === 0 ? 0.05 : 0.1 * Math.exp(growth * (bucket - 0.5));
}

export function createRequestCounts({ database, log, now, delayMs = 2000 }: Options): RequestCounts {
  let counted = empty();
  let latest = { second: 0, requests: 0, before: 0 };

  function secondOf(at: number) {
    const second = Math.floor(at / 1000);
    if (second !== latest.second)
      latest = { second, requests: 0, before: second === latest.second + 1 ? latest.requests : 0 };
    return latest;
  }

  function take(): Counted | undefined {
    if (counted.minutes.size === 0) return undefined;
    const batch = counted;
    counted = empty();
    return batch;
  }

  const writer = createBatchWriter<Counted>({
    delayMs,
    maxPerFlush: 1,
    take,
    write: (batch) =>
      database
        .platform()
        .interactive.batch([
          addRequestMinutes({ rows: minuteRows(batch) }),
          addTenantHours({ rows: tenantRows(batch) }),
          addErrorHours({ rows: messageRows(batch) }),
        ]),
    onRefused: (err) => log.error({ err }, 'the database refused counts of requests'),
    onFailing: (err) => log.warn({ err }, 'counts of requests could not be written; retrying'),
  });

  return {
    record(request) {
      const at = now().getTime();
      count(counted, request, at);
      secondOf(at).requests += 1;
      writer.wake();
    },
    lately() {
      const { requests, before } = secondOf(now().getTime());
      return requests + before;
    },
    flush: () => writer.flush(),
    close: () => writer.close(),
  };
}

function empty(): Counted {
  return { minutes: new Map(), tenants: new Map(), messages: new Map() };
}

const well: Count = { requests: 1, errors: 0 };
const failed: Count = { requests: 1, errors: 1 };

function count(counted: Counted, { ms, isError, message, tenantId }: AnsweredRequest, at: number): void {
  const one = isError ? failed : well;
  const hour = at - (at % hourMs);
  addCount(within(counted.minutes, at - (at % minuteMs)), bucketOf(ms), one);
  if (tenantId !== null) addCount(within(counted.tenants, hour), tenantId, one, limits.tenants);
  if (message !== undefined) addMessage(within(counted.messages, hour), toStorable(message), { errors: 1, lastAt: at });
}

function within<Key, Value>(times: Map<number, Map<Key, Value>>, at: number): Map<Key, Value> {
  let known = times.get(at);
  if (known === undefined) times.set(at, (known = new Map()));
  return known;
}

function addCount<Key>(counts: Map<Key, Count>, key: Key, { requests, errors }: Count, limit = Infinity): void {
  const known = counts.get(key);
  if (known !== undefined) {
    known.requests += requests;
    known.errors += errors;
  } else if (counts.size < limit) counts.set(key, { requests, errors });
}

function addMessage(messages: Map<string, Message>, message: string, { errors, lastAt }: Message): void {
  const known = messages.get(message);
  if (known !== undefined) {
    known.errors += errors;
    known.lastAt = Math.max(known.lastAt, lastAt);
  } else if (messages.size < limits.messages) messages.set(message, { errors, lastAt });
}

function entriesOf<Key, Value>(times: ReadonlyMap<number, ReadonlyMap<Key, Value>>): [number, Key, Value][] {
  return [...times].flatMap(([at, counts]) =>
    [...counts].map(([key, value]): [number, Key, Value] => [at, key, value]),
  );
}

const iso = (ms: number) => new Date(ms).toISOString();

function minuteRows({ minutes }: Counted): string {
  return JSON.stringify(
    entriesOf(minutes).map(([minute, bucket, counts]) => ({ minute: iso(minute), bucket, ...counts })),
  );
}

function tenantRows({ tenants }: Counted): string {
  return JSON.stringify(
    entriesOf(tenants).map(([hour, tenantId, counts]) => ({
      hour: iso(hour),
      concerned_tenant_id: tenantId,
      ...counts,
    })),
  );
}

function messageRows({ messages }: Counted): string {
  return JSON.stringify(
    entriesOf(messages).map(([hour, message, { errors, lastAt }]) => ({
      hour: iso(hour),
      message,
      errors,
      last_at: iso(lastAt),
    })),
  );
}

function toStorable(message: string): string {
  return redactText(message).slice(0, 300).toWellFormed().replaceAll('\0', '');
}
