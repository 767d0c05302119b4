import { sql } from 'kysely';

import { queryBuilder, read } from '#core/data/db/query';
import type { ConnectorRow } from '#modules/connectors/connectors.queries';

type Tables = {
  connectors: ConnectorRow;
  provider_calls: {
    tenant_id: string;
    called_at: string;
    id: string;
    operation_key: string;
    connector_id: string;
    provider: string;
    outcome: 'success' | 'failure' | 'rate_limited';
    latency_ms: number;
  };
  provider_call_hours: {
    tenant_id: string;
    hour: string;
    operation_key: string;
    provider: string;
    requests: number;
    successes: number;
    failures: number;
    cache_hits: number;
    latency_ms: number;
  };
};

const builder = queryBuilder<Tables>();

export type Listed = Pick<
  ConnectorRow,
  'id' | 'api_key' | 'api_name' | 'enabled' | 'status' | 'auto_disabled' | 'last_success' | 'last_error'
>;

export const listForDashboard = read<{ tenantId: string }, Listed>((p) =>
  builder
    .selectFrom('connectors')
    .select(['id', 'api_key', 'api_name', 'enabled', 'status', 'auto_disabled', 'last_success', 'last_error'])
    .where('tenant_id', '=', p.tenantId)
    .orderBy('priority')
    .orderBy('id'),
);

export type Sums = {
  provider: string;
  is_check: boolean;
  requests: number;
  successes: number;
  failures: number;
  cache_hits: number;
  latency_ms: number;
};

export const sumCalls = read<{ tenantId: string; since: string }, Sums>((p) =>
  builder
    .selectFrom('provider_call_hours')
    .select([
      'provider',
      sql<boolean>`operation_key = 'connectors.check'`.as('is_check'),
      sql<number>`sum(requests)::float8`.as('requests'),
      sql<number>`sum(successes)::float8`.as('successes'),
      sql<number>`sum(failures)::float8`.as('failures'),
      sql<number>`sum(cache_hits)::float8`.as('cache_hits'),
      sql<number>`sum(latency_ms)::float8`.as('latency_ms'),
    ])
    .where('tenant_id', '=', p.tenantId)
    .where('hour', '>=', p.since)
    .groupBy(['provider', sql`operation_key = 'connectors.check'`]),
);

type Recent = Pick<
  Tables['provider_calls'],
  'id' | 'called_at' | 'connector_id' | 'provider' | 'outcome' | 'latency_ms'
>;

export const listRecentCalls = read<{ tenantId: string; since: string; limit: number }, Recent>((p) =>
  builder
    .selectFrom('provider_calls')
    .select(['id', 'called_at', 'connector_id', 'provider', 'outcome', 'latency_ms'])
    .where('tenant_id', '=', p.tenantId)
    .where('called_at', '>=', p.since)
    .where('operation_key', '<>', 'connectors.check')
    .orderBy('called_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit),
);
