import { createFlusher } from '#core/background/flusher';
import type { Database } from '#core/db/database';
import type { Log } from '#core/log/log';
import { redactText } from '#core/log/redaction';
import { addErrorHours, addRequestMinutes, addTenantHours } from '#core/log/request-counts.queries';

/** What is counted of an answered request. */
export type AnsweredRequest = {
  ms: number;
  isError: boolean;
  /** Of refused requests: what they were told. */
  message: string | undefined;
  tenantId: string | null;
};

/** How many requests there were, how long they took and what went wrong: counted here, added up in PostgreSQL. */
export type RequestCounts = {
  record(request: AnsweredRequest): void;
  /** Writes what was counted so far, if the database lets it. */
  flush(): Promise<void>;
  close(): Promise<void>;
};

type Options = { database: Database; log: Log; now(): Date; delayMs?: number };

type Count = { requests: number; errors: number };
type Counted = {
  /** By the sum of the two, which no other pair has. */
  minutes: Map<number, Count & { minute: number; bucket: number }>;
  tenants: Map<string, Count & { hour: number; tenantId: string }>;
  messages: Map<string, { hour: number; message: string; errors: number; lastAt: number }>;
};

/** Beyond so many different ones, what else comes is counted in the totals only. */
const most = { tenants: 20_000, messages: 500 };
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
  let isFailing = false;

  async function write(): Promise<void> {
    const batch = counted;
    if (batch.minutes.size === 0) return;
    counted = empty();
    try {
      await database
        .platform()
        .slow.flight([
          addRequestMinutes({ rows: minuteRows(batch) }),
          addTenantHours({ rows: tenantRows(batch) }),
          addErrorHours({ rows: messageRows(batch) }),
        ]);
      isFailing = false;
    } catch (error) {
      merge(counted, batch);
      throw error;
    }
  }

  const onError = (error: unknown) => {
    if (!isFailing) log.warn({ err: error }, 'counts of requests could not be written and will be tried again');
    isFailing = true;
  };
  const flusher = createFlusher({ delayMs, write, onError });

  return {
    record(request) {
      count(counted, request, now().getTime());
      flusher.wake();
    },
    flush: () => write().catch(onError),
    close: () => flusher.close(),
  };
}

function empty(): Counted {
  return { minutes: new Map(), tenants: new Map(), messages: new Map() };
}

function count(counted: Counted, { ms, isError, message, tenantId }: AnsweredRequest, at: number): void {
  const errors = isError ? 1 : 0;
  const minute = at - (at % minuteMs);
  const hour = at - (at % hourMs);
  const bucket = bucketOf(ms);
  addMinute(counted, { minute, bucket, requests: 1, errors });
  if (tenantId !== null) addTenant(counted, { hour, tenantId, requests: 1, errors });
  if (message !== undefined) addMessage(counted, { hour, message: toStorable(message), errors: 1, lastAt: at });
}

type Entry<Kind extends keyof Counted> = Counted[Kind] extends Map<string | number, infer Value> ? Value : never;

function addMinute({ minutes }: Counted, entry: Entry<'minutes'>): void {
  const key = entry.minute + entry.bucket;
  const known = minutes.get(key);
  if (known === undefined) minutes.set(key, entry);
  else addCount(known, entry);
}

function addTenant({ tenants }: Counted, entry: Entry<'tenants'>): void {
  const key = `${entry.hour} ${entry.tenantId}`;
  const known = tenants.get(key);
  if (known !== undefined) addCount(known, entry);
  else if (tenants.size < most.tenants) tenants.set(key, entry);
}

function addMessage({ messages }: Counted, entry: Entry<'messages'>): void {
  const key = `${entry.hour} ${entry.message}`;
  const known = messages.get(key);
  if (known === undefined) {
    if (messages.size < most.messages) messages.set(key, entry);
    return;
  }
  known.errors += entry.errors;
  known.lastAt = Math.max(known.lastAt, entry.lastAt);
}

function addCount(known: Count, { requests, errors }: Count): void {
  known.requests += requests;
  known.errors += errors;
}

function merge(into: Counted, from: Counted): void {
  for (const entry of from.minutes.values()) addMinute(into, entry);
  for (const entry of from.tenants.values()) addTenant(into, entry);
  for (const entry of from.messages.values()) addMessage(into, entry);
}

const iso = (ms: number) => new Date(ms).toISOString();

function minuteRows({ minutes }: Counted): string {
  return JSON.stringify([...minutes.values()].map((entry) => ({ ...entry, minute: iso(entry.minute) })));
}

function tenantRows({ tenants }: Counted): string {
  const rows = [...tenants.values()].map(({ hour, tenantId, ...counts }) => ({
    hour: iso(hour),
    concerned_tenant_id: tenantId,
    ...counts,
  }));
  return JSON.stringify(rows);
}

function messageRows({ messages }: Counted): string {
  const rows = [...messages.values()].map(({ hour, message, errors, lastAt }) => ({
    hour: iso(hour),
    message,
    errors,
    last_at: iso(lastAt),
  }));
  return JSON.stringify(rows);
}

function toStorable(message: string): string {
  return redactText(message).slice(0, 300).toWellFormed().replaceAll('\0', '');
}
