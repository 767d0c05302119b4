import Type from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable } from '#core/base/schemas';
import { statuses } from '#modules/connectors/connectors.schemas';

const Percent = (of: string) => Type.Number({ minimum: 0, maximum: 100, description: `Percent of ${of}.` });
const Latency = Type.Number({ minimum: 0, description: 'Latency in milliseconds; an average is 0 without calls.' });

const optionalTimestamp = (description: string) => nullable(Timestamp, { description });

const Activity = closed({
  id: Uuid,
  provider_name: Type.String(),
  status: Type.Enum(['success', 'failure', 'rate_limited'] as const, { description: 'Outcome of the call.' }),
  timestamp: Timestamp,
  latency_ms: Latency,
});

const ProviderStats = closed({
  provider_key: Type.String({ description: 'The api_key of the connector.' }),
  provider_name: Type.String(),
  status: Type.Enum(statuses, { description: 'Health state of the connector.' }),
  success_rate: Percent(
    'the calls of the tenant with this key that succeeded; 100 without calls. Connectors with the same key share it',
  ),
  avg_latency_ms: Latency,
  last_success: optionalTimestamp('Time of the latest success (RFC 3339, UTC); null before the first.'),
  last_error: optionalTimestamp('Time of the latest failure (RFC 3339, UTC); null before the first.'),
});

export const ConnectorDashboard = dataOf(
  closed({
    total_providers: Type.Integer({ description: 'Number of connectors of the tenant and of the installation.' }),
    active_providers: Type.Integer({ description: 'Number of enabled connectors without failure state.' }),
    inactive_providers: Type.Integer({ description: 'Number of connectors that an administrator has disabled.' }),
    error_providers: Type.Integer({
      description: 'Number of enabled connectors that are offline, in error, or auto-disabled.',
    }),
    uptime_percentage: Percent(
      'calls and health checks that succeeded; rate-limited ones do not count, and it is 100 without calls',
    ),
    avg_latency_ms: Latency,
    cache_hit_rate: Percent('results that came from the cache instead of a provider'),
    recent_activity: Type.Array(Activity, { description: 'Latest 20 calls of the tenant, newest first.' }),
    provider_stats: Type.Array(ProviderStats, { description: 'Figures of each connector.' }),
  }),
);
