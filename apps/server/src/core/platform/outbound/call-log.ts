import { newId } from '#core/base/crypto/ids';
import { createBatchWriter } from '#core/data/background/batch-writer';
import type { Database } from '#core/data/db/database';
import type { Log } from '#core/data/log/log';
import type { Metric, Sample } from '#core/platform/metrics/metric';
import { addCallHours, insertCalls, type CallHour, type CallRow } from '#core/platform/outbound/call-log.queries';

/** An attempt at an outside provider, without anything of what was sent or answered. */
export type CallFacts = {
  tenantId: string;
  operation: string;
  connectorId: string;
  provider: string;
  outcome: 'success' | 'failure' | 'rate_limited';
  failure: string | null;
  httpStatus: number | null;
  latencyMs: number;
  ownCredentials: boolean;
  characters: number | null;
  tokens: number | null;
  requestId: string | null;
  userId: string | null;
};

/** Requests that a cache answered without a provider. */
export type CacheHit = Pick<CallFacts, 'tenantId' | 'operation' | 'provider'>;

/** Gathers operation, provider and outcome of each call, and writes them to PostgreSQL in batches. No call waits for it. */
export type CallLog = {
  record(call: CallFacts): void;
  /** @param count how many texts, lists, … were there already */
  recordCacheHit(hit: CacheHit, count?: number): void;
  /** For Prometheus. */
  metrics: readonly Metric[];
  /** Writes what was gathered until it is called, if the database lets it; calls that come in meanwhile do not delay it. */
  flush(): Promise<void>;
  close(): Promise<void>;
};

type Options = { database: Database; log: Log; now(): Date; delayMs?: number; max?: number };

type Batch = { rows: CallRow[]; hours: Map<string, CallHour> };

const hourMs = 3_600_000;

export function createCallLog({ database, log, now, delayMs = 500, max: maxHours = 20_000 }: Options): CallLog {
  let gathered = empty();
  let dropped = 0;
  const totals = createTotals();

  function take(): Batch | undefined {
    if (gathered.hours.size === 0) return undefined;
    const batch = gathered;
    gathered = empty();
    if (dropped > 0) log.warn({ dropped }, 'calls of providers came faster than they could be written; some are lost');
    dropped = 0;
    return batch;
  }

  const writer = createBatchWriter<Batch>({
    delayMs,
    maxPerFlush: 1,
    take,
    write: ({ rows, hours }) => {
      const added = addCallHours({ rows: JSON.stringify([...hours.values()]) });
      return database.platform().interactive.batch([insertCalls({ rows: JSON.stringify(rows) }), added]);
    },
    onRefused: (err, { rows }) => log.error({ err, calls: rows.length }, 'the database refused calls of providers'),
    onFailing: (err) => log.warn({ err }, 'calls of providers could not be written; retrying'),
  });
  const add = (facts: CacheHit, sums: Partial<CallHour>, at: Date) => {
    if (!addToHour(gathered.hours, maxHours, { facts, sums, at })) dropped += 1;
    writer.wake();
  };

  return {
    record(call) {
      const at = now();
      totals.count(call);
      if (gathered.rows.length < maxHours) gathered.rows.push(toRow(call, at));
      else dropped += 1;
      add(call, sumsOf(call), at);
    },
    recordCacheHit(hit, count = 1) {
      totals.countHits(hit.operation, count);
      add(hit, { cache_hits: count }, now());
    },
    metrics: totals.metrics,
    flush: () => writer.flush(),
    close: () => writer.close(),
  };
}

function empty(): Batch {
  return { rows: [], hours: new Map() };
}

function toRow(call: CallFacts, at: Date): CallRow {
  return {
    tenant_id: call.tenantId,
    called_at: at.toISOString(),
    id: newId(),
    operation_key: call.operation,
    connector_id: call.connectorId,
    provider: call.provider,
    outcome: call.outcome,
    failure: call.failure,
    http_status: call.httpStatus,
    latency_ms: call.latencyMs,
    own_credentials: call.ownCredentials,
    characters: call.characters,
    tokens: call.tokens,
    request_id: call.requestId,
    user_id: call.userId,
  };
}

function sumsOf({ outcome, latencyMs, characters, tokens }: CallFacts): Partial<CallHour> {
  return {
    requests: 1,
    successes: outcome === 'success' ? 1 : 0,
    failures: outcome === 'failure' ? 1 : 0,
    rate_limited: outcome === 'rate_limited' ? 1 : 0,
    latency_ms: latencyMs,
    characters: characters ?? 0,
    tokens: tokens ?? 0,
  };
}

const nothing = {
  requests: 0,
  successes: 0,
  failures: 0,
  rate_limited: 0,
  cache_hits: 0,
  latency_ms: 0,
  characters: 0,
  tokens: 0,
};

const sumNames = Object.keys(nothing) as (keyof typeof nothing)[];

type Addition = { facts: CacheHit; sums: Partial<CallHour>; at: Date };

/** False where there are too many different ones already. */
function addToHour(hours: Map<string, CallHour>, max: number, { facts, sums, at }: Addition): boolean {
  const { tenantId, operation, provider } = facts;
  const startedAt = at.getTime() - (at.getTime() % hourMs);
  // What may have spaces in it comes last.
  const key = `${tenantId} ${startedAt} ${operation} ${provider}`;
  let known = hours.get(key);
  if (known === undefined) {
    if (hours.size >= max) return false;
    const hour = new Date(startedAt).toISOString();
    known = { tenant_id: tenantId, hour, operation_key: operation, provider, ...nothing };
    hours.set(key, known);
  }
  for (const name of sumNames) known[name] += sums[name] ?? 0;
  return true;
}

/** Since the process began; operations are a fixed set, so they may be labels. */
function createTotals() {
  const calls = new Map<string, { operation: string; outcome: string; count: number; ms: number }>();
  const hits = new Map<string, number>();
  const samples = (value: (total: { count: number; ms: number }) => number): Sample[] =>
    [...calls.values()].map(({ operation, outcome, ...total }) => ({
      labels: { operation, outcome },
      value: value(total),
    }));
  const metrics: Metric[] = [
    {
      name: 'atrium_provider_calls_total',
      help: 'Attempts at outside providers.',
      type: 'counter',
      read: () => samples(({ count }) => count),
    },
    {
      name: 'atrium_provider_call_seconds_total',
      help: 'How long attempts at outside providers took, added up.',
      type: 'counter',
      read: () => samples(({ ms }) => ms / 1000),
    },
    {
      name: 'atrium_provider_cache_hits_total',
      help: 'What was answered without a provider, because one had answered it before.',
      type: 'counter',
      read: () => [...hits].map(([operation, value]) => ({ labels: { operation }, value })),
    },
  ];
  return {
    metrics,
    count({ operation, outcome, latencyMs }: CallFacts): void {
      const key = `${operation} ${outcome}`;
      const known = calls.get(key) ?? { operation, outcome, count: 0, ms: 0 };
      calls.set(key, { ...known, count: known.count + 1, ms: known.ms + latencyMs });
    },
    countHits(operation: string, count: number): void {
      hits.set(operation, (hits.get(operation) ?? 0) + count);
    },
  };
}
