import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable } from '#core/http/schemas';
import { Quota } from '#modules/integrations/operations/operations.schemas';

export const ExplainRouteBody = closed({
  operation_key: Type.String({ minLength: 1, maxLength: 100 }),
  tenantId: Type.Optional(Type.String({ format: 'uuid', description: 'The own tenant where it is left out.' })),
});
export type ExplainRouteBody = Static<typeof ExplainRouteBody>;

const Provider = closed(
  {
    api_key: Type.String(),
    api_name: Type.String(),
    connector_id: Uuid,
    level: Type.Enum(['tenant', 'system'], { description: 'Of the tenant, or of the installation.' }),
    priority: Type.Integer(),
    preferred: Type.Boolean({ description: 'preferred_provider_order names it.' }),
    own_credentials: Type.Boolean({ description: 'With the customer_credentials of the tenant.' }),
    status: Type.Enum(['active', 'degraded', 'offline', 'error', 'unknown']),
    part: Type.Enum(['serves', 'next', 'paused', 'unusable', 'disabled', 'spared', 'unfit']),
    because: Type.String(),
    retry_at: nullable(Timestamp),
  },
  { title: 'ExplainedProvider' },
);

export const ExplainedRoute = dataOf(
  closed(
    {
      operation_key: Type.String(),
      tenantId: Uuid,
      enabled: Type.Boolean(),
      refusal: nullable(
        Type.Enum(['OPERATION_DISABLED', 'NO_PROVIDER', 'QUOTA_EXCEEDED'], {
          description: 'What a call would be refused with.',
        }),
      ),
      served_by: nullable(
        Type.String({ description: 'The api_key of the connector that would be called first; null where none would.' }),
      ),
      providers: Type.Array(Provider, {
        description: 'Those that can serve in the order in which they are tried, then the others.',
      }),
      unknown_preferences: Type.Array(Type.String(), {
        description: 'What preferred_provider_order names and is no connector.',
      }),
      quotas: Type.Array(Quota),
    },
    { title: 'ExplainedRoute' },
  ),
);
