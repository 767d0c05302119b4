import Type from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable } from '#core/http/schemas';
import { statuses } from '#modules/connectors/connectors.schemas';

const Percent = (of: string) => Type.Number({ minimum: 0, maximum: 100, description: `Percent of ${of}.` });
const Latency = Type.Number({ minimum: 0, description: 'Milliseconds.' });

const Activity = closed({
  id: Uuid,
  provider_name: Type.String(),
  status: Type.Enum(['success', 'failure', 'rate_limited'] as const),
  timestamp: Timestamp,
  latency_ms: Latency,
});

const ProviderStats = closed({
  provider_key: Type.String(),
  provider_name: Type.String(),
  status: Type.Enum(statuses),
  success_rate: Percent(
    'the calls of the tenant under this key that succeeded; 100 without any. Connectors of one key share them',
  ),
  avg_latency_ms: Latency,
  last_success: nullable(Timestamp),
  last_error: nullable(Timestamp),
});

export const ConnectorDashboard = dataOf(
  closed({
    total_providers: Type.Integer({ description: 'Those of the tenant and of the installation.' }),
    active_providers: Type.Integer({ description: 'Enabled, and not known to fail.' }),
    inactive_providers: Type.Integer({ description: 'Disabled by an administrator.' }),
    error_providers: Type.Integer({
      description: 'Enabled, but offline, in error, or switched off for their failures.',
    }),
    uptime_percentage: Percent(
      'calls and checks that were answered; those asked for patience are not counted, and without any it is 100',
    ),
    avg_latency_ms: Latency,
    cache_hit_rate: Percent('what was wanted that did not have to be asked for'),
    recent_activity: Type.Array(Activity),
    provider_stats: Type.Array(ProviderStats),
  }),
);
