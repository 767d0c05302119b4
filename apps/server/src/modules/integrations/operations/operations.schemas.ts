import Type from 'typebox';

import { Uuid, closed, dataOf, listOf, nullable } from '#core/base/schemas';
import { Call, Metric } from '#modules/integrations/traffic/traffic.schemas';

const since = 'since the start of the hour 24 hours ago';

const summary = {
  operation_key: Type.String(),
  operation_name: Type.String({ description: 'Name of the operation, for people.' }),
  operation_domain: Type.String({ description: 'Group of the operation, such as `translation`.' }),
  enabled: Type.Boolean({
    description: 'False if an override of the tenant or of the installation disables it.',
  }),
  system_scoped: Type.Boolean({
    description: 'Whether the installation runs it on its own; tenants cannot disable it.',
  }),
  request_count_24h: Type.Integer({ description: `Number of provider calls ${since}; each attempt counts.` }),
  failure_count_24h: Type.Integer({
    description: `Number of calls without success ${since}, rate-limited ones (429) included.`,
  }),
};

export const OperationsAnswer = listOf(closed(summary, { title: 'Operation' }));

export const OperationParams = closed({ operationKey: Type.String({ minLength: 1, maxLength: 200 }) });

/** Usage of a quota. */
export const Quota = closed(
  {
    ceiling: Type.String({ description: 'Key of the quota in quota_ceiling.' }),
    limit: Type.Integer({ description: 'Quota limit: the smaller of those of the tenant and of the installation.' }),
    used: Type.Integer({ description: 'Usage in the current period.' }),
    remaining: Type.Integer({ description: 'Amount left in the current period; never negative.' }),
    resets_at: Type.String({
      format: 'date-time',
      maxLength: 40,
      description: 'End of the current period (RFC 3339, UTC).',
    }),
  },
  { title: 'Quota' },
);

export const OperationAnswer = dataOf(
  closed(
    {
      operation: closed(
        {
          ...summary,
          id: Type.String({
            format: 'uuid',
            description: 'Identifier of the operation; the operation_id of overrides.',
          }),
          override_id: nullable(Uuid, {
            description: 'Override of the tenant, by identifier; null without an override.',
          }),
          preferred_provider_order: Type.Array(Type.String(), {
            description: 'The api_keys of connectors that are tried first, in this order.',
          }),
          quotas: Type.Array(Quota, { description: 'Quotas of the tenant; empty over all tenants.' }),
        },
        { title: 'OperationDetail', description: 'The operation with its override and quotas.' },
      ),
      metrics: Type.Array(Metric, { description: 'Hourly metrics of the last 24 hours, latest first; at most 500.' }),
      recent_logs: Type.Array(Call, { description: 'Latest 50 calls of the last 7 days.' }),
    },
    { title: 'OperationWithTraffic' },
  ),
);
