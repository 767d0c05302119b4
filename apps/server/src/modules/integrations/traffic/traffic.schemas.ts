import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable, paging, sortable } from '#core/http/schemas';

const outcomes = ['success', 'failure', 'rate_limited'] as const;
const statuses = ['active', 'degraded', 'offline', 'error', 'unknown'] as const;
const instant = { format: 'date-time', maxLength: 40 };

export const tenantFilter = {
  tenantId: Type.Optional(
    Type.String({
      format: 'uuid',
      description:
        'Of one tenant. System administrators in the system tenant see all tenants without it; others see their own, and nothing of another one.',
    }),
  ),
};

export const ReachQuery = Type.Object(tenantFilter);
export type ReachQuery = Static<typeof ReachQuery>;

const filters = {
  ...paging,
  ...tenantFilter,
  operation_key: Type.Optional(Type.String({ maxLength: 100 })),
  provider: Type.Optional(Type.String({ maxLength: 100, description: 'The api_key of a connector.' })),
};

export const ListCallsQuery = Type.Object({
  ...filters,
  sort: sortable(['timestamp']),
  status: Type.Optional(Type.Enum(outcomes)),
  from: Type.Optional(
    Type.String({
      ...instant,
      description: 'This instant and later. Without it the last 30 days, or over all tenants the last 24 hours.',
    }),
  ),
  to: Type.Optional(Type.String({ ...instant, description: 'Before this instant. Over all tenants at most 7 days.' })),
});
export type ListCallsQuery = Static<typeof ListCallsQuery>;

export const ListMetricsQuery = Type.Object({
  ...filters,
  sort: sortable(['hour', 'requests', 'failures']),
  status: Type.Optional(Type.Enum(outcomes, { description: 'Hours in which there were such calls.' })),
  from: Type.Optional(
    Type.String({
      ...instant,
      description:
        'From the hour of this instant on. Without it the last 30 days, or over all tenants the last 24 hours.',
    }),
  ),
  to: Type.Optional(
    Type.String({ ...instant, description: 'Hours that begin before this instant. Over all tenants at most 7 days.' }),
  ),
});
export type ListMetricsQuery = Static<typeof ListMetricsQuery>;

/** One attempt at a provider. */
export const Call = closed(
  {
    id: Uuid,
    tenantId: Type.String({ format: 'uuid', description: 'For whom the call was made.' }),
    timestamp: Timestamp,
    operation_key: Type.String(),
    connector_id: Uuid,
    provider: Type.String({ description: 'The api_key that the connector has, or had.' }),
    status: Type.Enum(outcomes, {
      description: 'rate_limited: the provider asked for patience (429 or 408), which is no failure of its health.',
    }),
    failure: nullable(
      Type.String({ description: 'What went wrong, in one of a few words; nothing that the provider said.' }),
    ),
    http_status: nullable(Type.Integer()),
    latency_ms: Type.Number(),
    own_credentials: Type.Boolean({ description: 'With the customer_credentials of the tenant.' }),
    characters: nullable(Type.Integer({ description: 'How much text was sent.' })),
    tokens: nullable(Type.Integer()),
    request_id: nullable(Type.String({ description: 'X-Request-Id of the request that the call was made for.' })),
    user_id: nullable(Uuid),
  },
  { title: 'ProviderCall' },
);

const percent = (of: string) =>
  Type.Number({ minimum: 0, maximum: 100, description: `Percent of ${of}; 100 of none.` });

/** What was called in one hour. */
export const Metric = closed(
  {
    hour: Type.String({ format: 'date-time', description: 'When it began.' }),
    tenantId: Uuid,
    operation_key: Type.String(),
    provider: Type.String(),
    requests: Type.Integer({ description: 'successes + failures + rate_limited; each attempt counts.' }),
    successes: Type.Integer(),
    failures: Type.Integer(),
    rate_limited: Type.Integer(),
    cache_hits: Type.Integer({ description: 'Answers that took no request.' }),
    success_rate: percent('the requests that succeeded'),
    avg_latency_ms: nullable(Type.Number({ description: 'Null without requests.' })),
    characters: Type.Integer(),
    tokens: Type.Integer(),
  },
  { title: 'ProviderMetric' },
);

/** A connector that got worse. */
const StateAlert = closed(
  {
    id: Uuid,
    tenantId: Type.String({ format: 'uuid', description: 'Whose connector it is.' }),
    timestamp: Timestamp,
    connector_id: Uuid,
    provider: Type.String(),
    from_status: Type.Enum(statuses),
    to_status: Type.Enum(statuses),
    severity: Type.Enum(['warning', 'error']),
    reason: Type.String(),
    message: Type.String(),
  },
  { title: 'StateAlert' },
);

const HealthCheck = closed(
  {
    id: Type.String({ format: 'uuid', description: 'Of the connector.' }),
    tenantId: nullable(Type.String({ format: 'uuid', description: 'Null for connectors of the installation.' })),
    api_key: Type.String(),
    api_name: Type.String(),
    status: Type.Enum(statuses),
    enabled: Type.Boolean(),
    auto_disabled: Type.Boolean(),
    consecutive_failures: Type.Integer(),
    last_health_check: nullable(Timestamp),
    last_latency_ms: nullable(Type.Integer()),
    retry_at: nullable(Type.String({ format: 'date-time', description: 'Nobody calls it before then.' })),
    error_message: nullable(Type.String({ description: 'Null too for what others than its owner see.' })),
  },
  { title: 'HealthCheck' },
);

const page = { total: Type.Integer(), limit: Type.Integer(), offset: Type.Integer() };
export const CallPage = closed({ data: Type.Array(Call), ...page });
export const MetricPage = closed({ data: Type.Array(Metric), ...page });

const since = 'Since the beginning of the hour 24 hours ago.';
const count = (description: string) => Type.Integer({ description });

export const OverviewAnswer = dataOf(
  closed(
    {
      total_requests_24h: count(`${since} Each attempt at a provider is a request; checks of connectors are none.`),
      success_requests_24h: count(since),
      failure_requests_24h: count(`${since} Those that a provider refused for now (429) included.`),
      success_rate_24h: percent('the requests that succeeded, with two decimals'),
      warning_state_events_24h: count(`${since} How often a connector got worse.`),
      error_state_events_24h: count(`${since} How often a connector failed for good.`),
      health_status: closed(
        {
          active: Type.Integer(),
          degraded: Type.Integer(),
          offline: Type.Integer(),
          error: Type.Integer(),
          unknown: Type.Integer(),
        },
        { description: 'How many connectors are in each state: those of the tenant and of the installation.' },
      ),
    },
    { title: 'IntegrationOverview' },
  ),
);

export const DiagnosticsAnswer = dataOf(
  closed(
    {
      recent_failures: Type.Array(Call, { description: 'The last 50 of 7 days that did not succeed, besides checks.' }),
      recent_state_alerts: Type.Array(StateAlert, { description: 'The last 50 of 7 days.' }),
      latest_health_checks: Type.Array(HealthCheck, { description: 'Of at most 200 connectors, the latest first.' }),
    },
    { title: 'IntegrationDiagnostics' },
  ),
);
