import { sql, type SelectQueryBuilder } from 'kysely';

import { queryBuilder, toRead, type ReadStatement } from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';

export type Outcome = 'success' | 'failure' | 'rate_limited';
export type ConnectorStatus = 'active' | 'degraded' | 'offline' | 'error' | 'unknown';

export type CallRow = {
  tenant_id: string;
  called_at: string;
  id: string;
  operation_key: string;
  connector_id: string;
  provider: string;
  outcome: Outcome;
  failure: string | null;
  http_status: number | null;
  latency_ms: number;
  own_credentials: boolean;
  characters: number | null;
  tokens: number | null;
  request_id: string | null;
  user_id: string | null;
};

export type HourRow = {
  tenant_id: string;
  hour: string;
  operation_key: string;
  provider: string;
  requests: number;
  successes: number;
  failures: number;
  rate_limited: number;
  cache_hits: number;
  /** Sum over all requests. */
  latency_ms: number;
  characters: number;
  tokens: number;
};

export type EventRow = {
  tenant_id: string;
  id: string;
  connector_id: string;
  provider: string;
  from_status: ConnectorStatus;
  to_status: ConnectorStatus;
  severity: 'info' | 'warning' | 'error';
  reason: string;
  message: string;
  occurred_at: string;
};

type Tables = { provider_calls: CallRow; provider_call_hours: HourRow; connector_events: EventRow };

/** Tenant and time range; both bounds are required, so that only partitions of those days are read. `to` is exclusive. */
type Within = {
  /** Undefined for all tenants; only with the platform connection. */
  tenantId: string | undefined;
  from: string;
  to: string;
};

export type TrafficFilters = Within & {
  operationKey?: string | undefined;
  provider?: string | undefined;
  status?: Outcome | undefined;
};

type Page = { limit: number; offset: number };

type CallSelect = SelectQueryBuilder<Tables, 'provider_calls', object>;
type HourSelect = SelectQueryBuilder<Tables, 'provider_call_hours', object>;
type EventSelect = SelectQueryBuilder<Tables, 'connector_events', object>;

const builder = queryBuilder<Tables>();

export function listCalls(
  filters: TrafficFilters,
  { limit, offset, descending = true }: Page & { descending?: boolean },
): ReadStatement<CallRow> {
  const direction = descending ? 'desc' : 'asc';
  const query = calls(filters).selectAll().orderBy('called_at', direction).orderBy('id', direction);
  return toRead(query.limit(limit).offset(offset));
}

export function countCalls(filters: TrafficFilters): ReadStatement<{ total: number }> {
  return countMatches(calls(filters).select('id'));
}

/** Latest calls without success, except those of one operation. */
export function listFailedCalls(
  { besides, ...filters }: TrafficFilters & { besides: string },
  limit: number,
): ReadStatement<CallRow> {
  return toRead(
    calls(filters)
      .selectAll()
      .where('outcome', '<>', 'success')
      .where('operation_key', '<>', besides)
      .orderBy('called_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit),
  );
}

export type HourOrder = { column: 'hour' | 'requests' | 'failures'; descending: boolean };

/** Ties are sorted latest first. */
export function listHours(
  filters: TrafficFilters,
  { order = { column: 'hour', descending: true }, ...page }: Page & { order?: HourOrder },
): ReadStatement<HourRow> {
  return toRead(
    hours(filters)
      .selectAll()
      .orderBy(order.column, order.descending ? 'desc' : 'asc')
      .orderBy('hour', 'desc')
      .orderBy('operation_key')
      .orderBy('provider')
      .orderBy('tenant_id')
      .limit(page.limit)
      .offset(page.offset),
  );
}

export function countHours(filters: TrafficFilters): ReadStatement<{ total: number }> {
  return countMatches(hours(filters).select('hour'));
}

export type Sums = { operation_key: string; requests: number; successes: number };

/** Calls of whole hours by operation. */
export function sumHours(filters: TrafficFilters): ReadStatement<Sums> {
  return toRead(
    hours(filters)
      .select([
        'operation_key',
        sql<number>`sum(requests)::bigint`.as('requests'),
        sql<number>`sum(successes)::bigint`.as('successes'),
      ])
      .groupBy('operation_key'),
  );
}

/** Latest changes to a worse state. */
export function listAlerts(within: Within, limit: number): ReadStatement<EventRow> {
  return toRead(
    events(within)
      .selectAll()
      .where('severity', '<>', 'info')
      .orderBy('occurred_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit),
  );
}

export function countEvents(within: Within): ReadStatement<{ warnings: number; errors: number }> {
  return toRead(
    events(within).select([
      sql<number>`count(*) filter (where severity = 'warning')`.as('warnings'),
      sql<number>`count(*) filter (where severity = 'error')`.as('errors'),
    ]),
  );
}

function calls({ tenantId, from, to, operationKey, provider, status }: TrafficFilters): CallSelect {
  let query: CallSelect = builder
    .selectFrom('provider_calls')
    .where('called_at', '>=', from)
    .where('called_at', '<', to);
  if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId);
  if (operationKey !== undefined) query = query.where('operation_key', '=', operationKey);
  if (provider !== undefined) query = query.where('provider', '=', provider);
  if (status !== undefined) query = query.where('outcome', '=', status);
  return query;
}

const countOf = { success: 'successes', failure: 'failures', rate_limited: 'rate_limited' } as const;

function hours({ tenantId, from, to, operationKey, provider, status }: TrafficFilters): HourSelect {
  let query: HourSelect = builder.selectFrom('provider_call_hours').where('hour', '>=', from).where('hour', '<', to);
  if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId);
  if (operationKey !== undefined) query = query.where('operation_key', '=', operationKey);
  if (provider !== undefined) query = query.where('provider', '=', provider);
  if (status !== undefined) query = query.where(countOf[status], '>', 0);
  return query;
}

function events({ tenantId, from, to }: Within): EventSelect {
  let query: EventSelect = builder
    .selectFrom('connector_events')
    .where('occurred_at', '>=', from)
    .where('occurred_at', '<', to);
  if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId);
  return query;
}
