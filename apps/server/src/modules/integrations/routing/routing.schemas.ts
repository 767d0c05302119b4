import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable } from '#core/base/schemas';
import { Quota } from '#modules/integrations/operations/operations.schemas';

export const ExplainRouteBody = closed({
  operation_key: Type.String({ minLength: 1, maxLength: 100 }),
  tenantId: Type.Optional(
    Type.String({ format: 'uuid', description: 'Tenant to explain; default: the tenant of the caller.' }),
  ),
});
export type ExplainRouteBody = Static<typeof ExplainRouteBody>;

const Provider = closed(
  {
    api_key: Type.String(),
    api_name: Type.String(),
    connector_id: Uuid,
    level: Type.Enum(['tenant', 'system'], {
      description: 'Whether the connector belongs to the tenant or to the installation.',
    }),
    priority: Type.Integer(),
    preferred: Type.Boolean({ description: 'Whether preferred_provider_order contains it.' }),
    own_credentials: Type.Boolean({ description: 'Whether calls use the customer_credentials of the tenant.' }),
    status: Type.Enum(['active', 'degraded', 'offline', 'error', 'unknown'], {
      description: 'Health state of the connector.',
    }),
    part: Type.Enum(['serves', 'next', 'paused', 'unusable', 'incomplete', 'disabled', 'spared', 'unfit'], {
      description: 'Role in the route; `because` explains it.',
    }),
    because: Type.String({ description: 'Reason for the role, as text for people.' }),
    retry_at: nullable(Timestamp, { description: 'End of the pause (RFC 3339, UTC); null if it is not paused.' }),
  },
  { title: 'ExplainedProvider' },
);

export const ExplainedRoute = dataOf(
  closed(
    {
      operation_key: Type.String(),
      tenantId: Uuid,
      enabled: Type.Boolean({ description: 'Whether the operation is allowed for the tenant.' }),
      refusal: nullable(Type.Enum(['OPERATION_DISABLED', 'NO_PROVIDER', 'QUOTA_EXCEEDED']), {
        description: 'Reason code with which a call would be refused; null if it would not.',
      }),
      served_by: nullable(Type.String(), {
        description: 'The api_key of the connector that would be called first; null if none would.',
      }),
      providers: Type.Array(Provider, {
        description: 'Connectors that can serve, in the order of attempts, then all others.',
      }),
      unknown_preferences: Type.Array(Type.String(), {
        description: 'Entries of preferred_provider_order that match no connector.',
      }),
      quotas: Type.Array(Quota, { description: 'Quotas of the tenant for the operation.' }),
    },
    { title: 'ExplainedRoute' },
  ),
);
