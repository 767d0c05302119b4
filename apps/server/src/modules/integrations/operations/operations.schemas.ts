import Type from 'typebox';

import { Timestamp, closed, dataOf, listOf, nullable } from '#core/http/schemas';
import { Call, Metric } from '#modules/integrations/traffic/traffic.schemas';

const since = 'Since the beginning of the hour 24 hours ago.';

const summary = {
  operation_key: Type.String(),
  operation_name: Type.String(),
  operation_domain: Type.String(),
  enabled: Type.Boolean({
    description: 'False where an override of the tenant or of the installation switches it off.',
  }),
  system_scoped: Type.Boolean({ description: 'The installation does it by itself, whatever tenants say of it.' }),
  request_count_24h: Type.Integer({ description: `${since} Each attempt at a provider is a request.` }),
  failure_count_24h: Type.Integer({
    description: `${since} Those that a provider refused for now (429) included.`,
  }),
};

export const OperationsAnswer = listOf(closed(summary, { title: 'Operation' }));

export const OperationParams = closed({ operationKey: Type.String({ minLength: 1, maxLength: 200 }) });

/** How much of a ceiling is used. */
export const Quota = closed(
  {
    ceiling: Type.String({ description: 'Its key in quota_ceiling.' }),
    limit: Type.Integer({ description: 'The smaller one of the ceilings of the tenant and of the installation.' }),
    used: Type.Integer(),
    remaining: Type.Integer(),
    resets_at: Timestamp,
  },
  { title: 'Quota' },
);

export const OperationAnswer = dataOf(
  closed(
    {
      operation: closed(
        {
          ...summary,
          id: Type.String({ format: 'uuid', description: 'What overrides call operation_id.' }),
          override_id: nullable(Type.String({ format: 'uuid', description: 'Of the override of the tenant.' })),
          preferred_provider_order: Type.Array(Type.String()),
          quotas: Type.Array(Quota, { description: 'Of one tenant; empty over all of them.' }),
        },
        { title: 'OperationDetail' },
      ),
      metrics: Type.Array(Metric, { description: 'The last 24 hours, the latest first; at most 500.' }),
      recent_logs: Type.Array(Call, { description: 'The last 50 calls of 7 days.' }),
    },
    { title: 'OperationWithTraffic' },
  ),
);
