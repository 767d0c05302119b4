import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable, paging, sortable } from '#core/base/schemas';

const outcomes = ['success', 'failure', 'rate_limited'] as const;
const statuses = ['active', 'degraded', 'offline', 'error', 'unknown'] as const;
const instant = { format: 'date-time', maxLength: 40 };

export const tenantFilter = {
  tenantId: Type.Optional(
    Type.String({
      format: 'uuid',
      description:
        'Tenant to read. Default: all tenants for system administrators in the system tenant, otherwise the tenant of the caller. Other callers get no records of another tenant.',
    }),
  ),
};

export const ReachQuery = Type.Object(tenantFilter);
export type ReachQuery = Static<typeof ReachQuery>;

const filters = {
  ...paging,
  ...tenantFilter,
  operation_key: Type.Optional(Type.String({ maxLength: 100 })),
  provider: Type.Optional(Type.String({ maxLength: 100, description: 'The api_key of the connector.' })),
};

export const ListCallsQuery = Type.Object({
  ...filters,
  sort: sortable(['timestamp']),
  status: Type.Optional(Type.Enum(outcomes, { description: 'Outcome of the call.' })),
  from: Type.Optional(
    Type.String({
      ...instant,
      description:
        'Start of the time range (RFC 3339), inclusive. Default: 30 days ago, or 24 hours ago over all tenants.',
    }),
  ),
  to: Type.Optional(
    Type.String({
      ...instant,
      description: 'End of the time range (RFC 3339), exclusive. Over all tenants the range is at most 7 days.',
    }),
  ),
});
export type ListCallsQuery = Static<typeof ListCallsQuery>;

export const ListMetricsQuery = Type.Object({
  ...filters,
  sort: sortable(['hour', 'requests', 'failures']),
  status: Type.Optional(Type.Enum(outcomes, { description: 'Only hours with calls of this outcome.' })),
  from: Type.Optional(
    Type.String({
      ...instant,
      description:
        'Start of the time range (RFC 3339), rounded down to the hour. Default: 30 days ago, or 24 hours ago over all tenants.',
    }),
  ),
  to: Type.Optional(
    Type.String({
      ...instant,
      description:
        'End of the time range (RFC 3339): hours that start before it. Over all tenants the range is at most 7 days.',
    }),
  ),
});
export type ListMetricsQuery = Static<typeof ListMetricsQuery>;

/** One attempt at a provider. */
export const Call = closed(
  {
    id: Uuid,
    tenantId: Type.String({ format: 'uuid', description: 'Tenant for which the call was made.' }),
    timestamp: Timestamp,
    operation_key: Type.String(),
    connector_id: Uuid,
    provider: Type.String({ description: 'The api_key of the connector at the time of the call.' }),
    status: Type.Enum(outcomes, {
      description: 'Outcome; `rate_limited`: the provider answered 429 or 408, which does not count as a failure.',
    }),
    failure: nullable(Type.String(), {
      description: 'Kind of the failure, such as `unreachable`; null for a success.',
    }),
    http_status: nullable(Type.Integer(), { description: 'HTTP status of the provider; null without an answer.' }),
    latency_ms: Type.Number(),
    own_credentials: Type.Boolean({ description: 'Whether the call used the customer_credentials of the tenant.' }),
    characters: nullable(Type.Integer(), { description: 'Number of characters sent; null if not applicable.' }),
    tokens: nullable(Type.Integer(), {
      description: 'Number of tokens that the provider reported; null if it did not.',
    }),
    request_id: nullable(Type.String(), {
      description: 'X-Request-Id of the request that caused the call; null if none did.',
    }),
    user_id: nullable(Uuid, { description: 'User who caused the call, by identifier; null if none did.' }),
  },
  { title: 'ProviderCall' },
);

const percent = (of: string) =>
  Type.Number({ minimum: 0, maximum: 100, description: `Percent of ${of}; 100 without requests.` });

/** Calls of one hour. */
export const Metric = closed(
  {
    hour: Type.String({ format: 'date-time', description: 'Start of the hour (RFC 3339, UTC).' }),
    tenantId: Uuid,
    operation_key: Type.String(),
    provider: Type.String({ description: 'The api_key of the connector at the time of the calls.' }),
    requests: Type.Integer({
      description: 'Number of calls: successes + failures + rate_limited; each attempt counts.',
    }),
    successes: Type.Integer({ description: 'Number of calls that succeeded.' }),
    failures: Type.Integer({ description: 'Number of calls that failed.' }),
    rate_limited: Type.Integer({ description: 'Number of calls that the provider answered with 429 or 408.' }),
    cache_hits: Type.Integer({ description: 'Number of results that came from the cache without a call.' }),
    success_rate: percent('the requests that succeeded'),
    avg_latency_ms: nullable(Type.Number(), { description: 'Average latency in milliseconds; null without requests.' }),
    characters: Type.Integer({ description: 'Number of characters sent.' }),
    tokens: Type.Integer({ description: 'Number of tokens that the provider reported.' }),
  },
  { title: 'ProviderMetric' },
);

/** A change of a connector to a worse state. */
const StateAlert = closed(
  {
    id: Uuid,
    tenantId: Type.String({ format: 'uuid', description: 'Tenant that owns the connector.' }),
    timestamp: Timestamp,
    connector_id: Uuid,
    provider: Type.String({ description: 'The api_key of the connector at that time.' }),
    from_status: Type.Enum(statuses, { description: 'Health state before the change.' }),
    to_status: Type.Enum(statuses, { description: 'Health state after the change.' }),
    severity: Type.Enum(['warning', 'error'], { description: 'Severity of the change.' }),
    reason: Type.String({ description: 'Code of the change, such as `degraded` or `auto_disabled`.' }),
    message: Type.String(),
  },
  { title: 'StateAlert' },
);

const HealthCheck = closed(
  {
    id: Type.String({ format: 'uuid', description: 'Connector, by identifier.' }),
    tenantId: nullable(Uuid, { description: 'Tenant of the connector; null for connectors of the installation.' }),
    api_key: Type.String(),
    api_name: Type.String(),
    status: Type.Enum(statuses, { description: 'Health state of the connector.' }),
    enabled: Type.Boolean({ description: 'Whether an administrator has the connector enabled.' }),
    auto_disabled: Type.Boolean({ description: 'Whether calls skip the connector because of its failures.' }),
    consecutive_failures: Type.Integer(),
    last_health_check: nullable(Timestamp, {
      description: 'Time of the latest health check (RFC 3339, UTC); null before the first.',
    }),
    last_latency_ms: nullable(Type.Integer(), {
      description: 'Latency of the latest success in milliseconds; null if unknown.',
    }),
    retry_at: nullable(Type.String({ format: 'date-time' }), {
      description: 'Earliest time of the next call (RFC 3339, UTC); null if it is not paused.',
    }),
    error_message: nullable(Type.String(), {
      description: 'Latest error; null without an error, or if the caller does not own the connector.',
    }),
  },
  { title: 'HealthCheck' },
);

const page = { total: Type.Integer(), limit: Type.Integer(), offset: Type.Integer() };
export const CallPage = closed({ data: Type.Array(Call), ...page });
export const MetricPage = closed({ data: Type.Array(Metric), ...page });

const since = 'since the start of the hour 24 hours ago';
const count = (description: string) => Type.Integer({ description });

export const OverviewAnswer = dataOf(
  closed(
    {
      total_requests_24h: count(`Number of provider calls ${since}; each attempt counts, health checks do not.`),
      success_requests_24h: count(`Number of calls that succeeded ${since}.`),
      failure_requests_24h: count(`Number of calls without success ${since}, rate-limited ones (429) included.`),
      success_rate_24h: percent('the requests that succeeded, with two decimals'),
      warning_state_events_24h: count(`Number of changes of connectors to state degraded ${since}.`),
      error_state_events_24h: count(`Number of changes of connectors to a failed state ${since}.`),
      health_status: closed(
        {
          active: count('Number of active connectors.'),
          degraded: count('Number of degraded connectors.'),
          offline: count('Number of offline connectors.'),
          error: count('Number of connectors in error.'),
          unknown: count('Number of connectors in unknown state.'),
        },
        { description: 'Number of connectors by health state, of the tenant and of the installation.' },
      ),
    },
    { title: 'IntegrationOverview' },
  ),
);

export const DiagnosticsAnswer = dataOf(
  closed(
    {
      recent_failures: Type.Array(Call, {
        description: 'Latest 50 calls of the last 7 days without success; no health checks.',
      }),
      recent_state_alerts: Type.Array(StateAlert, {
        description: 'Latest 50 changes of the last 7 days to a worse state.',
      }),
      latest_health_checks: Type.Array(HealthCheck, {
        description: 'Latest health checks of at most 200 connectors, latest first.',
      }),
    },
    { title: 'IntegrationDiagnostics' },
  ),
);
